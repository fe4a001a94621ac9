#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""See that every planted fault is caught, and by whom.

    mutate.py SIMULATOR QUORUM           search anew, and write the table in
                                         docs/proof.md
    mutate.py SIMULATOR --replay         each by the seed or story of the table
    mutate.py SIMULATOR --replay-scenes  each by its scene of the table

SIMULATOR is holdfast-sim-plants, QUORUM unit_quorum_worlds.  Where the table
is out of date, a fault that it says is caught is searched for anew, and the
replay fails only if it is not found.  Ends with 1 if one is not caught."""

import argparse
import collections
import concurrent.futures
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "proof"))

import model  # noqa: E402

DOC = os.path.join(ROOT, "docs", "proof.md")
MARK = "<!-- written by ./dev mutate -->\n"
HEAD = ("| fault | no. | caught by | what broke | also by "
        "| what is done wrong |\n|---|---|---|---|---|---|\n")
SEEDS = 5000
JOBS = 2
CPU_S = 300
SAID_BYTES = 1 << 24

# What a place in the table stands for: options of the simulator.
WORLDS = {
    "seed": (),
    "zk seed": ("--engine", "zk"),
    "leased seed": ("--engine", "leased"),
    "rounds seed": ("--rounds",),
    "zk rounds seed": ("--rounds", "--engine", "zk"),
    "leased rounds seed": ("--rounds", "--engine", "leased"),
}
STORIES = {os.path.basename(path)[:-len(".story")]: path
           for path in sorted(glob.glob(os.path.join(HERE, "stories",
                                                     "*.story")))}
# Those that show without much time passing have to be found by exploring, too,
# in one of these scenes.  What only shows when a lease runs out or a ticket is
# evicted is left to the random worlds.
EXPLORED = (
    "ADMIT_ON_ANY_GONE", "GONE_ADMITS_WRITER", "READ_PASSES_WRITE",
    "GONE_SKIPS_ONE", "GONE_FORGOTTEN", "WATCH_OWN_ONLY",
    "NO_LIST_AFTER_GONE", "ABANDONED_FORGOTTEN", "CANCEL_KEEPS_TICKET",
    "WITHDRAW_ONCE", "WATCH_FIRST", "ENDED_AFTER_GRANTED", "GRANTED_TWICE",
    "SUSPENDED_ENDS", "TEXT_MISSING", "LEASES_NOT_COUNTED",
    "ONE_LEASE_TOO_MANY", "LOOKED_ONCE", "BUNDLE_KEEPS_PART",
    "DOWNGRADE_WATCHED",
)
SCENES = ("two", "two-cut", "two-cancel", "permits-all", "permits-cancel",
          "foreign", "mutex-twice", "mutex-cut", "rw-bare", "rw-cut",
          "rw-cancel", "rw-downgrade", "rw-kill", "permits-cut", "mutex", "rw",
          "permits")

Fault = collections.namedtuple("Fault", "name number what")
Row = collections.namedtuple("Row", "where broke also")
Catch = collections.namedtuple("Catch", "where broke story")


def bound():
    """A fault may have the simulator go on for ever, and say so."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (SAID_BYTES, SAID_BYTES))


class Simulator:
    """Runs the program with one fault planted."""

    def __init__(self, program):
        self.program = program

    def run(self, *arguments):
        with tempfile.TemporaryFile("w+", errors="replace") as said:
            ran = subprocess.run([self.program, *arguments], stdout=said,
                                 stderr=said, preexec_fn=bound)
            said.seek(0)
            return ran.returncode, said.read()

    def faults(self):
        lines = self.run("--plants")[1].splitlines()
        return [Fault(*line.split(None, 2)) for line in lines]

    def try_seeds(self, fault, kind, first, count):
        """The first of those seeds that catches it, or None."""
        status, said = self.run("--plant", fault, *WORLDS[kind], "--whole",
                                "--first", str(first), "--seeds", str(count),
                                "--jobs", str(min(count, JOBS)))
        seeds = re.findall(r"^seed (\d+): (.*)$", said, re.MULTILINE)
        if status == 0 or not seeds:
            return None
        seed, story = min(seeds, key=lambda found: int(found[0]))
        return caught("%s %s" % (kind, seed), story, said)

    def try_story(self, fault, name):
        status, said = self.run("--plant", fault, "--story", STORIES[name])
        if status == 0:
            return None
        story = re.search(r"CHECK +(invariant \d+ broken: .*)", said)
        return caught("story " + name, story.group(1) if story else
                      "it goes otherwise", said)

    def try_stories(self, fault):
        """Rather one that breaks an invariant than one that merely goes
        otherwise."""
        found = list(filter(None, (self.try_story(fault, name)
                                   for name in STORIES)))
        return min(found, key=lambda catch: catch.broke == "story",
                   default=None)

    def try_scene(self, fault, scene):
        status, said = self.run("--plant", fault, "--explore", scene)
        story = re.search(r"^  (invariant \d+ broken: .*|died of .*)$", said,
                          re.MULTILINE)
        if status == 0 or story is None:
            return None
        return caught("scene " + scene, story.group(1), said)

    def try_scenes(self, fault):
        return next(filter(None, (self.try_scene(fault, scene)
                                  for scene in SCENES)), None)

    def try_place(self, fault, where):
        """What the table says catches it."""
        kind, _, last = where.rpartition(" ")
        if kind in WORLDS:
            return self.try_seeds(fault, kind, int(last), 1)
        if kind == "story" and last in STORIES:
            return self.try_story(fault, last)
        if kind == "scene" and last in SCENES:
            return self.try_scene(fault, last)
        return None

    def search(self, fault):
        return (self.try_seeds(fault, own_kind(fault), 1, SEEDS) or
                self.try_stories(fault))


def caught(where, story, said):
    """.broke is the check, "assertion", or "story" if one goes otherwise."""
    number = re.search(r"^invariant (\d+) broken: ", story)
    assertion = re.search(r"Assertion .*", said)
    if number:
        return Catch(where, "check " + number.group(1), story)
    if assertion:
        return Catch(where, "assertion", assertion.group(0))
    return Catch(where, "story" if where.startswith("story ") else "crash",
                 story)


def own_kind(fault):
    """The worlds in which it is looked for: those of its client."""
    engine = ("zk " if fault.startswith("ZK_") else
              "leased " if fault.startswith("LEASED_") else "")
    rounds = re.match(r"(ZK_|LEASED_)?MEMBER_", fault)
    return engine + ("rounds seed" if rounds else "seed")


def quorum_faults(program):
    """Of those that its own test looks for: the fault, and what it says."""
    said = subprocess.run([program], capture_output=True, text=True,
                          env=dict(os.environ, HF_QUORUM_SEEDS="1")).stdout
    return re.findall(r"^(QUORUM_\w+) (\d+) (.*): seed (\d+), (.*)$", said,
                      re.MULTILINE)


# ---------------------------------------------------------------- table --

def read_table():
    rows = {}
    with open(DOC, encoding="utf-8") as file:
        table = re.match(r"(\|.*\n)*", file.read().split(MARK)[1]).group(0)
    for line in table.splitlines()[2:]:
        cells = [cell.strip(" `") for cell in line.strip("|").split("|")]
        rows[cells[0]] = Row(cells[2], cells[3],
                             [also.strip(" `") for also in
                              cells[4].split(",")])
    return rows


def write_table(rows):
    with open(DOC, encoding="utf-8") as file:
        before, after = file.read().split(MARK)
    rest = re.sub(r"\A(\|.*\n)*", "", after)
    with open(DOC, "w", encoding="utf-8") as file:
        file.write(before + MARK + HEAD + "".join(row + "\n" for row in rows)
                   + rest)


def row_of(fault, catch, also):
    return "| `%s` | %s | %s | %s | %s | %s |" % (
        fault.name, fault.number, catch.where if catch else "NOBODY",
        catch.broke if catch else "–", ", ".join(also) or "–", fault.what)


# --------------------------------------------------------------- whole --

def say(fault, catch, note=""):
    print("%-26s %s" % (fault, "NOT CAUGHT" if catch is None else
                        "%s: %s%s" % (catch.where, catch.story[:90], note)),
          flush=True)


def search_one(simulator, fault):
    catch = simulator.search(fault.name)
    also = []
    scene = None
    if fault.name in EXPLORED:
        scene = simulator.try_scenes(fault.name)
        also += [scene.where] if scene else []
    if fault.name in model.PLANTS:
        also.append("model")
    say(fault.name, catch)
    return row_of(fault, catch, also), bool(catch) and (
        fault.name not in EXPLORED or scene is not None)


def search_all(simulator, quorum):
    faults = simulator.faults()
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        found = list(pool.map(lambda fault: search_one(simulator, fault),
                              faults))
    for name, number, what, seed, story in quorum_faults(quorum):
        catch = Catch("`unit/quorum_worlds` seed " + seed, "check " + number,
                      story)
        say(name, catch)
        found.append((row_of(Fault(name, number, what), catch, []), True))
    write_table(row for row, _ in found)
    caught_count = sum(fine for _, fine in found)
    print("%d of %d planted faults caught" % (caught_count, len(found)))
    return caught_count == len(found)


def replay_one(simulator, fault, wheres, search):
    for where in wheres:
        catch = simulator.try_place(fault, where)
        if catch is not None:
            say(fault, catch)
            return True
    catch = search(fault)
    say(fault, catch, "  (the table is out of date: ./dev mutate)")
    return catch is not None


def replay(simulator, scenes):
    rows = read_table()
    names = EXPLORED if scenes else [f.name for f in simulator.faults()]
    search = simulator.try_scenes if scenes else simulator.search

    def one(name):
        row = rows.get(name, Row("", "", []))
        wheres = ([also for also in row.also if also.startswith("scene ")]
                  if scenes else [row.where])
        return replay_one(simulator, name, wheres, search)

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        fine = list(pool.map(one, names))
    print("%d of %d planted faults caught" % (sum(fine), len(fine)))
    return all(fine) and len(fine) > 0


def is_sound(simulator):
    """Without a fault nothing is found by the same program."""
    for kind, options in WORLDS.items():
        status, said = simulator.run(*options, "--seeds", "10")
        if status != 0:
            print("without a fault, %s: %s" % (kind, said))
            return False
    return True


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("simulator")
    parser.add_argument("quorum", nargs="?")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--replay-scenes", action="store_true")
    options = parser.parse_args()
    simulator = Simulator(options.simulator)
    if not is_sound(simulator):
        return 1
    if options.replay or options.replay_scenes:
        fine = replay(simulator, options.replay_scenes)
    elif options.quorum is None:
        parser.error("expected the test of quorums, too")
    else:
        fine = search_all(simulator, options.quorum)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
