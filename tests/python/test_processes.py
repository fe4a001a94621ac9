#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, forks, and the end of the interpreter, on files."""
import os
import signal
import unittest

import holdfast

from cases import Case, waiting

HEAD = """
import gc, os, signal, sys, threading, warnings
import holdfast
client = holdfast.Client(sys.argv[1])
"""


class Processes(Case):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.client = holdfast.Client(self.url)
        self.addCleanup(self.client.close)

    def queued(self, count):
        waiting.eventually(
            f"{count} tickets",
            lambda: len(self.client.lock("x").tickets()) == count)

    def finish(self, process):
        out, err = process.communicate(timeout=waiting.LIMIT_S)
        return process.returncode, out, err

    def test_ctrl_c_ends_a_wait(self):
        with self.client.lock("x"):
            process = self.script(HEAD + """
try:
    client.lock("x").acquire()
except KeyboardInterrupt:
    print(len(client.lock("x").tickets()))
client.close()
""")
            self.queued(2)
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.finish(process), (0, "1\n", ""))

    def test_signal_whose_handler_returns_does_not(self):
        with self.client.lock("x"):
            process = self.script(HEAD + """
signal.signal(signal.SIGUSR1, lambda *_: print("here", flush=True))
with client.lock("x"):
    print("in")
client.close()
""")
            self.queued(2)
            process.send_signal(signal.SIGUSR1)
            self.assertEqual(process.stdout.readline(), "here\n")
            self.queued(2)
        self.assertEqual(self.finish(process), (0, "in\n", ""))

    def test_ctrl_c_at_any_moment_leaves_no_ticket(self):
        process = self.script(HEAD + """
ended = 0

def handler(_number, frame):
    global ended
    # In the package, but not in what it does when an object dies: there
    # Python ignores an exception.
    at = frame
    while at and at.f_code.co_name != "__del__":
        at = at.f_back
    if at is None and "/holdfast/" in frame.f_code.co_filename:
        ended += 1
        raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
warnings.simplefilter("ignore")
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
while ended < 300:
    try:
        # As most programs have it.  An exception at the very beginning of
        # __exit__() leaves the grant with the lock, which dies here, and a
        # participant inside, which leaves as it dies.
        with client.lock("x"), client.mutex("m") as grant, \\
                client.rwlock("r").write, client.double_barrier("d", 1):
            pass
    except KeyboardInterrupt:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
grant = None
gc.collect()
with client.lock("x", timeout=10), client.mutex("m", timeout=10), \\
        client.rwlock("r", timeout=10).write:
    while client.double_barrier("d", 1).participants(timeout=10):
        pass
    print("free")
client.close()
""")
        self.assertEqual(self.finish(process), (0, "free\n", ""))

    def test_child_is_refused_and_the_parent_undisturbed(self):
        process = self.script(HEAD + """
grant = client.lock("x").acquire()
mutex = client.mutex("m")
mutex.acquire()
opens = (client.lock, client.mutex, client.barrier, client.names)
calls = (grant.check, mutex.acquire, mutex.release,
         client.rwlock("r").read.acquire, client.barrier("b").set,
         client.double_barrier("d", 1).enter, client.names().__next__,
         *opens, client.close, grant.release)
for leave in (os._exit, sys.exit):
    child = os.fork()
    if child == 0:
        for call in calls:
            try:
                call("y") if call in opens else call()
                print("no", call)
            except holdfast.Error as failure:
                print(type(failure).__name__)
        sys.stdout.flush()
        leave(0)
    assert os.waitpid(child, 0)[1] == 0
grant.check()
grant.release()
assert mutex.token
mutex.release()
client.close()
""")
        status, out, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out.split(), 2 * 13 * ["Forked"])

    def test_multiprocessing(self):
        process = self.script("""
import multiprocessing, sys
import holdfast

def work(url, results):
    # The child's own.
    with holdfast.Client(url) as mine, mine.lock("y") as grant:
        results.put(grant.token)

def inherited(results):
    try:
        with client.lock("x"):
            results.put("no")
    except holdfast.Forked:
        results.put("forked")

context = multiprocessing.get_context("fork")
results = context.Queue()
with holdfast.Client(sys.argv[1]) as client, client.lock("x") as grant:
    for target, words in ((work, (sys.argv[1], results)),
                          (inherited, (results,))):
        child = context.Process(target=target, args=words)
        child.start()
        print(results.get(timeout=60))
        child.join()
        assert child.exitcode == 0
    grant.check()
""")
        status, out, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"\A\d+\nforked\n\Z")

    def test_end_of_the_interpreter_with_everything_open(self):
        process = self.script(HEAD + """
warnings.simplefilter("ignore")
grant = client.lock("x", on_loss=lambda grant: None).acquire()
election = client.election("e", on_elected=lambda e: None)
election.campaign()
def wait():
    client.lock("x").acquire()
threading.excepthook = lambda _: None
threading.Thread(target=wait, daemon=True).start()
while len(client.lock("x").tickets()) < 2:
    pass
circle = [client, grant, election]
circle.append(circle)
print("held")
""")
        self.assertEqual(self.finish(process), (0, "held\n", ""))
        self.queued(0)

    def test_library_that_is_not_there(self):
        process = self.script("import holdfast", env={
            **os.environ, "HOLDFAST_LIBRARY": "libnothing.so"})
        status, _, err = self.finish(process)
        self.assertEqual(status, 1)
        self.assertRegex(err, r"ImportError: .*libnothing\.so.*Install "
                              r"libholdfast\.so\.")


if __name__ == "__main__":
    unittest.main()
