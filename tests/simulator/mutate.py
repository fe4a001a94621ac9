#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Check that every mutant is caught, and by which test.

    mutate.py SIMULATOR QUORUM           search, and write the table in
                                         docs/proof.md
    mutate.py SIMULATOR --replay         each by the seed or script of the table
    mutate.py SIMULATOR --replay-cases   each by its case of the table
    mutate.py QUORUM --replay-quorum     those of several servers, by their seed

SIMULATOR is holdfast-sim, QUORUM unit_quorum; the mutants are made of
them.  If the test that the table names does not catch a mutant any more, another
is searched for, and the replay fails only if there is none.  The exit status is 1
if a mutant is not caught."""

import argparse
import collections
import concurrent.futures
import contextlib
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "proof"), os.path.join(ROOT, "tests",
                                                          "mutants")]

import model  # noqa: E402
import mutants  # noqa: E402

DOC = os.path.join(ROOT, "docs", "proof.md")
MARK = "<!-- written by ./dev mutate -->\n"
HEAD = ("| mutation | no. | caught by | what broke | also by "
        "| what is done wrong |\n|---|---|---|---|---|---|\n")
SEEDS = 5000
QUORUM_SEEDS = 1000
JOBS = 2
CPU_S = 300
OUTPUT_BYTES = 1 << 24

# A kind of seed in the table, and the options of the simulator for it.
SEED_KINDS = {
    "seed": (),
    "zk seed": ("--engine", "zk"),
    "zk-client seed": ("--engine", "zk-client"),
    "zk-shared seed": ("--engine", "zk-shared"),
    "leased seed": ("--engine", "leased"),
    "etcd seed": ("--engine", "etcd"),
    "double-barrier seed": ("--double-barrier",),
    "zk double-barrier seed": ("--double-barrier", "--engine", "zk"),
    "etcd double-barrier seed": ("--double-barrier", "--engine", "etcd"),
    "leased double-barrier seed": ("--double-barrier", "--engine",
                                   "leased"),
    "deadlock seed": ("--deadlock",),
    "zk deadlock seed": ("--deadlock", "--engine", "zk"),
    "zk success seed": ("--success", "--engine", "zk"),
    "leased success seed": ("--success", "--engine", "leased"),
}
SCRIPTS = {os.path.basename(path)[:-len(".script")]: path
           for path in sorted(glob.glob(os.path.join(HERE, "scripts",
                                                     "*.script")))}
# Mutants that show without much time passing must be found by exploring, too, in
# one of these cases.  The others, which show only when a lease expires or a ticket
# is evicted, are left to the random runs.
EXPLORED = (
    "ADMIT_ON_ANY_GONE", "GONE_ADMITS_WRITER", "READ_PASSES_WRITE",
    "GONE_SKIPS_ONE", "GONE_FORGOTTEN", "WATCH_OWN_ONLY",
    "NO_LIST_AFTER_GONE", "UNANSWERED_FORGOTTEN", "CANCEL_KEEPS_TICKET",
    "REMOVAL_NOT_RETRIED", "WATCH_FIRST", "ENDED_AFTER_GRANTED", "GRANTED_TWICE",
    "SUSPENDED_ENDS", "TEXT_MISSING", "LEASES_NOT_COUNTED",
    "ONE_LEASE_TOO_MANY", "QUEUE_WATCHED_ONCE", "MULTI_LOCK_KEEPS_CHILD",
    "DOWNGRADE_WATCHED",
)
CASES = ("two", "two-cut", "two-cancel", "permits-all", "permits-cancel",
         "other-client", "mutex-twice", "mutex-cut", "rw-bare", "rw-cut",
         "rw-cancel", "rw-downgrade", "rw-kill", "permits-cut", "mutex", "rw",
         "permits")

Row = collections.namedtuple("Row", "where broke also")
Catch = collections.namedtuple("Catch", "where broke message")


def bound():
    """A mutant may run for ever and print without end."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


class Program:
    """A program under test; one is a mutant if it has a name."""

    def __init__(self, program, name=None, original=None):
        self.program = program
        self.name = name
        self.original = original

    @contextlib.contextmanager
    def mutant(self, name):
        with tempfile.TemporaryDirectory(prefix="holdfast-mutant-") as scratch:
            made = os.path.join(scratch, name)
            mutants.build(name, self.program, made)
            yield type(self)(made, name, type(self)(self.program))

    def run(self, *arguments, **environment):
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            ran = subprocess.run([self.program, *arguments], stdout=output,
                                 stderr=output, preexec_fn=bound,
                                 env=dict(os.environ, **environment))
            output.seek(0)
            return ran.returncode, output.read()


class Simulator(Program):
    def run_mutant(self, *arguments):
        return self.run("--mutant", self.name, *arguments)

    def try_seeds(self, kind, first, count):
        """The first of those seeds that catches it, or None."""
        status, output = self.run_mutant(
            *SEED_KINDS[kind], "--no-shrink", "--first", str(first),
            "--seeds", str(count), "--jobs", str(min(count, JOBS)))
        seeds = re.findall(r"^seed (\d+): (.*)$", output, re.MULTILINE)
        if status == 0 or not seeds:
            return None
        seed, message = min(seeds, key=lambda found: int(found[0]))
        if self.original.run(*SEED_KINDS[kind], "--seed", seed)[0] != 0:
            print("%s: %s %s breaks without the mutation, too" %
                  (self.name, kind, seed), flush=True)
            return None
        return caught("%s %s" % (kind, seed), message, output)

    def try_script(self, name):
        status, output = self.run_mutant("--script", SCRIPTS[name])
        if status == 0:
            return None
        message = re.search(r"CHECK +(invariant \d+ broken: .*)", output)
        return caught("script " + name, message.group(1) if message else
                      "the trace differs", output)

    def try_scripts(self):
        """The first script that breaks an invariant, else one whose trace differs."""
        found = list(filter(None, (self.try_script(name)
                                   for name in SCRIPTS)))
        return min(found, key=lambda catch: catch.broke == "script",
                   default=None)

    def try_case(self, case):
        status, output = self.run_mutant("--explore", case)
        message = re.search(r"^  (invariant \d+ broken: .*|died of .*)$",
                            output, re.MULTILINE)
        if status == 0 or message is None:
            return None
        return caught("case " + case, message.group(1), output)

    def try_cases(self):
        return next(filter(None, (self.try_case(case)
                                  for case in CASES)), None)

    def try_where(self, where):
        """Run the test that the table names."""
        kind, _, last = where.rpartition(" ")
        if kind in SEED_KINDS:
            return self.try_seeds(kind, int(last), 1)
        if kind == "script" and last in SCRIPTS:
            return self.try_script(last)
        if kind == "case" and last in CASES:
            return self.try_case(last)
        return None

    def search(self):
        return (self.try_seeds(own_kind(self.name), 1, SEEDS) or
                self.try_scripts())


class Quorum(Program):
    """Its runs with faults, see tests/unit/test_quorum_clusters.c."""

    def try_seeds(self, first, count):
        output = self.run("quorum_clusters/faulty_servers",
                          HF_QUORUM_FIRST=str(first),
                          HF_QUORUM_SEEDS=str(count))[1]
        found = re.search(r"three servers with faults, seed (\d+)(?:, at \d+ "
                          r"ms)?: (.*)", output)
        if found is None:
            return None
        return Catch("`unit/quorum_clusters` seed " + found.group(1),
                     "check " + mutants.read(self.name).number, found.group(2))

    def try_where(self, where):
        seed = re.search(r" seed (\d+)$", where)
        return self.try_seeds(int(seed.group(1)), 1) if seed else None

    def search(self):
        return self.try_seeds(1, QUORUM_SEEDS)


def caught(where, message, output):
    """.broke is the check, "assertion", or "script" if its trace differs."""
    number = re.search(r"^invariant (\d+) broken: ", message)
    assertion = re.search(r"Assertion .*", output)
    if number:
        return Catch(where, "check " + number.group(1), message)
    if assertion:
        return Catch(where, "assertion", assertion.group(0))
    return Catch(where, "script" if where.startswith("script ") else "crash",
                 message)


def own_kind(name):
    """The kind of seed that may show it: that of its client.  Only sessions of
    ZooKeeper are lazy, and need a sync."""
    if name.startswith("ZOOKEEPER_"):
        return "zk-client seed"
    if name.startswith("SHARED_"):
        return "zk-shared seed"
    if name.startswith("NAMES_"):
        return "zk deadlock seed"
    if name.startswith("DEADLOCK_"):
        return ("zk deadlock seed" if name == "DEADLOCK_NO_SYNC" else
                "deadlock seed")
    engine = ("zk " if name.startswith(("ZK_", "LAZY_")) else
              "leased " if name.startswith("LEASED_") else
              "etcd " if name.startswith("ETCD_") else "")
    of = re.match(r"(ZK_|LEASED_)?(PARTICIPANT|GENERATION|SUCCESS)_", name)
    workload = (None if of is None else
                "success" if of.group(2) == "SUCCESS" else "double-barrier")
    return engine + ("seed" if workload is None else workload + " seed")


# ---------------------------------------------------------------- table --

def read_table():
    rows = {}
    with open(DOC, encoding="utf-8") as file:
        table = re.match(r"(\|.*\n)*", file.read().split(MARK)[1]).group(0)
    for line in table.splitlines()[2:]:
        columns = [column.strip(" `") for column in line.strip("|").split("|")]
        rows[columns[0]] = Row(columns[2], columns[3],
                             [also.strip(" `") for also in
                              columns[4].split(",")])
    return rows


def write_table(rows):
    with open(DOC, encoding="utf-8") as file:
        before, after = file.read().split(MARK)
    rest = re.sub(r"\A(\|.*\n)*", "", after)
    with open(DOC, "w", encoding="utf-8") as file:
        file.write(before + MARK + HEAD + "".join(row + "\n" for row in rows)
                   + rest)


def row_of(name, catch, also):
    mutation = mutants.read(name)
    return "| `%s` | %s | %s | %s | %s | %s |" % (
        name, mutation.number, catch.where if catch else "NOBODY",
        catch.broke if catch else "–", ", ".join(also) or "–", mutation.what)


# --------------------------------------------------------- entry points --

def say(name, catch, note=""):
    print("%-26s %s" % (name, "NOT CAUGHT" if catch is None else
                        "%s: %s%s" % (catch.where, catch.message[:90], note)),
          flush=True)


def each(names, one):
    """What ${one} returns for each of ${names}, JOBS at a time."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return list(pool.map(one, names))


def is_caught(fine):
    print("%d of %d mutants caught" % (sum(fine), len(fine)))
    return all(fine) and len(fine) > 0


def search_one(program, name):
    with program.mutant(name) as mutant:
        catch = mutant.search()
        case = mutant.try_cases() if name in EXPLORED else None
    also = [case.where] if case else []
    if name in model.MUTATIONS:
        also.append("model")
    say(name, catch)
    return row_of(name, catch, also), bool(catch) and (
        name not in EXPLORED or case is not None)


def search_all(simulator, quorum):
    def one(name):
        of_quorum = name in quorum_names
        return search_one(quorum if of_quorum else simulator, name)

    quorum_names = mutants.found_by_search(mutants.is_of_quorum)
    found = each(mutants.found_by_search(mutants.is_of_simulator) + quorum_names, one)
    write_table(row for row, _ in found)
    return is_caught([fine for _, fine in found])


def replay_one(mutant, wheres, search):
    for where in wheres:
        catch = mutant.try_where(where)
        if catch is not None:
            say(mutant.name, catch)
            return True
    catch = search(mutant)
    say(mutant.name, catch, "  (the table is out of date: ./dev mutate)")
    return catch is not None


def replay(program, names):
    rows = read_table()

    def one(name):
        with program.mutant(name) as mutant:
            where = rows.get(name, Row("", "", [])).where
            return replay_one(mutant, [where], type(program).search)

    return is_caught(each(names, one))


def replay_cases(simulator):
    rows = read_table()

    def one(name):
        with simulator.mutant(name) as mutant:
            wheres = [also for also in rows.get(name, Row("", "", [])).also
                      if also.startswith("case ")]
            return replay_one(mutant, wheres, Simulator.try_cases)

    return is_caught(each(EXPLORED, one))


def is_sound(simulator):
    """Does the program without a mutation break nothing?"""
    for kind, options in SEED_KINDS.items():
        status, output = simulator.run(*options, "--seeds", "10")
        if status != 0:
            print("without a mutation, %s: %s" % (kind, output))
            return False
    return True


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("quorum", nargs="?")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--replay-cases", action="store_true")
    parser.add_argument("--replay-quorum", action="store_true")
    options = parser.parse_args()
    if options.replay_quorum:
        return 0 if replay(Quorum(options.program),
                           mutants.found_by_search(mutants.is_of_quorum)) else 1
    simulator = Simulator(options.program)
    if not is_sound(simulator):
        return 1
    if options.replay:
        fine = replay(simulator, mutants.found_by_search(mutants.is_of_simulator))
    elif options.replay_cases:
        fine = replay_cases(simulator)
    elif options.quorum is None:
        parser.error("expected the test of quorums, too")
    else:
        fine = search_all(simulator, Quorum(options.quorum))
    return 0 if fine else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except mutants.MutantError as error:
        sys.exit("mutate.py: %s" % error)
