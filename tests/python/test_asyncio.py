#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same on a loop of asyncio, on files."""
import asyncio
import threading
import unittest

import holdfast

from cases import Case


class Asyncio(Case):
    def test_one_after_the_other_without_a_thread_of_python(self):
        async def main(client):
            order = []

            async def hold(number):
                async with client.lock("x") as grant:
                    order.append(grant.token)
                    threads.add(threading.current_thread())
                    await asyncio.sleep(0)

            threads = set()
            await asyncio.gather(*(hold(number) for number in range(10)))
            self.assertEqual((len(order), order), (10, sorted(order)))
            self.assertEqual(threads, {threading.main_thread()})
            self.assertEqual(threading.enumerate(), [threading.main_thread()])

        self.run_with_client(main)

    def test_timeout(self):
        async def main(client):
            async with client.lock("x"):
                with self.assertRaises(holdfast.Timeout):
                    await client.lock("x", timeout=0.05).acquire()
                with self.assertRaises(holdfast.Busy):
                    async with client.lock("x", timeout=0):
                        self.fail("both hold it")
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.lock("x").acquire(), 0.05)
                await self.queued(client, "x", 1)

        self.run_with_client(main)

    def test_task_that_is_cancelled_leaves_no_ticket(self):
        async def main(client):
            async with client.lock("x"):
                tasks = [asyncio.create_task(client.lock("x").acquire())
                         for _ in range(3)]
                await self.queued(client, "x", 4)
                tasks[1].cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await tasks[1]
                # At once: the cancelled one has ended after its removal.
                self.assertEqual(len(await client.lock("x").tickets()), 3)
                for task in tasks:
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.queued(client, "x", 0)

        self.run_with_client(main)

    def test_cancelled_at_any_moment(self):
        async def main(client):
            for pauses in range(40):
                task = asyncio.create_task(client.lock("x").acquire())
                for _ in range(pauses):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    await (await task).release()
                except asyncio.CancelledError:
                    pass
            await self.queued(client, "x", 0)

        self.run_with_client(main)

    def test_loss_and_callbacks(self):
        async def main(client):
            lost, done = [], asyncio.Event()

            async def on_loss(grant):
                await asyncio.sleep(0)
                lost.append(grant)
                done.set()

            with self.assertRaises(holdfast.Lost):
                async with client.lock("x", on_loss=on_loss) as grant:
                    ticket, = await client.lock("x").tickets()
                    await client.lock("x").evict(ticket, by="the test")
                    await done.wait()
                    self.assertTrue(grant.lost)
            self.assertEqual(lost, [grant])
            with self.assertRaises(holdfast.Gone):
                await client.lock("x").revoke()

        self.run_with_client(main)

    def test_several_kinds(self):
        async def main(client):
            read = client.lock("r", kind="read", timeout=0)
            async with read, read, client.locks(["a", "b"]) as grant:
                self.assertEqual(set(grant.tokens), {"a", "b"})
            async with client.lock("r", kind="write") as grant:
                await grant.downgrade()
                async with read:
                    pass

        self.run_with_client(main)

    def test_election(self):
        async def main(client):
            said = []
            async with client.election("x", on_elected=said.append) as first:
                await first.wait()
                await self.until(lambda: said)
                async with client.election("x") as second:
                    task = asyncio.create_task(second.wait())
                    await asyncio.sleep(0.05)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                    self.assertEqual(len(await second.tickets()), 2)
                    await first.resign()
                    await second.wait()
                    self.assertTrue(second.is_leader)
            self.assertEqual(said, [first])

        self.run_with_client(main)

    def test_states_and_the_end(self):
        states = []

        async def main(client):
            self.assertIn("file:", repr(client))
            self.client = client
            self.grant = await client.lock("x").acquire()

        self.run_with_client(main, on_state=states.append)
        self.assertEqual((self.client.state, states[-1]), ("CLOSED", "CLOSED"))
        self.assertTrue(self.grant.lost)

        async def release():
            with self.assertRaises(holdfast.Lost):
                await self.grant.release()

        with self.assertRaises(RuntimeError):
            asyncio.run(release())

    def test_client_needs_a_loop(self):
        with self.assertRaises(RuntimeError):
            holdfast.AsyncClient(self.url)


if __name__ == "__main__":
    unittest.main()
