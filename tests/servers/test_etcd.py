#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The real etcd of the tests does what the tests believe of it."""

import contextlib
import unittest

import waiting
from etcd import ROOT, Cluster, Server
from etcd_gateway import Error


class One(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        with contextlib.ExitStack() as stack:
            stack.enter_context(cls.server)
            cls.close = stack.pop_all().close

    @classmethod
    def tearDownClass(cls):
        cls.close()

    def test_serves_the_requests_of_a_lock(self):
        with self.server.client() as client:
            lease = client.grant(5)
            created = client.put("basics/t", "mine", lease)
            client.put("basics/t", "still mine", lease)
            found = client.get("basics/t")
            self.assertEqual((found.value, found.created, found.lease),
                             ("still mine", created, lease))
            self.assertEqual([one.key for one in client.list("basics/")],
                             ["basics/t"])
            self.assertEqual(client.time_to_live(lease)[1], ["basics/t"])
            client.revoke(lease)
            self.assertIsNone(client.get("basics/t"))
            self.assertEqual(client.time_to_live(lease), (-1, []))

    def test_has_the_lock_service(self):
        with self.server.client() as client:
            lease = client.grant(5)
            key = client.lock("served", lease)
            self.assertEqual(key, "served/%x" % lease)
            client.unlock(key)
            self.assertEqual(client.list("served/"), [])

    def test_forgets_what_was_compacted(self):
        with self.server.client() as client:
            old = client.put("compacted", "1")
            client.put("compacted", "2")
            self.server.compact()
            with self.assertRaisesRegex(Error, "compacted"):
                client.ask("kv/range", key="AA==", revision=str(old))

    def test_starts_again_with_its_data(self):
        with self.server.client() as client:
            client.put("kept", "yes")
        self.server.restart()
        with self.server.client() as client:
            self.assertEqual(client.get("kept").value, "yes")
        self.server.freeze()
        self.assertIsNone(self.server.status())
        self.server.thaw()
        self.server.wait()


class Three(unittest.TestCase):
    def test_elects_another_leader(self):
        with Cluster() as cluster:
            first = cluster.leader()
            self.assertEqual(len(cluster.followers()), 2)
            first.freeze()
            waiting.eventually("another leader", lambda: cluster.leads()
                               not in (None, first))
            with cluster.client() as client:
                client.put("written", "by two")
            first.thaw_in_slices(5)
            cluster.wait()
            with first.client() as client:
                self.assertEqual(client.get("written").value, "by two")
            second = cluster.leader()
            second.kill()
            waiting.eventually("a third leader", lambda: cluster.leads()
                               not in (None, second))
            second.start()


class Users(unittest.TestCase):
    def test_rights_are_of_a_prefix(self):
        with Server() as server:
            server.require_users("alice:word", prefix="hers/")
            with server.client(credential="alice:word") as client:
                client.put("hers/a", "1")
                with self.assertRaises(Error) as caught:
                    client.put("others/a", "1")
                self.assertEqual(caught.exception.code, 7)
            with server.client(credential=None) as client, \
                    self.assertRaises(Error):
                client.put("hers/a", "2")
            with self.assertRaises(Error):
                server.client(credential="alice:wrong")
            with server.client(credential=ROOT) as client:
                self.assertEqual(client.get("hers/a").value, "1")


class Tls(unittest.TestCase):
    def test_a_client_shows_a_certificate(self):
        with Server(client_auth=True) as server:
            with server.tls_client("client") as client:
                client.put("a", "1")
            with self.assertRaises(OSError), server.tls_client() as client:
                client.put("a", "2")


class Space(unittest.TestCase):
    def test_there_is_an_end_of_it(self):
        with Server(config={"quota-backend-bytes": 8 << 20}) as server:
            server.fill()
            with server.client() as client:
                with self.assertRaisesRegex(Error, "space exceeded"):
                    client.put("a", "1")
                server.make_space()
                client.put("a", "1")


if __name__ == "__main__":
    unittest.main()
