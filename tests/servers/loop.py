# SPDX-License-Identifier: Apache-2.0
"""A thread that waits for sockets, instants and jobs of other threads.  The
state of a fake server or a proxy is changed on its thread alone."""

import collections
import heapq
import itertools
import os
import selectors
import socket
import struct
import threading

import waiting


def reset(link):
    """Close with an RST instead of a FIN."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    link.close()


class Loop:
    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.jobs = collections.deque()
        self.timers = []
        self.numbers = itertools.count()
        self.failures = []  # exceptions of jobs and handlers that no thread waits for
        self.bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self.watch(self.bell, selectors.EVENT_READ, self.work)
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # ---- from any thread

    def do(self, job):
        """Run a function on the loop's thread; its value."""
        if threading.current_thread() is self.thread:
            return job()
        done = threading.Event()
        answer = []

        def run():
            try:
                answer.append((job(), None))
            except BaseException as error:  # raised in the thread that called do()
                answer.append((None, error))
            done.set()
        self.jobs.append(run)
        os.eventfd_write(self.bell, 1)
        if not done.wait(waiting.LIMIT_S):
            raise AssertionError("the loop's thread does not answer")
        value, error = answer[0]
        if error:
            raise error
        return value

    def stop(self):
        """End the thread; nothing it knew is closed but its own."""
        def stop():
            self.running = False
        if self.running:
            self.do(stop)
            self.thread.join(waiting.LIMIT_S)
            self.selector.close()
            os.close(self.bell)

    # ---- on its thread

    def watch(self, file, events, handler):
        """Have handler(events) called when any of the events is there; with
        no events, no more."""
        known = file in self.selector.get_map()
        if events and known:
            self.selector.modify(file, events, handler)
        elif events:
            self.selector.register(file, events, handler)
        elif known:
            self.selector.unregister(file)

    def at(self, instant_ms, job):
        heapq.heappush(self.timers, (instant_ms, next(self.numbers), job))

    def work(self, _):
        os.eventfd_read(self.bell)
        while self.jobs:
            self.jobs.popleft()()

    def run(self):
        while self.running:
            timeout = None
            if self.timers:
                timeout = max(0, self.timers[0][0] - waiting.now_ms()) / 1000
            for key, events in self.selector.select(timeout):
                # One that was handled before may have ended this one.
                if self.selector.get_map().get(key.fd) == key:
                    self.guard(lambda: key.data(events))
            now = waiting.now_ms()
            while self.timers and self.timers[0][0] <= now:
                self.guard(heapq.heappop(self.timers)[2])

    def guard(self, job):
        try:
            job()
        except Exception as error:  # the thread must live; tests look here
            self.failures.append(error)


def listen(port):
    """A socket that listens on a port of 127.0.0.1 without blocking."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    listener.setblocking(False)
    return listener
