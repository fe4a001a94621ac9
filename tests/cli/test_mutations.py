# SPDX-License-Identifier: Apache-2.0
"""Each mutant of the tool fails a test.  Those of holdfast elect, which take
longer, are run by test_elect_mutations.py."""

import functools
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "mutants"))

import mutants  # noqa: E402

import machine  # noqa: E402

TOOL = os.environ["HOLDFAST"]

# The file and the test that a mutant has to fail.
CATCHERS = {
    "TERM_CHILDREN_ONLY": ("proc", "Proc.test_term_reaches_all"),
    "SCAN_OMITTED": ("proc",
                     "Proc.test_children_are_found_without_children"),
    "NAME_ENDS_EARLY": ("proc", "Proc.test_names_that_look_like_fields"),
    "SIGNAL_NOT_RELAYED": ("signals",
                           "Waiting.test_the_process_that_show_names"),
    "DUPLICATES_COUNT": ("signals", "Running.test_to_both_is_forwarded_once"),
    "ANCESTOR_BY_PID": ("nested",
                        "Nested.test_an_environment_that_outlived_its_run"),
    "NESTED_URL_FORGOTTEN": ("nested", "UrlWithPassword.test_the_same_engine"),
    "OUTER_SHELL_WAITS": ("nested_waits",
                          "NobodyFails.test_in_the_background"),
    "OUTER_LIMIT_WAITS": ("nested_waits", "NobodyFails.test_a_limit"),
    "HOLD_INPUT_WAITS": ("nested_waits", "NestedWaits.test_a_hold"),
    "HOLD_LOSS_IGNORED": ("hold", "OnFiles.test_evicted"),
    "HOLD_WRITES_AT_ONCE": ("hold", "OnFiles.test_output_that_is_full"),
    "KEEP_LOSS_IGNORED": ("at_least", "OnFiles.test_evicted_meanwhile"),
    "KEEP_SIGNAL_IGNORED": ("at_least", "OnFiles.test_signals_end_it"),
    "KEEP_WITHOUT_COMMAND": ("at_least",
                             "OnFiles.test_a_command_that_cannot_be_run"),
    "DASHES_SWALLOWED": ("usage", "TopLevel.test_dashes_behind_an_operand"),
    "NO_GRANT_PASSES": ("verify", "Verify.test_nothing_was_granted"),
    "UNREACHED_PASSES": ("verify", "Verify.test_an_engine_that_is_not_reached"),
    "SHOW_CREATES": ("show", "Show.test_a_directory_that_is_not_there"),
    "HELD_BY_WAITERS": ("show", "Show.test_is_it_held"),
    "KILL_WAITS_FOR_PARENT": (
        "tree", "Tree.test_a_child_is_killed_though_its_parent_cannot_exit"),
    "LOSS_NOT_HASTENED": ("tree", "Tree.test_a_loss_during_the_grace_ends_it"),
    "STOP_ANEW_UNDONE": (
        "terminal", "Shell.test_a_stop_just_after_the_foreground_counts"),
    "LAUNCHER_WAITS_FOR_READER": ("unread",
                                  "OnFiles.test_a_signal_ends_the_wait"),
}

# The same, on an engine with a lease that not every build has.
LEASED_CATCHERS = {
    "FROZEN_WHILE_ENDING": (
        "leased",
        "Redis.test_a_supervisor_that_freezes_while_it_ends_the_tree"),
    "STOPPED_LAUNCHER_UNGUARDED": (
        "leased",
        "Redis.test_a_stopped_launcher_does_not_keep_the_tree_alive"),
}

# The same for mutants of holdfast elect.
ELECT_CATCHERS = {
    "ELECT_FAILURES_NOT_COUNTED": (
        "elect",
        "OnFiles.test_another_machine_leads_when_the_command_fails"),
    "ELECT_KEEPS_TICKET": (
        "elect",
        "OnFiles.test_another_machine_leads_when_the_command_fails"),
    "ELECT_LOSS_ENDS": (
        "elect", "OnZooKeeper."
        "test_a_leader_that_loses_its_session_campaigns_again"),
    "ELECT_LOSS_WITHOUT_HOOK": (
        "elect_hooks", "OnFiles.test_an_evicted_leader_resigns"),
    "ELECT_ON_LEAD_IGNORED": (
        "elect_hooks", "Hooks.test_a_leader_that_cannot_begin_resigns"),
    "ELECT_ON_RESIGN_OUTLIVES_LEASE": (
        "elect_hooks", "OnZooKeeper.test_a_lease_that_is_not_renewed"),
    "ELECT_RESIGNS_FIRST": (
        "elect", "OnFiles.test_a_leader_resigns_when_asked"),
    "ELECT_SIGNAL_FORGOTTEN": (
        "elect_command",
        "Elect.test_a_signal_that_the_command_dies_of_ends_it"),
    "KILL_WAITS_FOR_SUPERVISOR": (
        "elect", "OnZooKeeper."
        "test_a_frozen_leader_that_cannot_exit_holds_no_kill_up"),
    "LOSS_NOT_ENDED": (
        "elect", "OnZooKeeper."
        "test_a_leader_that_loses_its_session_campaigns_again"),
    "REQUEST_IGNORED": ("elect", "OnFiles.test_a_leader_resigns_when_asked"),
}


def build(mutation, directory):
    """The tool, a mutant or with holdfast-torture as a mutant beside it."""
    tool = os.path.join(directory, "holdfast")
    if is_of_torture(mutation):
        shutil.copy(TOOL, tool)
        mutants.build(mutation, TOOL + "-torture", tool + "-torture")
    else:
        mutants.build(mutation, TOOL, tool)
    return tool


def is_of_torture(mutation):
    return any(change.path.startswith("src/torture/")
               for change in mutants.read(mutation).files)


@functools.lru_cache(maxsize=None)
def passes(tool, catcher):
    """Does the test, of that tool?  And what it said."""
    name, test = catcher
    ran = subprocess.run(
        [sys.executable, os.path.join(HERE, "test_%s.py" % name), test],
        env=dict(os.environ, HOLDFAST=tool, GRACE="300ms",
                 HF_WAIT_LIMIT_S="10"),
        capture_output=True, text=True, check=False)
    return ran.returncode == 0, ran.stderr


class Table(unittest.TestCase):
    def test_the_table_has_every_mutation(self):
        self.assertEqual(mutants.found_by_search(mutants.is_of_tool),
                         sorted([*CATCHERS, *LEASED_CATCHERS,
                                 *ELECT_CATCHERS]))


class Mutations:
    """A mixin for a TestCase that has .catchers."""

    def test_each_is_caught(self):
        for mutation, catcher in self.catchers.items():
            with self.subTest(mutation=mutation), \
                    machine.temporary("mutant") as directory:
                self.assertTrue(*passes(TOOL, catcher))
                mutant = build(mutation, directory)
                caught, said = passes(mutant, catcher)
                self.assertFalse(caught, said)
                self.assertRegex(said, "AssertionError|TimeoutExpired")


class OfTool(Mutations, unittest.TestCase):
    catchers = CATCHERS


class OnRedis(Mutations, unittest.TestCase):
    catchers = LEASED_CATCHERS


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + ["-v"] + sys.argv[1:])
