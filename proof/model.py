#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Check the model of the acquisition protocol with spin, in every configuration
or in those that are named; see proof/README.md and docs/proof.md.

    model.py [--quick | --list | CONFIGURATION...]
        check that every property holds in each configuration
    model.py --mutations [--quick | --list | MUTATION...]
        check that each mutation breaks its property

The status is 1 if a property is broken that should hold, or if a mutation does
not break its property.  It is 77, as for a skipped test, if spin is not
installed."""

import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "servers"))

import machine  # noqa: E402

SKIPPED = 77

# {name: (whether it takes only seconds, what it is, its file, its options)}.  A
# fault is a connection that is cut, a crash, or a safe-until that passes, with
# everything that follows: a lost session, a late create, a search.
CONFIGURATIONS = {
    "mutex-2": (True, "2 want a mutex, a fault", "mutex",
                "-DCLIENTS=2 -DATTEMPTS=3"),
    "mutex-2-ends": (True, "the same: every history ends", "mutex",
                     "-DCLIENTS=2 -DATTEMPTS=3"),
    "mutex-3": (True, "3 want a mutex, a fault", "mutex",
                "-DCLIENTS=3 -DATTEMPTS=3"),
    "rw-3": (True, "2 writers and a reader, a writer may become a reader, "
             "a crash", "rw",
             "-DCLIENTS=3 -DATTEMPTS=2 -DDOWNGRADES=1 -DFAULT=CRASH"),
    "semaphore-2": (True, "2 want the only permit, a fault",
                    "semaphore", "-DCLIENTS=2 -DLIMIT=1 -DATTEMPTS=3"),
    "semaphore-2-ends": (True, "the same: every history ends", "semaphore",
                         "-DCLIENTS=2 -DLIMIT=1 -DATTEMPTS=3"),
    "semaphore-3": (True, "3 want one of 2 permits, a crash", "semaphore",
                    "-DCLIENTS=3 -DATTEMPTS=2 -DFAULT=CRASH"),
    "cohort-3": (True, "3 threads behind one ticket, another process, a "
                 "request to release", "cohort", "-DFAULTS=0"),
    "cohort-3-ends": (True, "the same: every history ends", "cohort",
                      "-DFAULTS=0"),
    "cohort-kept": (True, "3 threads whose ticket is kept, another process, a "
                    "request to release", "cohort", "-DKEEPS=true -DFAULTS=0"),
    "cohort-kept-ends": (True, "the same: every history ends", "cohort",
                         "-DKEEPS=true -DFAULTS=0"),
    "cohort-kept-expiry": (True, "2 threads whose ticket is kept, another "
                           "process, a safe-until that passes", "cohort",
                           "-DKEEPS=true -DWAITERS=2 -DREVOKES=0 -DATTEMPTS=4 "
                           "-DFAULT=EXPIRY"),
    "safe-until": (True, "2 grants and an election are read, sessions are lost",
                   "safe_until", ""),
    "etcd-lease": (True, "a lease of etcd is proven while another leader is "
                   "elected", "etcd_lease", "-DLEARNS_LATE"),
    "etcd-lease-any": (False, "the same; members may learn of it earlier",
                       "etcd_lease", "-DTIMES=4"),
    "mutex-2-two": (False, "2 want a mutex, 2 faults", "mutex",
                    "-DCLIENTS=2 -DATTEMPTS=5 -DFAULTS=2"),
    "mutex-2-two-ends": (False, "the same: every history ends", "mutex",
                         "-DCLIENTS=2 -DATTEMPTS=5 -DFAULTS=2"),
    "mutex-3-cancel": (False, "3 want a mutex, one may give up, a fault",
                       "mutex", "-DCLIENTS=3 -DATTEMPTS=3 -DCANCELS=1"),
    "mutex-3-twice": (False, "3 want a mutex twice each, a crash", "mutex",
                      "-DCLIENTS=3 -DATTEMPTS=2 -DREPEATS=2 -DFAULT=CRASH"),
    "rw-3-any": (False, "2 writers and a reader, a writer may become a "
                 "reader, a fault", "rw",
                 "-DCLIENTS=3 -DATTEMPTS=3 -DDOWNGRADES=1"),
    "rw-4": (False, "2 writers and 2 readers, a fault", "rw",
             "-DATTEMPTS=3"),
    "rw-4-downgrade": (False, "2 writers and 2 readers, a writer may become "
                       "a reader, a crash", "rw",
                       "-DATTEMPTS=2 -DDOWNGRADES=1 -DFAULT=CRASH"),
    "semaphore-3-any": (False, "3 want one of 2 permits, a fault",
                        "semaphore", "-DCLIENTS=3 -DATTEMPTS=3"),
    "semaphore-4": (False, "4 want one of 2 permits, a crash", "semaphore",
                    "-DCLIENTS=4 -DATTEMPTS=2 -DFAULT=CRASH"),
    "cohort-2-any": (False, "2 threads behind one ticket, another process, a "
                     "fault", "cohort",
                     "-DWAITERS=2 -DREVOKES=0 -DATTEMPTS=4"),
    "cohort-kept-any": (False, "2 threads whose ticket is kept, another "
                        "process, a fault", "cohort",
                        "-DKEEPS=true -DWAITERS=2 -DREVOKES=0 -DATTEMPTS=4"),
}

# {name: (file, options, the property that breaks first, what is done wrong)}.
# Each is broken in the smallest configuration that is known to show it.  A
# mutation of the code that makes the same mistake has the same name.
TWO = "-DCLIENTS=2 -DATTEMPTS=4"
THREE = "-DCLIENTS=3 -DATTEMPTS=3"
DOWNGRADE = "-DCLIENTS=3 -DATTEMPTS=3 -DDOWNGRADES=1"
SMALL_COHORT = "-DWAITERS=2 -DREVOKES=0 -DATTEMPTS=4"
KEPT = "-DKEEPS=true -DFAULTS=0"
KEPT_EXPIRY = "-DKEEPS=true -DFAULT=EXPIRY " + SMALL_COHORT
MUTATIONS = {
    "ADMIT_ON_ANY_GONE": ("mutex", THREE, "order",
                          "any watched ticket that goes admits"),
    "GONE_ADMITS_WRITER": ("rw", DOWNGRADE, "exclusion",
                           "a writer behind a write ticket does not list"),
    "READ_PASSES_WRITE": ("rw", "-DCLIENTS=2 -DWRITERS=1 -DATTEMPTS=3",
                          "order", "a reader waits for nobody"),
    "SAFE_FROM_ANSWER": ("mutex", "-DCLIENTS=2 -DATTEMPTS=5 -DFAULTS=2",
                         "exclusion",
                         "safe-until counts from a proof's answer"),
    "RESUME_LENGTHENS": ("mutex", TWO, "exclusion",
                         "an unanswered resume does not cap safe-until"),
    "ADMIT_EXPIRED": ("mutex", TWO, "exclusion",
                      "safe-until is not looked at when admitting"),
    "LEASES_NOT_COUNTED": ("semaphore", "-DCLIENTS=3 -DFAULTS=0",
                           "order",
                           "there is always room for another lease"),
    "ONE_LEASE_TOO_MANY": ("semaphore", "-DCLIENTS=3 -DFAULTS=0",
                           "order",
                           "there is room for one permit more than there is"),
    "COHORT_SHARES": ("cohort", "-DFAULTS=0", "exclusion",
                      "a ticket serves the next waiter before its release"),
    "OLD_SNAPSHOT": ("mutex", TWO + " -DFAULTS=0", "order",
                     "an enqueue reads the queue before it has its position"),
    "DOWNGRADE_GAP": ("rw", DOWNGRADE, "exclusion",
                      "a downgrade deletes first and then creates"),
    "TOKEN_KEPT": ("mutex", TWO, "token",
                   "the token of a first ticket serves for its second"),
    "GONE_SKIPS_ONE": ("mutex", THREE, "order",
                       "the ticket ahead of the watched one is not counted"),
    "ORDER_AS_TEXT": ("mutex", TWO, "order",
                      "tickets are ordered by their names"),
    "COHORT_BARGES": ("cohort", "-DFAULTS=0", "order",
                      "the last waiter is granted first"),
    "COHORT_UNBOUNDED": ("cohort", "-DFAULTS=0", "order",
                         "a ticket passes from waiter to waiter for ever"),
    "COHORT_REVOKED_STAYS": ("cohort", "-DFAULTS=0", "order",
                             "a ticket that is to be released is passed on"),
    "GONE_FORGOTTEN": ("mutex", THREE, "progress",
                       "a GONE that comes during a list is dropped"),
    "WATCH_OWN_ONLY": ("mutex", TWO, "progress",
                       "a waiter does not watch the ticket before its own"),
    "NO_LIST_AFTER_GONE": ("mutex", THREE, "progress",
                           "a GONE that does not admit is not followed up"),
    "PROOF_NOT_NOTIFIED": ("mutex", TWO, "progress",
                           "a ticket that waits for a proof does not see it"),
    "WATCH_NOT_LOOKED": ("mutex", TWO, "progress",
                         "a watch is set without a second list"),
    "ZK_NOT_RESUMED": ("mutex", TWO, "progress",
                       "watches end with their connection"),
    "QUEUE_WATCHED_ONCE": ("semaphore", "-DCLIENTS=3 -DFAULTS=0", "progress",
                           "a lease that waits for room does not list again"),
    "SEARCH_SKIPPED": ("mutex", TWO, "progress",
                       "a ticket without an answer is not looked for"),
    "UNANSWERED_FORGOTTEN": ("mutex", TWO, "progress",
                             "an id that got no answer is not remembered"),
    "COHORT_KEEPS_TICKET": ("cohort",
                            "-DFAULTS=0 -DHANDOFFS=3 -DREVOKES=0",
                            "progress", "the ticket stays when nobody needs it"),
    "MULTI_LOCK_KEEPS_CHILD": ("semaphore", "-DCLIENTS=2 -DATTEMPTS=3", "progress",
                          "a multi-lock that gives up keeps its children"),
    "CANCEL_KEEPS_TICKET": ("mutex", TWO + " -DCANCELS=1 -DFAULTS=0", "leak",
                            "a cancelled wait leaves its ticket"),
    "REMOVAL_NOT_RETRIED": ("mutex", TWO, "leak",
                            "a REMOVE that failed is not repeated"),
    "WATCH_FIRST": ("mutex", THREE, "herd",
                    "a waiter watches the head of the queue"),
    "LOST_NOT_NOTIFIED": ("mutex", TWO, "loss",
                          "safe-until passes without a notification"),
    "FLAG_FIRST": ("safe_until", "", "loss",
                   "a reader loads the flag of its grant before the word"),
    "STORE_BEFORE_CLEAR": ("safe_until", "", "loss",
                           "a session's value is stored before flags go"),
    "ELECTION_NOT_COMPARED": ("safe_until", "", "loss",
                              "a value from before a leadership counts as its"),
    "COHORT_LOSS_NOT_NOTIFIED": ("cohort", SMALL_COHORT, "loss",
                           "the waiter that holds a lost ticket is not notified"),
    "ETCD_KEEP_ALIVE_ALONE": ("etcd_lease", "", "exclusion",
                              "a keep-alive proves without a write"),
    "ETCD_TERMS_NOT_COMPARED": ("etcd_lease", "", "exclusion",
                                "a write of another term proves"),
    "ETCD_WRITE_FIRST": ("etcd_lease", "", "exclusion",
                         "a write from before the keep-alive proves"),
    "ETCD_READ_PROVES": ("etcd_lease", "", "exclusion",
                         "a member that has not applied the write proves"),
    "ETCD_SAFE_FROM_ANSWER": ("etcd_lease", "", "exclusion",
                              "a keep-alive proves from its answer"),
    "ETCD_LATE_KEEP_ALIVE": ("etcd_lease", "", "exclusion",
                             "one that was answered after safe-until proves"),
    "ETCD_OLD_LEADER_REVOKES": ("etcd_lease", "", "exclusion",
                                "what an old leader decided is committed"),
    "SUSPENDED_ENDS": ("mutex", TWO, "wait",
                       "a waiter gives up when the link drops"),
    "LOST_SESSION_ENDS": ("mutex", TWO, "wait",
                          "a waiter gives up when its session is lost"),
    "COHORT_LOSS_ENDS": ("cohort", SMALL_COHORT, "wait",
                         "waiters of a ticket that is lost give up"),
    "KEPT_PAST_SAFE_UNTIL": ("cohort", KEPT_EXPIRY, "exclusion",
                             "a ticket that is kept is used past safe-until"),
    "KEPT_TAKEN_BACK": ("cohort", KEPT + " -DREVOKES=0", "exclusion",
                        "a waiter gets the ticket while it is being removed"),
    "KEPT_PASSED_ON_TO_ALL": ("cohort", KEPT + " -DHANDOFFS=3", "order",
                              "a ticket that others wait for is passed on"),
    "KEPT_REVOKED_STAYS": ("cohort", KEPT, "order",
                           "a kept ticket stays when its release is asked for"),
    "KEPT_BLINDLY": ("cohort", KEPT, "progress",
                     "a ticket is kept though its queue cannot be watched"),
    "KEPT_LIST_IGNORED": ("cohort", KEPT, "progress",
                          "a ticket is kept though the list shows another"),
    "KEPT_WHILE_OTHERS_WAIT": ("cohort", KEPT, "progress",
                               "a kept ticket stays though another comes"),
    "KEPT_FOR_EVER": ("cohort", KEPT, "progress",
                      "a ticket that is kept stays when its time is over"),
}
# The quick ones: one or two of each property and of each file.
SAMPLE = ("ADMIT_EXPIRED", "OLD_SNAPSHOT", "GONE_ADMITS_WRITER",
          "ONE_LEASE_TOO_MANY", "COHORT_SHARES", "TOKEN_KEPT",
          "GONE_SKIPS_ONE", "GONE_FORGOTTEN", "SEARCH_SKIPPED",
          "CANCEL_KEEPS_TICKET", "WATCH_FIRST", "LOST_NOT_NOTIFIED", "FLAG_FIRST",
          "STORE_BEFORE_CLEAR", "ETCD_READ_PROVES",
          "LOST_SESSION_ENDS", "KEPT_PAST_SAFE_UNTIL", "KEPT_WHILE_OTHERS_WAIT")
INVARIANTS = {"exclusion": 1, "token": 2, "order": 3, "progress": 4,
              "leak": 5, "herd": 6, "loss": 7, "wait": 9}


class Run:
    """One run of a configuration: spin makes a program, which is compiled and
    explores every state.  .broken is the name of the property that does not
    hold, or None."""

    def __init__(self, file, flags, ends=False, optimise="-O2"):
        self.flags = flags.split()
        self.file = file + ".pml"
        self.directory = machine.directory("model", on_disk=True)
        for name in os.listdir(HERE):
            if name.endswith(".pml"):
                shutil.copy(os.path.join(HERE, name), self.directory)
        self.call("spin", "-a", *self.flags, self.file)
        # -DNP searches for cycles, -DSAFETY for everything else.
        search = ["-DNP"] if ends else ["-DSAFETY"]
        self.call(os.environ.get("CC", "cc"), optimise, "-w", "-DCOLLAPSE",
                  "-DMEMLIM=16000", *search, "-o", "pan", "pan.c")
        self.out = self.call("./pan", "-m20000", *(["-l"] if ends else []))
        self.broken = self.broken_property()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.directory)

    def call(self, *command):
        done = subprocess.run(command, cwd=self.directory, text=True,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            sys.exit("model: %s failed:\n%s" % (" ".join(command), done.stdout))
        return done.stdout

    def broken_property(self):
        named = re.search(r"assertion violated\s+!\(broken_(\w+)\)", self.out)
        if named:
            return named.group(1)
        if "invalid end state" in self.out.split("State-vector")[0].split(
                "Full statespace")[0]:
            return "progress"
        if "errors: 0" in self.out and "Search not completed" not in self.out:
            return None
        return "the model itself"

    def number(self, pattern):
        found = re.search(pattern, self.out)
        return found.group(1) if found else "?"

    def figures(self):
        return "%10d states  depth %4s  %8s MB  %7g s" % (
            float(self.number(r"([\d.e+]+) states, stored")),
            self.number(r"depth reached (\d+)"),
            self.number(r"([\d.]+)\s+total actual memory"),
            float(self.number(r"elapsed time ([\d.e+-]+)")))

    def counterexample(self):
        """The steps that led to a broken property."""
        trail = self.call("spin", "-t", "-p", *self.flags, self.file)
        steps = [re.sub(r"\s+\(state \d+\)\s*", " ", line.strip())
                 for line in trail.splitlines() if "proc " in line]
        omitted = re.compile(r"sub-seq|\[DO\]|\[IF\]|goto|\[[uvwxy] = |D_STEP|"
                             r"\[else\]|valid end state|:init:|seen_|\[break\]")
        return [step for step in steps if not omitted.search(step)]


def check(names):
    bad = 0
    for name in names:
        quick, what, file, flags = CONFIGURATIONS[name]
        # A small one is explored sooner than a compiler optimises it.
        with Run(file, flags, ends=name.endswith("-ends"),
                 optimise="-O0" if quick else "-O2") as run:
            print("%-16s %s  %s" % (name, run.figures(),
                                    what if run.broken is None else
                                    "BROKEN: " + run.broken), flush=True)
            if run.broken is not None:
                bad += 1
                print("\n".join(run.counterexample()[-40:] or [run.out]))
    return bad


def check_mutations(names):
    bad = 0
    for name in names:
        file, flags, expected, what = MUTATIONS[name]
        with Run(file, "-D%s %s" % (name, flags), optimise="-O0") as run:
            caught = run.broken == expected
            print("%-20s %d %-10s %-10s %s%s" %
                  (name, INVARIANTS[expected], run.broken, file, what,
                   "" if caught else "  EXPECTED: " + expected), flush=True)
            bad += not caught
    print("%d of %d caught" % (len(names) - bad, len(names)))
    return bad


def main():
    parser = argparse.ArgumentParser(prog="./dev model",
                                     description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME",
                        help="a configuration, or with --mutations a "
                        "mutation")
    parser.add_argument("--quick", action="store_true",
                        help="only configurations that take seconds, or "
                        "some of the mutations")
    parser.add_argument("--mutations", action="store_true",
                        help="check that each mutation breaks its property")
    parser.add_argument("--list", action="store_true",
                        help="list the configurations or the mutations")
    options = parser.parse_args()
    table = MUTATIONS if options.mutations else CONFIGURATIONS
    unknown = [name for name in options.names if name not in table]
    if unknown:
        parser.error("%s is not known; known are %s"
                     % (unknown[0], " ".join(table)))
    if options.list:
        for name, row in table.items():
            print("%-20s %s" % (name, row[3] if options.mutations else row[1]))
        return 0
    if shutil.which("spin") is None:
        print("model: spin is not installed; run apt-get install spin")
        return SKIPPED
    quick = SAMPLE if options.mutations else [
        name for name, row in CONFIGURATIONS.items() if row[0]]
    names = options.names or (quick if options.quick else table)
    return 1 if (check_mutations if options.mutations else check)(names) else 0


if __name__ == "__main__":
    sys.exit(main())
