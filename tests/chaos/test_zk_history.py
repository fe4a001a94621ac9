#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""zk_history.py finds each violation that it looks for: small histories, each
of which breaks one rule, and the same without the mistake."""

import unittest

import zk_history

# The nodes, as zk_client_storm.c prepares them: two registers, and /d.
PREPARED = """
    s 0 1 10 b 0 60000 0 op create /r0 0 p0
    e 0 1 11 HF_OK 1 0 HF_OK 1 1 1 0 - -
    s 0 2 12 b 0 60000 0 op create /r1 0 p1
    e 0 2 13 HF_OK 2 0 HF_OK 2 2 2 0 - -
    s 0 3 14 b 0 60000 0 op create /d 0 p2
    e 0 3 15 HF_OK 3 0 HF_OK 3 3 3 0 - -
    c 0 16 0 0 0 0
"""

# The list of all nodes.
NODES = """
    n 0 / 1 1 0 0 -
    n 0 /r0 1 1 0 0 p0
    n 0 /r1 2 2 0 0 p1
    n 0 /d 3 3 0 0 p2
"""


class Lines:
    """Writes the history of one handle; operations are numbered from 1."""

    def __init__(self):
        self.lines = []
        self.ops = 0
        self.ended = 0
        self.us = 100

    def add(self, text, *arguments):
        self.lines.append(text % arguments)

    def start(self, what, watch=0, how="a", priority=0, wait_ms=10000):
        """what is such as "set /r0 -1 a", or has "multi" before it."""
        self.ops += 1
        self.us += 10
        if what.split()[0] not in ("multi", "mread"):
            what = "op " + what
        self.add("s 0 %d %d %s %d %d %d %s", self.ops, self.us, how, priority,
                 wait_ms, watch, what)
        return self.ops

    def end(self, number, zxid, *results, watching=0):
        """A result is such as "HF_OK 1 5 1 2 a -", or a status alone."""
        self.us += 10
        self.ended += 1
        results = [result if " " in result else result + " 0 0 0 0 - -"
                   for result in results]
        self.add("e 0 %d %d %s %d %d %s", number, self.us, next(
            (result.split()[0] for result in results
             if result.split()[0] not in ("HF_OK", "HF_ECANCELLED")),
            results[0].split()[0]), zxid, watching, " ".join(results))

    def do(self, what, zxid, *results, watch=0):
        self.end(self.start(what, watch), zxid, *results,
                 watching=int(watch > 0))

    def event(self, watch, kind, path):
        self.us += 10
        self.add("w 0 %d %d %s %s", watch, self.us, kind, path)

    def state(self, name):
        self.us += 10
        self.add("t 0 %d %s", self.us, name)

    def close(self, lost=0):
        self.add("c 0 %d %d 0 %d %d", self.us + 10, self.ended,
                 self.ended - lost, self.ended)


def node(mzxid, version, data="-", czxid=1, pzxid=1, children="-"):
    return "HF_OK %d %d %d %d %s %s" % (czxid, mzxid, pzxid, version, data,
                                        children)


def strip(text):
    return [line.strip() for line in text.strip().splitlines()]


class Case(unittest.TestCase):
    def setUp(self):
        self.lines = Lines()
        self.others = {}

    def rules(self):
        if not self.lines.lines or self.lines.lines[-1][0] != "c":
            self.lines.close()
        violations, self.lost, _ = zk_history.check({
            "p": strip(PREPARED), "c": self.lines.lines,
            **{name: lines.lines for name, lines in self.others.items()}})
        self.violations = violations
        return {text.partition(":")[0] for text in violations}

    def breaks(self, rule):
        self.assertEqual(self.rules(), {rule}, self.violations)

    def is_right(self):
        self.assertEqual(self.rules(), set(), self.violations)


class Operations(Case):
    def test_nothing_is_wrong(self):
        self.lines.do("set /r0 0 a", 5, node(5, 1))
        self.lines.do("get /r0 0 -", 5, node(5, 1, "a"))
        self.lines.do("set /r0 0 b", 6, "HF_EVERSION")
        self.lines.do("delete /d/n0 -1 -", 7, "HF_EGONE")
        self.is_right()

    def test_one_that_never_ends(self):
        self.lines.start("get /r0 0 -")
        self.breaks("ends")

    def test_one_that_ends_twice(self):
        number = self.lines.start("get /r0 0 -")
        self.lines.end(number, 4, node(1, 0, "p0"))
        self.lines.end(number, 4, node(1, 0, "p0"))
        self.breaks("ends")

    def test_a_callback_that_is_not_dropped(self):
        self.lines.do("get /r0 0 -", 4, node(1, 0, "p0"))
        self.lines.close(lost=1)
        self.breaks("ends")

    def test_a_deadline_that_passes(self):
        number = self.lines.start("get /r0 0 -", wait_ms=10)
        self.lines.us += zk_history.LATE_US + 20000
        self.lines.end(number, 0, "HF_ETIMEDOUT")
        self.breaks("late")

    def in_disorder(self, priority):
        one = self.lines.start("get /r0 0 -")
        two = self.lines.start("get /r1 0 -", priority=priority)
        self.lines.end(two, 4, node(2, 0, "p1", czxid=2, pzxid=2))
        self.lines.end(one, 4, node(1, 0, "p0"))

    def test_answers_in_another_order(self):
        self.in_disorder(0)
        self.breaks("order")

    def test_an_urgent_one_comes_first(self):
        self.in_disorder(1)
        self.is_right()


class Writes(Case):
    def test_one_that_is_older_than_what_ended_before(self):
        self.lines.do("set /r0 -1 a", 9, node(9, 1))
        self.others["d"] = Lines()
        self.others["d"].us = self.lines.us
        self.others["d"].do("set /r1 -1 b", 8, node(8, 1, czxid=2, pzxid=2))
        self.others["d"].close()
        self.breaks("real-time")

    def syncs_at(self, zxid, after_us=zk_history.SYNC_LAG_US):
        self.lines.do("set /r0 -1 a", 9, node(9, 1))
        self.others["d"] = Lines()
        self.others["d"].us = self.lines.us + after_us
        self.others["d"].do("sync /r0 0 -", zxid, "HF_OK")
        self.others["d"].close()

    def test_a_sync_that_is_behind(self):
        self.syncs_at(8)
        self.breaks("sync")

    def test_a_sync_that_a_leader_answers(self):
        self.syncs_at(8, after_us=0)
        self.is_right()

    def test_a_sync_that_is_not_behind(self):
        self.syncs_at(9)
        self.is_right()

    def test_two_of_one_transaction(self):
        one = self.lines.start("set /r0 -1 a")
        two = self.lines.start("set /r1 -1 b")
        self.lines.end(one, 9, node(9, 1))
        self.lines.end(two, 9, node(9, 1, czxid=2, pzxid=2))
        self.breaks("write")

    def test_a_version_that_was_not_compared(self):
        self.lines.do("set /r0 3 a", 9, node(9, 1))
        self.breaks("write")

    def test_a_version_that_two_have(self):
        self.lines.do("set /r0 -1 a", 8, node(8, 1))
        self.lines.do("set /r0 -1 b", 9, node(9, 1))
        self.breaks("write")

    def test_unsure_ones_that_appear_or_not(self):
        for data in "ab":
            self.lines.end(self.lines.start("set /r0 -1 " + data), 0,
                           "HF_EUNSURE")
        self.lines.do("get /r0 0 -", 9, node(8, 1, "b"))
        self.is_right()

    def appears(self, status):
        self.lines.end(self.lines.start("set /r0 -1 a"), 0, status)
        self.lines.do("get /r0 0 -", 9, node(8, 1, "a"))

    def test_a_cancelled_one_that_appears(self):
        self.appears("HF_ECANCELLED")
        self.breaks("data")

    def test_one_of_a_lost_session_that_appears(self):
        self.appears("HF_ELOST")
        self.breaks("data")

    def test_one_that_timed_out_and_appears(self):
        self.appears("HF_ETIMEDOUT")
        self.breaks("data")

    def test_data_that_nobody_wrote(self):
        self.lines.end(self.lines.start("set /r0 -1 a"), 0, "HF_EUNSURE")
        self.lines.do("get /r0 0 -", 9, node(8, 1, "b"))
        self.breaks("data")

    def test_one_that_was_repeated(self):
        number = self.lines.start("set /r0 -1 a")
        self.lines.end(number, 9, node(9, 2))
        self.others["d"] = Lines()
        self.others["d"].do("get /r0 0 -", 8, node(8, 1, "a"))
        self.others["d"].close()
        self.breaks("data")

    def test_one_that_was_repeated_and_nobody_saw_it(self):
        self.lines.do("set /r0 -1 a", 9, node(9, 2))
        self.breaks("gap")

    def created(self, status):
        """A create that ends like this, and a version 1 of that node."""
        self.lines.end(self.lines.start("create /d/n0 0 a"), 0, status)
        self.lines.do("set /d/n0 -1 b", 9, node(9, 1, czxid=8, pzxid=8))

    def shows_old_in_the_next_epoch(self, processes):
        self.lines.do("set /r0 -1 a", 9, node(9, 1))
        for i in range(processes):
            self.others["d%d" % i] = Lines()
            self.others["d%d" % i].do("get /r0 0 -", (1 << 32) + 1,
                                      node(1, 0, "p0"))
            self.others["d%d" % i].close()

    def test_what_the_servers_lost(self):
        self.shows_old_in_the_next_epoch(zk_history.AGREEING)
        self.breaks("state")
        self.assertEqual(self.lost,
                         ["/r0: what was written after 1, up to 9"])

    def test_what_too_few_saw_is_not_the_servers(self):
        self.shows_old_in_the_next_epoch(zk_history.AGREEING - 1)
        self.breaks("state")
        self.assertEqual(self.lost, [])

    def test_an_unsure_creation_that_nobody_saw(self):
        self.created("HF_EUNSURE")
        self.is_right()

    def test_a_creation_that_nobody_asked_for(self):
        self.created("HF_ELOST")
        self.breaks("gap")

    def test_a_version_failure_without_a_reason(self):
        self.lines.do("set /r0 0 a", 8, "HF_EVERSION")
        self.lines.do("get /r0 0 -", 9, node(1, 0, "p0"))
        self.breaks("failure")

    def test_a_version_failure_before_the_next_write(self):
        self.lines.do("set /r0 0 a", 8, "HF_EVERSION")
        self.lines.do("set /r0 0 b", 9, node(9, 1))
        self.breaks("failure")

    def test_a_version_failure_of_a_multi(self):
        self.lines.do("multi set /r1 -1 a check /r0 0 -", 8, "HF_ECANCELLED",
                      "HF_EVERSION")
        self.breaks("failure")

    def test_a_node_that_exists_and_was_deleted(self):
        self.lines.do("create /d/n0 0 a", 5, node(5, 0, czxid=5, pzxid=5))
        self.lines.do("delete /d/n0 -1 -", 6, "HF_OK")
        self.lines.do("create /d/n0 0 b", 7, "HF_EEXISTS")
        self.breaks("failure")

    def test_a_node_that_is_gone_and_was_not_deleted(self):
        self.lines.do("create /d/n0 0 a", 5, node(5, 0, czxid=5, pzxid=5))
        self.lines.do("delete /d/n0 -1 -", 6, "HF_EGONE")
        self.breaks("state")


class Reads(Case):
    def test_one_that_shows_what_was_before_a_write(self):
        self.lines.do("set /r0 -1 a", 8, node(8, 1))
        self.lines.do("get /r0 0 -", 9, node(1, 0, "p0"))
        self.breaks("state")

    def test_one_that_shows_a_node_that_was_deleted(self):
        self.lines.do("create /d/n0 0 a", 5, node(5, 0, czxid=5, pzxid=5))
        self.lines.do("delete /d/n0 -1 -", 6, "HF_OK")
        self.lines.do("get /d/n0 0 -", 7, node(5, 0, "a", czxid=5, pzxid=5))
        self.breaks("state")

    def goes_back(self):
        self.lines.do("get /r0 0 -", 9, node(1, 0, "p0"))
        self.lines.do("get /r0 0 -", 8, node(1, 0, "p0"))

    def test_one_that_goes_back(self):
        self.goes_back()
        self.breaks("session")

    def test_one_that_goes_back_after_a_reconnect(self):
        self.lines.state("SUSPENDED")
        self.lines.state("CONNECTED")
        self.goes_back()
        self.breaks("session")

    def test_a_new_session_may_go_back(self):
        self.lines.state("LOST")
        self.goes_back()
        self.is_right()

    def test_a_call_that_goes_back(self):
        self.lines.do("get /r0 0 -", 9, node(1, 0, "p0"))
        self.lines.end(self.lines.start("get /r0 0 -", how="b"), 8,
                       node(1, 0, "p0"))
        self.lines.ended -= 1
        self.breaks("session")


class Watches(Case):
    def watch(self, kind, path):
        self.lines.add("v 0 1 %s %s", kind, path)

    def set_data_watch(self):
        self.watch("data", "/r0")
        self.lines.do("get /r0 0 -", 4, node(1, 0, "p0"), watch=1)

    def change(self):
        self.lines.do("set /r0 -1 a", 5, node(5, 1))

    def test_an_event_before_the_answer(self):
        self.set_data_watch()
        self.lines.event(1, "changed", "/r0")
        self.change()
        self.is_right()

    def test_an_event_after_the_answer(self):
        self.set_data_watch()
        self.change()
        self.lines.event(1, "changed", "/r0")
        self.breaks("missed")

    def test_a_resync_before_the_answer(self):
        self.set_data_watch()
        self.lines.event(1, "resync", "/r0")
        self.change()
        self.is_right()

    def test_an_event_twice(self):
        self.set_data_watch()
        self.lines.event(1, "changed", "/r0")
        self.lines.event(1, "changed", "/r0")
        self.breaks("unset")

    def test_an_event_of_a_watch_that_was_freed(self):
        self.set_data_watch()
        self.lines.add("f 0 1")
        self.lines.event(1, "changed", "/r0")
        self.breaks("unset")

    def test_no_event_of_a_watch_that_is_being_freed(self):
        self.set_data_watch()
        self.lines.add("F 0 1")
        self.change()
        self.lines.add("f 0 1")
        self.is_right()

    def test_an_event_before_the_watch_is_set(self):
        self.watch("data", "/r0")
        self.lines.event(1, "changed", "/r0")
        self.breaks("unset")

    def test_an_event_and_then_what_was_before_it(self):
        self.set_data_watch()
        self.lines.event(1, "changed", "/r0")
        self.lines.do("get /r0 0 -", 4, node(1, 0, "p0"))
        self.breaks("old")

    def test_an_event_and_then_a_new_session(self):
        self.set_data_watch()
        self.lines.event(1, "changed", "/r0")
        self.lines.state("LOST")
        self.lines.do("get /r0 0 -", 4, node(1, 0, "p0"))
        self.is_right()

    def test_a_node_that_is_created_where_it_was_missing(self):
        self.watch("data", "/d/n0")
        self.lines.do("exists /d/n0 0 -", 4, "HF_EGONE", watch=1)
        self.lines.do("create /d/n0 0 a", 5, node(5, 0, czxid=5, pzxid=5))
        self.breaks("missed")

    def test_a_node_that_is_deleted_where_it_was_missing(self):
        self.watch("data", "/d/n0")
        self.lines.do("exists /d/n0 0 -", 4, "HF_EGONE", watch=1)
        self.lines.event(1, "deleted", "/d/n0")
        self.breaks("kind")

    def set_children_watch(self):
        self.watch("children", "/d")
        self.lines.do("children /d 0 -", 6, node(
            3, 0, czxid=3, pzxid=5, children="n0"), watch=1)

    def create_n0(self):
        self.lines.do("create /d/n0 0 a", 5, node(5, 0, czxid=5, pzxid=5))

    def test_children_that_change_without_an_event(self):
        self.create_n0()
        self.set_children_watch()
        self.lines.do("exists /d 0 -", 8, node(3, 0, czxid=3, pzxid=8))
        self.breaks("missed")

    def test_a_child_that_comes_without_an_event(self):
        self.create_n0()
        self.set_children_watch()
        self.lines.do("create /d/n1 0 b", 8, node(8, 0, czxid=8, pzxid=8))
        self.breaks("missed")

    def test_a_child_that_goes_without_an_event(self):
        self.create_n0()
        self.set_children_watch()
        self.lines.do("delete /d/n0 -1 -", 8, "HF_OK")
        self.breaks("missed")

    def test_a_child_that_goes_after_an_event(self):
        self.create_n0()
        self.set_children_watch()
        self.lines.event(1, "children", "/d")
        self.lines.do("delete /d/n0 -1 -", 8, "HF_OK")
        self.is_right()

    def set_persistent_watch(self, kind="persistent", path="/r0"):
        self.watch(kind, path)
        self.lines.do("watch %s 0 -" % path, 4, "HF_OK", watch=1)
        self.lines.do("get /r0 0 -", 4, node(1, 0, "p0"))

    def test_a_persistent_watch_without_an_event(self):
        self.set_persistent_watch()
        self.change()
        self.breaks("missed")

    def test_a_recursive_watch_without_an_event(self):
        self.set_persistent_watch("recursive", "/")
        self.change()
        self.breaks("missed")

    def test_a_recursive_watch_with_the_event_of_another_node(self):
        self.set_persistent_watch("recursive", "/")
        self.lines.event(1, "changed", "/r1")
        self.change()
        self.breaks("missed")

    def test_a_persistent_watch_and_a_second_change(self):
        self.set_persistent_watch()
        self.lines.event(1, "changed", "/r0")
        self.change()
        self.lines.do("set /r0 -1 b", 6, node(6, 2))
        self.breaks("missed")

    def test_a_reconnect_without_a_resync(self):
        self.set_persistent_watch()
        self.lines.state("SUSPENDED")
        self.lines.state("CONNECTED")
        self.change()
        self.breaks("missed")

    def test_a_reconnect_with_a_resync(self):
        self.set_persistent_watch()
        self.lines.state("SUSPENDED")
        self.lines.state("CONNECTED")
        self.lines.event(1, "resync", "/r0")
        self.change()
        self.is_right()

    def test_a_persistent_watch_and_what_was_before(self):
        self.set_persistent_watch()
        self.lines.event(1, "changed", "/r0")
        self.lines.do("get /r0 0 -", 4, node(1, 0, "p0"))
        self.breaks("old")

    def test_a_new_session_sets_it_again(self):
        self.set_persistent_watch()
        self.lines.state("LOST")
        self.change()
        self.lines.event(1, "resync", "/r0")
        self.lines.do("get /r0 0 -", 5, node(5, 1, "a"))
        self.lines.do("set /r0 -1 b", 6, node(6, 2))
        self.breaks("missed")


class Built(Case):
    """What is built on operations."""

    def add(self, text):
        for line in strip(text):
            self.lines.add("%s", line)

    def list_nodes(self, more="", names=("m1", "m2", "f")):
        """All nodes as PREPARED made them, and more."""
        for name in names:
            self.others[name] = Lines()
            for line in strip(NODES + more):
                self.others[name].add("%s", line)
            self.others[name].close()


class Caches(Built):
    def open(self, path="/", depth=-1, without_data=0):
        self.add("k 0 1 recursive %d %d %s" % (depth, without_data, path))

    def fill(self):
        self.open()
        self.add("""
            j 0 1 added / 0 0 0 - 1 1 0 -
            j 0 1 added /r0 0 0 0 - 1 1 0 p0
            j 0 1 added /r1 0 0 0 - 2 2 0 p1
            j 0 1 added /d 0 0 0 - 3 3 0 p2
            j 0 1 initialised / 0 0 0 - 0 0 0 -""")

    def change(self):
        """A set, and its event."""
        self.lines.do("set /r0 -1 a", 5, node(5, 1))
        self.add("j 0 1 changed /r0 1 1 0 p0 1 5 1 a")

    def ends_with(self, *nodes):
        """The wait in the end, what the cache has then, and the servers."""
        self.add("K 0 1 HF_OK 0")
        for text in nodes:
            self.add("i 0 1 " + text)
        self.list_nodes()

    ALL = "/ 1 1 0 -", "/r0 1 1 0 p0", "/r1 2 2 0 p1", "/d 3 3 0 p2"

    def test_nothing_is_wrong(self):
        self.fill()
        self.add("j 0 1 resynced / 0 0 0 - 0 0 0 -")
        self.ends_with(*self.ALL)
        self.is_right()

    def test_a_change(self):
        self.fill()
        self.change()
        self.is_right()

    def test_an_event_after_the_free(self):
        self.fill()
        self.add("z 0 1")
        self.add("j 0 1 resynced / 0 0 0 - 0 0 0 -")
        self.breaks("cache")

    def test_another_old_node(self):
        self.fill()
        self.lines.do("set /r0 -1 a", 5, node(5, 1))
        self.lines.do("set /r0 -1 b", 6, node(6, 2))
        self.add("j 0 1 changed /r0 1 5 1 a 1 6 2 b")
        self.breaks("cache")

    def test_a_node_that_is_added_twice(self):
        self.fill()
        self.lines.do("set /r0 -1 a", 5, node(5, 1))
        self.add("j 0 1 added /r0 0 0 0 - 1 5 1 a")
        self.breaks("cache")

    def test_a_node_that_goes_back(self):
        self.fill()
        self.change()
        self.add("j 0 1 changed /r0 1 5 1 a 1 1 0 p0")
        self.breaks("cache")

    def test_a_removed_node_that_comes_back(self):
        self.fill()
        self.add("""
            j 0 1 removed /r0 1 1 0 p0 0 0 0 -
            j 0 1 added /r0 0 0 0 - 1 1 0 p0""")
        self.breaks("cache")

    def test_another_node_that_is_a_change(self):
        self.fill()
        self.lines.do("create /d/n0 0 a", 5, node(5, 0, czxid=5, pzxid=5))
        self.lines.do("delete /d/n0 -1 -", 6, "HF_OK")
        self.lines.do("create /d/n0 0 b", 7, node(7, 0, czxid=7, pzxid=7))
        self.add("""
            j 0 1 added /d/n0 0 0 0 - 5 5 0 a
            j 0 1 changed /d/n0 5 5 0 a 7 7 0 b""")
        self.breaks("cache")

    def test_a_node_before_the_one_above_it(self):
        self.open()
        self.add("j 0 1 added /r0 0 0 0 - 1 1 0 p0")
        self.breaks("cache")

    def test_two_initialisations(self):
        self.fill()
        self.add("j 0 1 initialised / 0 0 0 - 0 0 0 -")
        self.breaks("cache")

    def test_a_resync_before_the_initialisation(self):
        self.open()
        self.add("j 0 1 resynced / 0 0 0 - 0 0 0 -")
        self.breaks("cache")

    def test_no_initialisation(self):
        self.open("/r0", depth=0)
        self.add("j 0 1 added /r0 0 0 0 - 1 1 0 p0")
        self.ends_with("/r0 1 1 0 p0")
        self.breaks("cache")

    def test_data_that_nobody_wrote(self):
        self.fill()
        self.add("j 0 1 changed /r0 1 1 0 p0 1 5 1 a")
        self.breaks("data")

    def ask(self, path, mzxid, answer):
        self.add("Q 0 1 7 %d %s" % (mzxid, path))
        self.add("A 0 1 7 " + answer)

    def test_a_query_that_is_right(self):
        self.fill()
        self.change()
        self.ask("/r0", 5, "HF_OK 1 5 1 a")
        self.is_right()

    def test_a_query_that_shows_less_than_an_event(self):
        self.fill()
        self.change()
        self.ask("/r0", 0, "HF_OK 1 1 0 p0")
        self.breaks("query")

    def test_a_query_that_was_asked_before_the_event(self):
        self.fill()
        self.add("Q 0 1 7 0 /r0")
        self.change()
        self.add("A 0 1 7 HF_OK 1 1 0 p0")
        self.is_right()

    def test_a_query_that_shows_less_than_another(self):
        self.fill()
        self.lines.do("set /r0 -1 a", 5, node(5, 1))
        self.ask("/r0", 0, "HF_OK 1 5 1 a")
        self.ask("/r0", 0, "HF_OK 1 1 0 p0")
        self.breaks("query")

    def test_a_query_that_shows_a_removed_node(self):
        self.fill()
        self.add("j 0 1 removed /r0 1 1 0 p0 0 0 0 -")
        self.ask("/r0", 0, "HF_OK 1 1 0 p0")
        self.breaks("query")

    def test_a_query_that_shows_less_than_what_was_waited_for(self):
        self.fill()
        self.lines.do("set /r0 -1 a", 5, node(5, 1))
        self.ask("/r0", 5, "HF_OK 1 1 0 p0")
        self.breaks("query")

    def test_a_query_that_lacks_what_was_waited_for(self):
        self.fill()
        self.ask("/r0", 1, "HF_EGONE 0 0 0 -")
        self.breaks("query")

    def test_a_query_that_lacks_what_was_deleted_meanwhile(self):
        self.fill()
        self.ask("/d/n0", 5, "HF_EGONE 0 0 0 -")
        self.is_right()

    def test_a_query_that_is_refused_after_the_initialisation(self):
        self.fill()
        self.ask("/r0", 0, "HF_ESTATE 0 0 0 -")
        self.breaks("query")

    def test_a_query_that_is_refused_before_it(self):
        self.open()
        self.ask("/r0", 0, "HF_ESTATE 0 0 0 -")
        self.is_right()

    def test_an_end_with_less(self):
        self.fill()
        self.ends_with(*self.ALL[:-1])
        self.breaks("contents")

    def test_an_end_with_more(self):
        self.fill()
        self.ends_with(*self.ALL, "/d/n0 5 5 0 a")
        self.breaks("contents")

    def test_an_end_with_something_older(self):
        self.fill()
        self.lines.do("set /r1 -1 a", 5, node(5, 1, czxid=2, pzxid=2))
        self.ends_with(*self.ALL)
        for name in "m1", "m2":
            lines = self.others[name].lines
            lines[2] = "n 0 /r1 2 5 1 0 a"
        self.breaks("contents")

    def test_an_end_without_what_was_still_removed(self):
        self.fill()
        self.ends_with(*self.ALL)
        self.list_nodes("n 0 /d/n0 5 5 0 0 a", names=("m1",))
        self.is_right()

    def test_an_end_that_was_not_reported(self):
        self.open()
        self.add("j 0 1 initialised / 0 0 0 - 0 0 0 -")
        self.ends_with(*self.ALL)
        self.breaks("contents")

    def test_an_end_that_does_not_come(self):
        self.fill()
        self.add("K 0 1 HF_ETIMEDOUT 0")
        self.breaks("contents")

    def test_unreadable_nodes(self):
        self.fill()
        self.add("K 0 1 HF_OK 1")
        self.breaks("contents")

    def test_what_a_cache_does_not_cover(self):
        self.open("/d", depth=0, without_data=1)
        self.add("""
            j 0 1 added /d 0 0 0 - 3 3 0 -
            j 0 1 initialised /d 0 0 0 - 0 0 0 -""")
        self.ends_with("/d 3 3 0 -")
        self.list_nodes("n 0 /d/n0 5 5 0 0 a")
        self.is_right()


class Registrations(Built):
    NODE = "n 0 /g/c.0 5 5 0 77 c.0.g1"

    def ends_with(self, *nodes, status="HF_OK", closed=()):
        """The registration, and the nodes of its session."""
        self.add("r 0 registered HF_OK 5 77")
        self.add("G 0 %s 77 /g/c.0 c.0.g1" % status)
        for text in closed:
            self.add(text)
        self.list_nodes("\n".join(nodes))

    def test_nothing_is_wrong(self):
        self.ends_with(self.NODE)
        self.is_right()

    def test_none(self):
        self.ends_with()
        self.breaks("registration")

    def test_one_of_another_session(self):
        self.ends_with("n 0 /g/c.0 5 5 0 78 c.0.g1")
        self.breaks("registration")

    def test_two(self):
        self.ends_with(self.NODE, "n 0 /g/c.1 6 6 0 77 c.0.g1")
        self.breaks("registration")

    def test_other_data(self):
        self.ends_with("n 0 /g/c.0 5 5 0 77 c.0.g0")
        self.breaks("registration")

    def test_a_wait_that_fails(self):
        self.ends_with(self.NODE, status="HF_ETIMEDOUT")
        self.breaks("registration")

    def test_a_session_that_is_lost_afterwards(self):
        self.add("G 0 HF_OK 77 /g/c.0 c.0.g1")
        self.lines.state("LOST")
        self.list_nodes()
        self.is_right()

    def test_a_node_after_the_close(self):
        self.ends_with(self.NODE, closed=["h 0 HF_OK /g/c.0"])
        self.breaks("registration")

    def test_an_event_twice(self):
        self.add("r 0 registered HF_OK 5 77")
        self.add("r 0 registered HF_OK 6 77")
        self.breaks("registration")

    def test_an_older_node(self):
        self.add("""
            r 0 registered HF_OK 5 77
            r 0 unregistered HF_EGONE 0 0
            r 0 registered HF_OK 4 77""")
        self.breaks("registration")

    def test_a_failure(self):
        self.add("r 0 failed HF_EDENIED 0 0")
        self.breaks("registration")


class RetriedWrites(Built):
    MADE = "n 0 /p/_c_u-s-0 5 5 0 0 c.0.1"

    def create(self, end, mode=2, path="/p/s-"):
        self.add("o 0 1 b 0 create %d %s c.0.1" % (mode, path))
        if end:
            self.add("p 0 1 " + end)

    def succeed(self):
        self.create("HF_OK 5 5 0 0 /p/_c_u-s-0")

    def test_a_create_that_is_right(self):
        self.succeed()
        self.list_nodes(self.MADE)
        self.is_right()

    def test_a_create_that_made_two(self):
        self.succeed()
        self.list_nodes(self.MADE + "\nn 0 /p/_c_v-s-1 6 6 0 0 c.0.1")
        self.breaks("protected")

    def test_a_create_that_made_none(self):
        self.succeed()
        self.list_nodes()
        self.breaks("protected")

    def test_a_create_that_made_another(self):
        self.succeed()
        self.list_nodes("n 0 /p/_c_v-s-1 5 5 0 0 c.0.1")
        self.breaks("protected")

    def test_a_create_that_failed_and_made_one(self):
        self.create("HF_ETIMEDOUT 0 0 0 0 -")
        self.list_nodes(self.MADE)
        self.breaks("protected")

    def test_a_create_that_was_refused_and_made_one(self):
        self.create(None)
        self.add("x 0 1 HF_ELIMIT")
        self.list_nodes(self.MADE)
        self.breaks("protected")

    def test_an_unsure_create(self):
        self.create("HF_EUNSURE 0 0 0 0 -")
        self.list_nodes(self.MADE)
        self.is_right()

    def test_what_nobody_created(self):
        self.list_nodes(self.MADE)
        self.breaks("protected")

    def create_ephemeral(self, session, mode=3, nodes=""):
        self.create("HF_OK 5 5 0 77 /p/_c_u-e-0", mode, "/p/e-")
        self.add("G 0 HF_OK %d - -" % session)
        self.list_nodes(nodes)

    def test_an_ephemeral_node(self):
        self.create_ephemeral(77, nodes="n 0 /p/_c_u-e-0 5 5 0 77 c.0.1")
        self.is_right()

    def test_an_ephemeral_node_that_is_gone(self):
        self.create_ephemeral(77)
        self.breaks("protected")

    def test_an_ephemeral_node_that_went_with_its_session(self):
        self.create_ephemeral(78)
        self.is_right()

    def test_an_ephemeral_node_that_stays(self):
        self.create_ephemeral(78, nodes="n 0 /p/_c_u-e-0 5 5 0 77 c.0.1")
        self.breaks("protected")

    def test_an_ephemeral_node_that_another_deleted(self):
        self.create_ephemeral(77, mode=1)
        self.is_right()

    def delete(self, status, nodes):
        self.succeed()
        self.add("o 0 2 b 0 delete 0 /p/_c_u-s-0 c.0.1")
        self.add("p 0 2 %s 0 0 0 0 -" % status)
        self.list_nodes(nodes)

    def test_a_delete_that_is_right(self):
        self.delete("HF_OK", "")
        self.is_right()

    def test_a_delete_that_leaves_the_node(self):
        self.delete("HF_OK", self.MADE)
        self.breaks("guaranteed")

    def test_a_delete_in_the_background_that_leaves_it(self):
        self.delete("HF_ETIMEDOUT", self.MADE)
        self.breaks("guaranteed")

    def test_a_delete_that_was_cancelled(self):
        self.delete("HF_ECANCELLED", self.MADE)
        self.is_right()

    def test_a_delete_in_the_background_that_was_cancelled(self):
        self.delete("HF_ETIMEDOUT", self.MADE)
        self.add("X 0 2")
        self.is_right()

    def update(self, *ends, count):
        """Updates that made the versions 1, 2 and so on, and the counter."""
        for i, end in enumerate(ends, 1):
            self.add("o 0 %d b 0 update 0 /c0 c.0.%d" % (i, i))
            self.add("p 0 %d %s" % (i, end))
        self.list_nodes("n 0 /c0 4 9 %d 0 %d:c.0.1" % (count, count))

    def test_updates_that_are_right(self):
        self.update("HF_OK 4 5 1 0 -", "HF_EUNSURE 0 0 0 0 -",
                    "HF_ETIMEDOUT 0 0 0 0 -", count=2)
        self.is_right()

    def test_an_update_that_was_forgotten(self):
        self.update("HF_OK 4 5 1 0 -", "HF_OK 4 6 2 0 -", count=1)
        self.breaks("update")

    def test_an_update_that_counted_twice(self):
        self.update("HF_OK 4 5 1 0 -", count=2)
        self.breaks("update")

    def test_a_failed_update_that_counted(self):
        self.update("HF_ETIMEDOUT 0 0 0 0 -", count=1)
        self.breaks("update")

    def test_two_updates_of_one_version(self):
        self.update("HF_OK 4 5 1 0 -", "HF_OK 4 5 1 0 -", count=2)
        self.breaks("update")

    def test_a_counter_that_is_gone(self):
        self.update("HF_OK 4 5 1 0 -", count=1)
        self.list_nodes()
        self.breaks("update")

    def test_a_count_that_is_not_that_of_the_version(self):
        self.add("k 0 1 recursive 0 0 /c0")
        self.add("j 0 1 added /c0 0 0 0 - 4 6 2 1:c.0.1")
        self.breaks("update")


if __name__ == "__main__":
    unittest.main()
