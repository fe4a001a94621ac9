# SPDX-License-Identifier: Apache-2.0
"""holdfast zk on a real server: each command, each of its error texts, its exit
statuses, and docs/zookeeper-tool.md, whose lines are run."""

import base64
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

from proxy import DOWN, UP, Proxy  # noqa: E402
from zookeeper import Standalone  # noqa: E402

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/zookeeper-tool.md"
BYTES = bytes(range(256))


class Served(harness.Case):
    """Each test has a tree of its own, below a chroot."""

    @classmethod
    def setUpClass(cls):
        cls.server = Standalone(
            properties={"zookeeper.extendedTypesEnabled": "true"})
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        super().setUp()
        type(self).count += 1
        self.top = "/test-%d" % self.count
        self.server_url = "zk://127.0.0.1:%d" % self.server.port
        self.url = self.server_url + self.top
        with self.server.client() as client:
            client.create(self.top)
        self.environment["HOLDFAST_URL"] = self.url

    def start_zk(self, *arguments, **options):
        for stream in ("stdout", "stderr"):
            options.setdefault(stream, subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen([harness.TOOL, "zk", *arguments],
                                   env=self.environment, process_group=0,
                                   text=True, **options)
        self.started.append(process)
        return process

    def watch(self, *arguments):
        process = self.start_zk("watch", *arguments)
        line = waiting.read_line(process, stream="stderr")
        self.assertTrue(line.startswith("holdfast: watching "), line)
        return process

    def bytes_of(self, *arguments, data=b""):
        done = subprocess.run([harness.TOOL, "zk", *arguments], input=data,
                              capture_output=True, env=self.environment,
                              timeout=waiting.LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr.decode()

    def zk(self, *arguments, text=""):
        status, out, err = self.bytes_of(*arguments, data=text.encode())
        return status, out.decode(), err

    def do(self, *arguments, text=""):
        """The output of a command that ends well and prints no error."""
        status, out, err = self.zk(*arguments, text=text)
        self.assertEqual((status, err), (0, ""), arguments)
        return out

    def json(self, *arguments, text=""):
        return json.loads(self.do(*arguments, text=text))

    def fails(self, expected, part, *arguments, text=""):
        """One line of error, with ${part}, and nothing else."""
        status, out, err = self.zk(*arguments, text=text)
        self.assertEqual((status, out), (expected, ""), err)
        self.assertTrue(err.startswith("holdfast: "), err)
        self.assertIn(part, err)
        self.assertEqual(err.count("\n"), 1, err)


class Guide(Served):
    def steps(self):
        """(command, what it prints) of all indented lines."""
        found = []
        for line in GUIDE.read_text().splitlines():
            if line.startswith("    $ "):
                found.append([line[6:], ""])
            elif line.startswith("    > "):
                found[-1][0] += "\n" + line[6:]
            elif line.startswith("    "):
                found[-1][1] += line[4:] + "\n"
        return found

    def test_lines(self):
        """In one shell.  A line that says when one command has ended is on
        standard output only."""
        steps = self.steps()
        self.assertGreaterEqual(len(steps), 30)
        # The server of the test in place of the usual one.
        script = "exec 2>&1\nend() { local s=$?; echo '--- end'; return $s; }\n"
        script += "".join(
            "%s\nend\n" % command.replace(
                "zk://127.0.0.1:2181", self.url).replace("& sleep 1", "& until grep -q "
                "watching log; do :; done") for command, _ in steps)
        script = script.replace("watch --recursive --count 2 /app &",
                                "watch --recursive --count 2 /app 2>log &")
        environment = dict(self.environment, PATH="%s:%s" % (
            os.path.dirname(harness.TOOL), os.environ["PATH"]))
        open(self.path("log"), "w").close()
        done = subprocess.run(["bash", "-c", script], text=True,
                              stdout=subprocess.PIPE, check=False,
                              env=environment, cwd=self.directory,
                              timeout=waiting.LIMIT_S)
        printed = done.stdout.split("--- end\n")[:-1]
        self.assertEqual(len(printed), len(steps), done.stdout)
        for (command, expected), out in zip(steps, printed):
            if "& sleep" in command:
                with open(self.path("log")) as file:
                    out = file.read()
            # Standard error is not buffered, so its lines may come first.
            self.assertEqual(sorted(out.splitlines()),
                             sorted(expected.splitlines()), command)


class Commands(Served):
    # ---- get, set, create

    def test_data_are_bytes(self):
        self.assertEqual(self.bytes_of("create", "/a", "-", data=BYTES),
                         (0, b"/a\n", ""))
        self.assertEqual(self.bytes_of("get", "/a"), (0, BYTES, ""))
        with open(self.path("file"), "wb") as file:
            file.write(BYTES[::-1])
        self.do("set", "--file", self.path("file"), "/a")
        self.do("get", "--output", self.path("copy"), "/a")
        with open(self.path("copy"), "rb") as file:
            self.assertEqual(file.read(), BYTES[::-1])
        said = self.json("get", "-j", "/a")
        self.assertEqual(base64.b64decode(said["data_base64"]), BYTES[::-1])
        self.assertEqual((said["path"], said["stat"]["version"],
                          said["stat"]["bytes"], said["stat"]["mode"]),
                         ("/a", 1, 256, "persistent"))

    def test_base64_of_each_length(self):
        self.do("create", "/a")
        for length in range(7):
            data = b"\xff\x00\xfb\x10z~"[:length]
            self.assertEqual(self.bytes_of("set", "/a", "-", data=data)[0], 0)
            self.assertEqual(self.json("get", "-j", "/a")["data_base64"],
                             base64.b64encode(data).decode())

    def test_absent_data_are_not_no_bytes(self):
        self.do("create", "/absent")
        self.do("create", "/empty", "")
        self.do("create", "/pipe", "-")
        for path, expected in (("/absent", None), ("/empty", ""),
                               ("/pipe", "")):
            self.assertEqual(self.do("get", path), "")
            self.assertEqual(self.json("get", "-j", path)["data_base64"],
                             expected)

    def test_a_terminal_gets_what_it_can_show(self):
        self.bytes_of("create", "/a", "-", data=b"a\tb\n\xc3\xa4\x1b[2J\xff!")
        terminal = harness.Terminal([harness.TOOL, "zk", "get", "/a"],
                                    self.environment)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.drain(), "a\tb\r\n\u00e4?[2J?!\r\n")

    def test_stat_of_get_is_not_among_the_data(self):
        self.do("create", "/a", "x")
        status, out, err = self.zk("get", "-s", "/a")
        self.assertEqual((status, out), (0, "x"))
        self.assertEqual(err, self.do("stat", "/a"))

    def test_versions(self):
        self.do("create", "/a", "0")
        self.assertEqual(
            self.json("set", "-j", "-V", "0", "/a", "1")["stat"]["version"], 1)
        for arguments in (("set", "-V", "0", "/a", "2"),
                          ("rm", "--version", "0", "/a")):
            self.fails(1, "/a: another version; expected version 0", *arguments)
        self.do("rm", "-V", "1", "/a")

    def test_modes(self):
        self.do("create", "/a")
        self.assertRegex(self.do("create", "-s", "/a/n-"), r"^/a/n-\d{10}\n$")
        self.assertRegex(self.do("create", "-s", "/a/"), r"^/a/\d{10}\n$")
        self.assertEqual(self.do("create", "-C", "/c"), "/c\n")
        self.assertEqual(self.do("create", "-t", "1h", "/t"), "/t\n")
        self.assertRegex(self.do("create", "-st", "1h", "/t"), r"^/t\d{10}\n$")
        self.assertEqual(self.json("create", "-j", "/x")["path"], "/x")

    def test_parents(self):
        self.fails(1, "/b/c/d: there is no node above it; create that first",
                   "create", "/b/c/d")
        self.do("create", "-p", "/b/c/d", "x")
        self.do("create", "-p", "/b/e", "y")
        self.assertEqual(self.do("ls", "-R", "/b"),
                         "/b\n/b/c\n/b/c/d\n/b/e\n")
        self.environment["HOLDFAST_URL"] = self.url + "/chroot"
        self.do("create", "-p", "/x/y")
        self.assertEqual(self.do("ls", "-R", "/"), "/\n/x\n/x/y\n")

    def test_parents_that_may_not_be_created(self):
        self.do("create", "-p", "/a/b")
        self.do("acl", "set", "/a", "world:anyone:r")
        self.do("acl", "set", "/a/b", "world:anyone:c")
        self.do("create", "-p", "/a/b/c/d")
        self.fails(77, "/a/x: no permission", "create", "-p", "/a/x/y")

    def test_an_ephemeral_node_lives_as_long_as_its_command(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start_zk("create", "-e", "/e")
            waiting.read_line(process, "/e")
            self.assertEqual(self.json("stat", "-j", "/e")["stat"]["mode"],
                             "ephemeral")
            self.assertEqual(self.do("tree", "/"), "/\n  e (ephemeral)\n")
            process.send_signal(number)
            self.assertEqual(self.finish(process), (0, "", ""))
            self.fails(1, "/e: no such node", "stat", "/e")

    # ---- ls, stat, tree

    def test_lists_are_in_order(self):
        self.do("create", "/a")
        for name in ("c", "a", "B", "b"):
            self.do("create", "/a/" + name)
        self.assertEqual(self.do("ls", "/a"), "B\na\nb\nc\n")
        self.assertEqual(self.json("ls", "-j", "/a"),
                         [{"name": name} for name in "Babc"])
        self.assertEqual(self.do("ls", "/a/b"), "")
        self.assertEqual(self.json("ls", "-j", "/a/b"), [])
        self.assertEqual(self.json("ls", "-jR", "/a/b"), [{"path": "/a/b"}])

    def test_long_lists(self):
        self.do("create", "/a")
        self.do("create", "/a/b", "xyz")
        head, line = self.do("ls", "-l", "/a").splitlines()
        self.assertEqual(head.split(), ["VERSION", "BYTES", "CHILDREN", "MODE",
                                        "MODIFIED", "NAME"])
        self.assertRegex(line, r"^ +0 +3 +0 persistent "
                         r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ b$")
        self.assertEqual(self.json("ls", "-jl", "/a")[0]["stat"]["bytes"], 3)
        self.assertEqual(len(self.do("ls", "-lR", "/a").splitlines()), 3)

    def test_names_that_are_no_words(self):
        names = {"with space": '"with space"', 'q"uote': '"q\\"uote"',
                 "back\\slash": '"back\\\\slash"', "\u202e": '"\\xE2\\x80\\xAE"',
                 "\u00e4": "\u00e4"}
        self.do("create", "/a")
        for name in names:
            self.do("create", "/a/" + name)
        self.assertEqual(self.do("ls", "/a").splitlines(),
                         [names[name] for name in sorted(
                             names, key=lambda name: name.encode())])
        self.assertEqual({node["name"] for node in self.json("ls", "-j", "/a")},
                         set(names))
        # txn reads what the others print.
        lines = "".join("delete %s\n" % path for path in self.do(
            "ls", "-R", "/a").splitlines()[1:])
        self.do("txn", text=lines)
        self.assertEqual(self.do("ls", "/a"), "")

    def test_stat(self):
        self.do("create", "/a", "x")
        lines = self.do("stat", "/a").splitlines()
        self.assertEqual([line.split(" = ")[0] for line in lines], [
            "cZxid", "ctime", "mZxid", "mtime", "pZxid", "cversion",
            "dataVersion", "aclVersion", "ephemeralOwner", "dataLength",
            "numChildren", "mode"])
        with self.server.client() as client:
            self.assertIn("cZxid = 0x%x" % client.exists(self.top + "/a").czxid, lines)

    def test_tree(self):
        self.do("create", "-p", "/a/b/c")
        self.do("create", "/a/d")
        self.assertEqual(self.do("tree", "/a"), "/a\n  b\n    c\n  d\n")
        self.assertEqual(self.do("tree", "--depth", "1", "/a"),
                         "/a\n  b (1 child)\n  d\n")
        said = self.json("tree", "-j", "-d1", "/a")
        self.assertEqual([node["name"] for node in said["children"]],
                         ["b", "d"])
        self.assertEqual(said["children"][0]["children_not_shown"], 1)

    def test_what_may_not_be_read(self):
        self.do("create", "-p", "/a/secret/below")
        self.do("create", "/a/z")
        self.do("acl", "set", "/a/secret", "digest:nobody:x:cdrwa",
                "world:anyone:cd")
        for command, out in (("tree", "/a\n  secret\n  z\n"),
                             ("ls -R", "/a\n/a/secret\n/a/z\n")):
            status, said, err = self.zk(*command.split(), "/a")
            self.assertEqual((status, said), (77, out))
            self.assertEqual(err.count("\n"), 1)
            self.assertIn("/a/secret: no permission", err)
        self.assertIn("/a/secret: no permission",
                      self.zk("export", "/a")[2])
        self.assertEqual(self.zk("export", "/a")[0], 77)
        status, _, err = self.zk("rm", "-r", "/a")
        self.assertEqual(status, 77)
        self.assertIn("/a/secret: no permission", err)

    # ---- rm

    def test_removal(self):
        self.do("create", "-p", "/a/b/c")
        self.fails(1, "/a: the node has children", "rm", "/a")
        status, out, err = self.zk("rm", "-r", "--dry-run", "/a")
        self.assertEqual((status, out), (0, "/a/b/c\n/a/b\n/a\n"))
        self.assertEqual(err, "holdfast: 3 nodes would be deleted; nothing "
                         "was\n")
        self.assertEqual(self.json("rm", "-rnj", "/a"),
                         {"deleted": 3, "dry_run": True})
        self.assertEqual(self.do("rm", "-r", "/a/b/c"), "deleted 1 node\n")
        self.assertEqual(self.json("rm", "-rj", "/a"),
                         {"deleted": 2, "dry_run": False})
        self.assertIn("/a: no such node", self.zk("rm", "-r", "/a")[2])
        self.assertEqual(self.zk("rm", "-r", "/a")[0], 1)
        self.do("create", "/a")
        self.assertEqual(self.do("rm", "/a"), "")
        self.do("create", "/a")
        self.assertEqual(self.json("rm", "-j", "/a")["deleted"], 1)

    def test_removal_of_everything(self):
        self.do("create", "-p", "/a/b")
        self.fails(64, "rm -r / deletes all nodes there are; expected another "
                   "path, or --force if you mean it", "rm", "-r", "/")
        # Below a chroot a node of that name is like any other.
        self.do("create", "-p", "/zookeeper/a")
        self.assertEqual(self.do("rm", "-rF", "/"), "deleted 4 nodes\n")
        self.assertEqual(self.do("ls", "/"), "")

    def test_large_trees(self):
        """More nodes than any window, in one family and in a chain."""
        chain = "/a" + "/n" * 300
        lines = ["create /w"] + ["create /w/%d x" % n for n in range(1500)]
        self.do("txn", text="\n".join(lines))
        self.do("create", "-p", chain)
        self.assertEqual(len(self.do("ls", "-R", "/w").splitlines()), 1501)
        self.assertEqual(self.do("ls", "-R", "/a").splitlines()[-1], chain)
        with open(self.path("export"), "w") as file:
            file.write(self.do("export", "/w"))
        said = self.json("import", "-j", "/copy", self.path("export"))
        self.assertEqual((said["created"], said["transactions"]), (1501, 2))
        for top, count in (("/w", 1501), ("/copy", 1501), ("/a", 301)):
            self.assertEqual(self.do("rm", "-r", top),
                             "deleted %d nodes\n" % count)

    # ---- acl

    def test_access_lists(self):
        self.do("create", "-p", "/a/b")
        self.assertEqual(self.do("acl", "get", "/a"), "world:anyone:cdrwa\n")
        entries = ["world:anyone:cdrwa", "x509:CN=a,O=b:r", "ip:127.0.0.1:ra"]
        status, out, err = self.zk("acl", "set", "/a", *entries[::2])
        self.assertEqual((status, out, err), (0, "", ""))
        self.assertEqual(self.do("acl", "get", "/a").splitlines(),
                         [entries[0], "ip:127.0.0.1:ra"])
        said = self.json("acl", "-j", "get", "/a")
        self.assertEqual(said["acl"], [entries[0], "ip:127.0.0.1:ra"])
        self.assertEqual(said["stat"]["aversion"], 1)
        self.fails(1, "/a: another version; expected version 0", "acl", "set",
                   "-V", "0", "/a", "world:anyone:r")
        self.do("acl", "set", "-V", "1", "/a", "world:anyone:cdrwa")
        self.assertEqual(self.json("acl", "-rj", "set", "/a",
                                   "world:anyone:cdra"), {"set": 2})
        self.assertEqual(self.do("acl", "get", "/a/b"), "world:anyone:cdra\n")
        # The servers refuse a scheme that they do not know.
        self.fails(64, "/a: ", "acl", "set", "/a", "none:of:r")

    # ---- txn

    def test_a_transaction(self):
        self.do("create", "/a", "0")
        said = self.do("txn", text="""
            # all or none
            check /a 0
            set /a "b\\x00\\"\\\\" 0
            create /a/n- x sequential
            create "/a/with space"
            create /a/c "" container
            """)
        self.assertRegex(said, '^/a/n-\\d{10}\n"/a/with space"\n/a/c\n$')
        self.assertEqual(self.bytes_of("get", "/a")[1], b'b\0"\\')
        said = self.json("txn", "-j", text="delete /a/c\ncheck /a\n"
                         "create /b x\nset /b y 0\n")
        self.assertEqual([(one["line"], one["operation"], one["path"])
                          for one in said],
                         [(1, "delete", "/a/c"), (2, "check", "/a"),
                          (3, "create", "/b"), (4, "set", "/b")])

    def test_a_transaction_that_fails_names_the_line(self):
        self.do("create", "/a", "0")
        for text, part in (
                ("set /a 1\n\ncheck /a 0\n", "line 3: /a: another version; "
                 "expected version 0; nothing was carried out"),
                ("set /a 1\ndelete /none\n", "line 2: /none: no such node"),
                ("set /a 1\ncreate /a\n", "line 2: /a: the node is there "
                 "already"),
                ("create /x/y\n", "line 1: /x/y: there is no node above it")):
            self.fails(1, part, "txn", text=text)
        self.assertEqual(self.do("get", "/a"), "0")

    def test_lines_that_make_no_sense(self):
        for text, part in (
                ("", "there is no operation in it"),
                ("\n# x\n", "there is no operation in it"),
                ("get /a", 'line 1: "get" is no operation; expected check, '
                 "create, set or delete"),
                ("check /a\nset /a", "line 2: 2 words; expected set PATH DATA "
                 "[VERSION]"),
                ("check", "line 1: 1 word; expected check PATH [VERSION]"),
                ("delete /a 1 2", "line 1: 4 words; expected delete"),
                ("delete /a x", 'line 1: the version "x"; expected a number'),
                ("delete /a -1", 'line 1: the version "-1"; expected a'),
                ("create /a x ttl", 'line 1: the mode "ttl"; expected '
                 "sequential or container"),
                ("delete a", 'line 1: the path "a" has no \'/\' at its start'),
                ('delete "/a\\x00b"', "line 1: the path has a NUL"),
                ('delete "/a', "line 1: a quote is not closed"),
                ('delete "/a"b', "line 1: text behind a closing quote"),
                ('set /a "\\n"', "line 1: a backslash in quotes"),
                ("set /a 1 2 3 4 5 6 7 8", "line 1: more than 8 words"),
                ("set /a x\0y", "line 1 has a NUL")):
            with self.subTest(text=text):
                self.fails(65, part, "txn", text=text)
        self.fails(66, "cannot be read: No such file", "txn",
                   self.path("none"))
        self.fails(65, "the transaction is larger than ZooKeeper takes", "txn",
                   text="set /a %s\n" % ("x" * 900000) * 5)
        self.fails(64, "the operation has ", "txn",
                   text="set /a %s\n" % ("x" * 900000) * 2)

    # ---- export and import

    def lines_of(self, path):
        return [json.loads(line)
                for line in self.do("export", path).splitlines()]

    def write(self, *lines, name="export"):
        with open(self.path(name), "w") as file:
            file.writelines((line if isinstance(line, str)
                             else json.dumps(line)) + "\n" for line in lines)
        return self.path(name)

    FIRST = {"holdfast_zk_export": 1, "of": "/a"}

    def node(self, path, **fields):
        return {"path": path, "mode": "persistent",
                "acl": ["world:anyone:cdrwa"], "data_base64": "eA==", **fields}

    def test_an_export_is_imported_as_it_was(self):
        self.do("create", "-p", "/a/b \u00e4\"", "")
        self.bytes_of("set", "/a", "-", data=BYTES)
        self.do("create", "/a/absent")
        self.do("acl", "set", "/a/absent", "world:anyone:cdra",
                "ip:127.0.0.1:w")
        lines = self.lines_of("/a")
        self.assertEqual(lines[0], self.FIRST)
        self.assertEqual([line["path"] for line in lines[1:-1]],
                         ["/", "/absent", "/b \u00e4\""])
        self.assertEqual(lines[2]["data_base64"], None)
        self.assertEqual(lines[2]["acl"], ["world:anyone:cdra",
                                           "ip:127.0.0.1:w"])
        self.assertEqual(lines[-1], {"nodes": 3})
        self.do("export", "-o", self.path("export"), "/a")
        self.assertEqual(
            self.do("import", "/x", self.path("export")),
            "created: 3, replaced: 0, ephemeral nodes passed over: 0, "
            "transactions: 1\n")
        self.assertEqual(self.lines_of("/x")[1:], lines[1:])
        self.fails(1, 'there is no node "/y" to import below; expected it, or '
                   "--parents", "import", "-n", "/y/z", self.path("export"))
        self.do("import", "-p", "/y/z", self.path("export"))
        self.assertEqual(self.lines_of("/y/z")[1:], lines[1:])
        with open(self.path("export")) as file:
            said = self.json("import", "-jO", "/y/z", text=file.read())
        self.assertEqual((said["created"], said["replaced"]), (0, 3))

    def test_ephemeral_nodes_are_passed_over(self):
        process = self.start_zk("create", "-e", "/e", "x")
        waiting.read_line(process, "/e")
        lines = self.lines_of("/")
        self.assertEqual(lines[2]["mode"], "ephemeral")
        process.terminate()
        self.finish(process)
        said = self.json("import", "-j", "/", self.write(*lines))
        self.assertEqual((said["created"], said["ephemeral_skipped"]), (0, 1))

    def test_what_is_there(self):
        file = self.write(self.FIRST, self.node("/"), self.node("/b"),
                          self.node("/c"), {"nodes": 3})
        self.do("create", "/a", "old")
        self.do("create", "/a/b", "old")
        self.fails(1, 'line 2: "/a" is there already; expected no such node, '
                   "or --overwrite", "import", "-n", "/a", file)
        status, out, err = self.zk("import", "/a", file)
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err.splitlines()[1:], [
            "holdfast: 0 nodes were created and 0 replaced before that",
            "holdfast: the nodes from line 2 on were not imported"])
        self.do("acl", "set", "/a/b", "world:anyone:drwa")
        self.assertEqual(self.json("import", "-nOj", "/a", file), {
            "created": 1, "replaced": 2, "ephemeral_skipped": 0,
            "transactions": 1, "dry_run": True})
        self.assertEqual(self.do("get", "/a/b"), "old")
        self.assertEqual(self.do("acl", "get", "/a/b"), "world:anyone:drwa\n")
        self.do("import", "-O", "/a", file)
        self.assertEqual(self.do("get", "/a/b"), "x")

    def test_a_failure_in_the_middle_says_how_far_it_came(self):
        nodes = [self.node("/n%04d" % n) for n in range(1500)]
        nodes[1200] = self.node("/none/x")
        file = self.write(self.FIRST, self.node("/"), *nodes, {"nodes": 1501})
        status, out, err = self.zk("import", "/a", file)
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err.splitlines(), [
            "holdfast: line 1203: /a/none/x: there is no node above it; create "
            "that first",
            "holdfast: 1000 nodes were created and 0 replaced before that",
            "holdfast: the nodes from line 1002 on were not imported"])
        self.assertEqual(len(self.do("ls", "/a").splitlines()), 999)

    def test_transactions_are_split_by_size(self):
        data = base64.b64encode(b"x" * 200000).decode()
        file = self.write(self.FIRST, self.node("/"), *[
            self.node("/%d" % n, data_base64=data) for n in range(5)],
            {"nodes": 6})
        said = self.json("import", "-j", "/a", file)
        self.assertEqual((said["created"], said["transactions"]), (6, 3))
        large = base64.b64encode(b"x" * 1000000).decode()
        file = self.write(self.FIRST, self.node("/", data_base64=large),
                          {"nodes": 1})
        self.do("import", "/b", file)
        self.assertEqual(len(self.do("get", "/b")), 1000000)
        large = base64.b64encode(b"x" * 1100000).decode()
        file = self.write(self.FIRST, self.node("/", data_base64=large),
                          {"nodes": 1})
        status, _, err = self.zk("import", "/c", file)
        self.assertEqual(status, 65)
        self.assertRegex(err, "line 2: the operation has 1100\\d+ bytes as it "
                         "is sent; expected at most 1047552")

    def test_files_that_make_no_sense(self):
        node, end = self.node("/"), {"nodes": 1}
        del_acl = {k: v for k, v in node.items() if k != "acl"}
        del_data = {k: v for k, v in node.items() if k != "data_base64"}
        for lines, part in (
                ([], "the file is empty"),
                (["hello"], "line 1: column 5: '[' or '{' expected near "
                 "'hello'; expected a line as 'holdfast zk export' writes it"),
                ([{"holdfast_zk_export": 2}], "line 1: holdfast_zk_export is "
                 "not 1; expected the output of"),
                ([self.FIRST], "the file ends after line 1, without the line "
                 "that says how many nodes there are"),
                ([self.FIRST, node], "the file ends after line 2"),
                ([self.FIRST, node, {"nodes": 2}], "line 3: the file has 1 "
                 "nodes; expected the 2 that were exported"),
                ([self.FIRST, node, end, node], "line 4: a line after the last "
                 "one"),
                ([self.FIRST, "{}"], "line 2: there is no path"),
                ([self.FIRST, "[]"], "line 2: a list; expected an object"),
                ([self.FIRST, self.node("b")], "line 2: the path \"b\" has no "
                 "'/' at its start"),
                ([self.FIRST, self.node(None)], "line 2: there is no path"),
                ([self.FIRST, self.node("/", mode="x")], 'line 2: the mode '
                 '"x"; expected persistent or ephemeral'),
                ([self.FIRST, del_acl], "line 2: there is no access list"),
                ([self.FIRST, self.node("/", acl=["x"])], 'line 2: "x" is no '
                 "entry of an access list"),
                ([self.FIRST, del_data], "line 2: there are no data"),
                ([self.FIRST, self.node("/", data_base64="x")], "line 2: "
                 "data_base64 is no base64"),
                ([self.FIRST, self.node("/", data_base64="eB==")], "line 2: "
                 "data_base64 is no base64"),
                ([self.FIRST, self.node("/", extra=1)], 'line 2: the key '
                 '"extra", which has no meaning here'),
                ([self.FIRST, '{"path": "/", "path": "/"}'], "line 2: column "
                 "20: duplicate object key near '\"path\"'"),
                ([self.FIRST, '{"path": "/}'], "premature end of input near "
                 "'\"/}'"),
                ([self.FIRST, '{"path": "\\q"}'], "invalid escape near"),
                ([self.FIRST, '{"path": "\\ud800"}'], "invalid Unicode "
                 "'\\uD800'"),
                ([self.FIRST, self.node("/\U0001f600")], "line 2: the path "
                 "\"/\U0001f600\" has a character above U+FFFF"),
                ([self.FIRST, '{"path": "/" "mode"}'], "'}' expected near "
                 "'\"mode\"'"),
                ([self.FIRST, '{"path" "/"}'], "':' expected near '\"/\"'"),
                ([self.FIRST, '{"acl": "x"}'], 'the value of "acl"; expected a '
                 "list of strings"),
                ([self.FIRST, '{"acl": [1]}'], "expected a list of strings"),
                ([self.FIRST, '{"acl": ["x" "y"]}'], "']' expected near "
                 "'\"y\"'"),
                ([self.FIRST, '{"nodes": "1"}'], 'the value of "nodes"; expected '
                 "a number"),
                ([self.FIRST, '{"nodes": -1}'], "expected a number"),
                ([self.FIRST, '{"nodes": 1} x'], "end of file expected near "
                 "'x'")):
            with self.subTest(lines=lines):
                file = self.write(*lines)
                self.fails(65, part, "import", "-n", "/a", file)
                status, _, err = self.zk("import", "/a", file)
                self.assertEqual(status, 65)
                self.assertIn(part, err)

    def test_a_file_that_was_cut_off_creates_nothing(self):
        """Of a pipe, too, and where the last line of thousands is wrong."""
        nodes = [self.node("/n%04d" % n) for n in range(2500)]
        for last, part in (
                ([], "the file ends after line 2502, without the line"),
                ([{"nodes": 2000}], "the file has 2501 nodes; expected the "
                 "2000"),
                ([self.node("/x", mode="y"), {"nodes": 2502}], 'the mode "y"')):
            file = self.write(self.FIRST, self.node("/"), *nodes, *last)
            with open(file) as opened:
                text = opened.read()
            for words in ({"text": text}, {}):
                with self.subTest(part=part, piped=bool(words)):
                    status, _, err = self.zk(
                        "import", "/cut", *([] if words else [file]), **words)
                    self.assertEqual(status, 65)
                    self.assertIn(part, err)
                    self.assertEqual(self.zk("stat", "/cut")[0], 1)
        self.do("import", "/cut", self.write(
            self.FIRST, self.node("/"), *nodes, {"nodes": 2501}))
        self.assertEqual(len(self.do("ls", "/cut").splitlines()), 2500)

    def test_escapes_of_json(self):
        name = "\u00e4\u20ac\"\\b"
        self.do("import", "/a", self.write(
            self.FIRST, self.node("/"), json.dumps(self.node("/" + name)),
            {"nodes": 2}))
        self.assertEqual(self.json("ls", "-j", "/a"), [{"name": name}])

    # ---- watch

    def test_events(self):
        node = self.watch("-N", "3", "/w")
        children = self.watch("--children", "-j", "-N", "4", "/w")
        recursive = self.watch("-r", "/w")
        self.do("create", "/w")
        self.do("create", "/w/x y")
        self.do("set", "/w", "1")
        self.do("rm", "-r", "/w")
        self.assertEqual(self.finish(node),
                         (0, "created /w\nchanged /w\ndeleted /w\n", ""))
        status, out, _ = self.finish(children)
        self.assertEqual([json.loads(line)["event"]
                          for line in out.splitlines()],
                         ["created", "children", "changed", "children"])
        for line in ("created /w", 'created "/w/x y"', "changed /w",
                     'deleted "/w/x y"', "deleted /w"):
            waiting.read_line(recursive, line)
        recursive.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(recursive), (0, "", ""))

    def test_a_reader_that_goes_ends_a_watch(self):
        process = self.watch("/w")
        process.stdout.close()
        self.do("create", "/w")
        process.wait(waiting.LIMIT_S)
        self.assertEqual(process.returncode, -signal.SIGPIPE)
        process.stdout = None

    # ---- all of them

    def test_help(self):
        status, out, err = self.zk("--help")
        self.assertEqual((status, err), (0, ""))
        commands = re.findall(r"^  (\w+) +\w", out, re.M)
        self.assertEqual(len(commands), 12)
        for command in commands:
            self.assertIn("       holdfast zk %s [OPTION...] " % command, out)
            for option in ("-h", "--help"):
                said = self.do(command, option)
                self.assertTrue(said.startswith("usage: holdfast zk %s [OPTION"
                                                % command), said)
                self.assertIn("See holdfast-zk(1)", said.replace("\n", " "))
                self.assertLessEqual(max(map(len, said.splitlines())), 80)
                for letter, name in re.findall(r"^  (-\w), (--[a-z-]+)", said,
                                               re.M):
                    self.assertNotEqual(letter, name)

    def test_wrong_command_lines(self):
        """No connection is made: there is no server."""
        self.environment["HOLDFAST_URL"] = "zk://127.0.0.1:1"
        rows = [
            (["walk"], "zk 'walk': no such command"),
            (["-j"], "zk -j: options stand behind the command"),
            (["get"], "PATH is missing; expected holdfast zk get [OPTION...] "
             "PATH"),
            (["get", "/a", "/b"], "'/b': one PATH at a time; expected holdfast "
             "zk get [OPTION...] PATH"),
            (["get", "a"], "no '/' at its start"),
            (["stat", "/a/"], "a '/' at its end"),
            (["ls", "/a//b"], "an empty component"),
            (["tree", "/a/../b"], 'a component "." or ".."'),
            (["rm", "/a\x01"], "the path \"/a\\x01\" has"),
            (["get", b"/\xff"], "bytes that are not UTF-8"),
            (["watch", ""], "no '/' at its start"),
            (["set", "/a"], "DATA is missing; expected DATA, - for standard "
             "input, or --file FILE"),
            (["set", "-f", "x", "/a", "y"], "two sources of data"),
            (["create", "-f", "x", "/a", "y"], "two sources of data"),
            (["set", "-V", "-1", "/a", "x"], "-V '-1': expected a number from "
             "0 to 2147483647"),
            (["rm", "--version", "2147483648", "/a"], "--version '2147483648'"),
            (["create", "-eC", "/a"], "contradict each other"),
            (["create", "-sC", "/a"], "--container and --sequential"),
            (["create", "-t", "0s", "/a"], "--ttl: expected from 1ms"),
            (["create", "-t", "x", "/a"], "not a duration"),
            (["rm", "-n", "/a"], "--dry-run is for a tree; expected it with "
             "--recursive"),
            (["rm", "-F", "/a"], "--force is for a tree"),
            (["rm", "-r", "-V", "1", "/a"], "--version is of one node"),
            (["rm", "-r", "/"], "deletes all nodes"),
            (["tree", "-d", "0", "/a"], "expected a number from 1"),
            (["watch", "-rk", "/a"], "--children and --recursive"),
            (["watch", "-N", "0", "/a"], "expected a number from 1"),
            (["acl"], "get or set is missing"),
            (["acl", "put", "/a"], "'put': expected get or set"),
            (["acl", "get", "/a", "x"], "'x': one PATH at a time"),
            (["acl", "set", "/a"], "ENTRY is missing"),
            (["acl", "set", "/a", "world:anyone"], "no entry of an access "
             "list; expected SCHEME:ID:PERMISSIONS"),
            (["acl", "set", "/a", "world:anyone:rx"], "has the permission 'x'; "
             "expected letters of cdrwa"),
            (["acl", "-r", "get", "/a"], "--recursive is for acl set"),
            (["acl", "-V", "1", "get", "/a"], "--version is for acl set"),
            (["acl", "-rV", "1", "set", "/a", "world:anyone:r"],
             "--version is of one node"),
            (["import"], "PATH is missing"),
            (["export", "--json", "/a"], "--json: no such option"),
            (["get", "-c", "file:/tmp", "/a"], 'the scheme of the URL is '
             '"file"; expected "zk", or "zks" for TLS'),
            (["get", "-c", "zk://h?proof=lazy", "/a"], "proof"),
        ]
        for arguments, part in rows:
            with self.subTest(arguments=arguments):
                self.fails(64, part, *arguments)
        self.assertEqual(self.zk()[0], 64)
        for arguments in (["export", "/a"], ["txn"]):
            self.fails(64, 'the scheme of the URL is "file"', *arguments, "-c",
                       "file:/tmp", text="create /a x\n")
        del self.environment["HOLDFAST_URL"]
        self.fails(64, "no servers are named; expected -c zk://HOST:PORT or "
                   "HOLDFAST_URL in the environment", "ls", "/")
        self.environment["HOLDFAST_URL"] = ""
        self.fails(64, "HOLDFAST_URL is empty", "ls", "/")

    def test_files_that_cannot_be_used(self):
        self.do("create", "/a", "x")
        nowhere = self.path("no/where")
        self.fails(66, "cannot be read: No such file", "set", "-f", nowhere,
                   "/a")
        self.fails(66, "cannot be read: No such file", "import", "/b", nowhere)
        self.fails(66, "the data cannot be read: Is a directory", "set", "-f",
                   self.directory, "/a")
        self.fails(73, "cannot be written: No such file", "get", "-o", nowhere,
                   "/a")
        self.fails(73, "cannot be written: No such file", "export", "-o",
                   nowhere, "/a")
        # A file that is there stays if there is nothing to write to it.
        self.do("get", "-o", self.path("kept"), "/a")
        for command in ("export", "get"):
            self.fails(1, "/none: no such node", command, "-o",
                       self.path("kept"), "/none")
        with open(self.path("kept")) as file:
            self.assertEqual(file.read(), "x")
        for arguments in (["get", "/a"], ["ls", "/"], ["export", "/"],
                          ["stat", "/a"], ["tree", "-j", "/"]):
            with open("/dev/full", "w") as full:
                process = self.start_zk(*arguments, stdout=full)
                self.assertEqual(process.wait(waiting.LIMIT_S), 73)
                self.assertIn("standard output cannot be written to",
                              process.stderr.read())
        for arguments in (["get", "-o", "/dev/full", "/a"],
                          ["export", "-o", "/dev/full", "/a"]):
            self.fails(73, "/dev/full cannot be written: No space left",
                       *arguments)
        self.fails(65, "the data have more than 1047552 bytes", "set", "/a",
                   "-", text="x" * 1100000)

    def test_no_server(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for port in (1, silent.getsockname()[1]):
                for arguments in (["ls", "/"], ["tree", "/"], ["watch", "/a"],
                                  ["set", "/a", "x"], ["get", "/a"],
                                  ["create", "/a"], ["rm", "/a"],
                                  ["stat", "/a"], ["acl", "get", "/a"],
                                  ["export", "/"], ["txn"]):
                    self.fails(69, "no server was reached in time", *arguments,
                               "-c", "zk://127.0.0.1:%d" % port, "-w", "300ms",
                               text="create /a x\n")

    def test_a_password_in_the_command_line(self):
        url = self.url.replace("zk://", "zk://user:geheim@")
        status, out, err = self.zk("ls", "-c", url, "/")
        self.assertEqual((status, out), (0, ""))
        self.assertIn("every user of this machine can read the password", err)
        self.environment["HOLDFAST_URL"] = url
        self.do("create", "/a")
        self.assertRegex(self.do("acl", "get", "/a"),
                         r"^digest:user:[^:]+:cdrwa\n$")
        self.environment["HOLDFAST_URL"] = self.url
        self.fails(77, "/a: no permission", "get", "/a")

    def test_a_session_that_is_lost(self):
        """The servers end the session of the ephemeral node."""
        process = self.start_zk("create", "-e", "/e", "-c",
                                self.url + "?timeout=1s")
        waiting.read_line(process, "/e")
        process.send_signal(signal.SIGSTOP)
        waiting.eventually("the end of the session", lambda: self.zk(
            "stat", "/e")[0] == 1)
        process.send_signal(signal.SIGCONT)
        status, _, err = self.finish(process)
        self.assertEqual(status, 76)
        self.assertIn("the session is over, and with it the node", err)


class Root(Served):
    """Without a chroot: / cannot be created, and /zookeeper is the servers'."""

    def setUp(self):
        super().setUp()
        self.environment["HOLDFAST_URL"] = self.server_url
        self.do("rm", "-rF", "/")

    def test_the_servers_own_nodes_stay(self):
        self.assertEqual(self.do("ls", "-R", "/"), "/\n/zookeeper\n"
                         "/zookeeper/config\n/zookeeper/quota\n")
        self.assertEqual(self.do("rm", "-rF", "/"), "deleted 0 nodes\n")
        status, _, err = self.zk("rm", "-r", "/zookeeper")
        self.assertEqual((status, err), (
            64, "holdfast: /zookeeper/config: bad arguments; the servers need "
            "that node\n"))

    def test_import_to_the_root(self):
        self.do("create", "/a", "x")
        exported = self.do("export", "/")
        self.assertEqual([json.loads(line).get("path")
                          for line in exported.splitlines()],
                         [None, "/", "/a", None])
        self.do("rm", "/a")
        self.do("import", "/", text=exported)
        self.assertEqual(self.do("get", "/a"), "x")
        self.environment["HOLDFAST_URL"] += "/chroot"
        self.assertEqual(self.json("import", "-j", "/", text=exported)
                         ["created"], 2)


class Outages(Served):
    """Connections that end while something is under way."""

    def setUp(self):
        super().setUp()
        self.proxy = Proxy(self.server.port)
        self.addCleanup(self.proxy.close)
        self.proxied = "zk://127.0.0.1:%d%s" % (self.proxy.port, self.top)

    def there(self, path):
        with self.server.client() as client:
            return client.exists(self.top + path) is not None

    def test_an_import_that_may_have_been_carried_out(self):
        """The answer to the second transaction is lost."""
        def hand_on(direction, other, more_than=0):
            """What is held in that direction passes, and what follows it in
            the other one is held."""
            self.proxy.hold(other)
            self.proxy.thaw(direction)
            waiting.eventually("what follows", lambda:
                               self.proxy.waiting(other) > more_than)

        self.do("create", "/a")
        with open(self.path("import"), "w") as file:
            file.write('{"holdfast_zk_export": 1, "of": "/"}\n')
            for n in range(2000):
                file.write('{"path": "/n%04d", "mode": "persistent", "acl": '
                           '["world:anyone:cdrwa"], "data_base64": null}\n' % n)
            file.write('{"nodes": 2000}\n')
        self.proxy.hold(DOWN)
        process = self.start_zk("import", "-c", self.proxied, "/a",
                                self.path("import"))
        waiting.eventually("a session",
                           lambda: self.proxy.waiting(DOWN) > 0)
        transaction = 10000  # bytes, of the 1000 creates many more
        hand_on(DOWN, UP)  # is "/" there?
        hand_on(UP, DOWN)
        hand_on(DOWN, UP, transaction)
        hand_on(UP, DOWN)
        hand_on(DOWN, UP, transaction)
        self.assertTrue(self.there("/a/n0999"))
        self.assertFalse(self.there("/a/n1999"))
        hand_on(UP, DOWN)
        waiting.eventually("the nodes", lambda: self.there("/a/n1999"))
        self.proxy.cut()
        self.proxy.thaw(DOWN)
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (69, ""))
        first, *others = err.splitlines()
        self.assertRegex(first, "^holdfast: line 1002: the connection ended "
                         "after it was sent; it may have been carried out")
        self.assertEqual(others, [
            "holdfast: 1000 nodes were created and 0 replaced before that",
            "holdfast: the next 1000 nodes, from line 1002 on, may have been, "
            "too; look before you import them again"])

    def test_deletes_that_may_have_been_carried_out(self):
        """Their answers are lost in the middle of a tree."""
        lines = ["create /w"] + ["create /w/%04d" % n for n in range(3000)]
        self.do("txn", text="\n".join(lines))
        # So that the cut comes while it runs.
        self.proxy.delay(5)
        with self.server.client() as client:
            process = self.start_zk("rm", "-c", self.proxied, "-r", "/w")
            waiting.eventually("the first deletes", lambda: client.exists(
                self.top + "/w/0100") is None)
            self.proxy.hold(DOWN)
        self.proxy.cut()
        self.proxy.thaw(DOWN)
        status, out, err = self.finish(process)
        self.assertEqual((status, out), (69, ""))
        self.assertRegex(err, "^holdfast: /w/.*; it may have been carried out"
                         ".*\nholdfast: [0-9]+ nodes were deleted before that, "
                         "and [0-9]+ may have been; run it again for the rest"
                         "\n$")
        self.do("rm", "-r", "/w")

    def test_a_watch_asks_to_read_again(self):
        process = self.watch("-c", self.proxied, "/w")
        self.proxy.cut()
        waiting.read_line(process, "resync /w")
        self.do("create", "/w")
        waiting.read_line(process, "created /w")
        process.terminate()
        self.assertEqual(self.finish(process)[:2], (0, ""))

    def test_a_walk_goes_on_after_an_outage(self):
        """Reads are repeated on the next connection."""
        lines = ["create /w"] + ["create /w/%d x" % n for n in range(999)]
        self.do("txn", text="\n".join(lines))
        # So that the cuts come while it runs.
        self.proxy.delay(5)
        process = self.start_zk("export", "-c", self.proxied, "/w")
        for _ in range(2):
            before = self.proxy.accepted
            waiting.eventually("a connection", self.proxy.links)
            self.proxy.cut()
            waiting.eventually("the next one", lambda: process.poll() is not None
                               or self.proxy.accepted > before)
        status, out, err = self.finish(process)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(out.splitlines()), 1002)


if __name__ == "__main__":
    harness.main()
