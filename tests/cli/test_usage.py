# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines: status 64, and a text that says what to write."""

import os
import re
import shutil
import subprocess
import sys

import harness
from harness import waiting

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, os.pardir, "packaging"))
import command_tables  # noqa: E402


class Usage(harness.Case):
    def refused(self, *arguments):
        """The error text of a run that must be refused before it runs."""
        mark = self.path("ran")
        arguments = [mark if a == "MARK" else a for a in arguments]
        status, out, err = self.run_tool(*arguments)
        self.assertEqual(status, 64, err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("holdfast: "), err)
        self.assertFalse(os.path.exists(mark), "the command was run")
        self.assertEqual(self.tickets(), 0)
        return err

    def test_missing_dashes_print_the_corrected_line(self):
        self.assertIn("write: holdfast run -w 5s job -- touch 'a b'",
                      self.refused("-w", "5s", "job", "touch", "a b"))

    def test_corrected_line_is_quoted_for_the_shell(self):
        err = self.refused("job", "echo", "it's", "$HOME", "")
        line = err.split("write: ")[1].replace("holdfast run job --", "printf "
                                               "'[%s]'")
        out = subprocess.run(["sh", "-c", line], capture_output=True,
                             text=True).stdout
        self.assertEqual(out, "[echo][it's][$HOME][]")

    def test_output_that_cannot_be_written_is_said(self):
        holder = self.holder("-c", "file:" + self.locks)
        with open(self.path("history"), "w", encoding="ascii") as file:
            file.write("")
        url = ["-c", "file:" + self.locks]
        for words in (["show", *url, "lock"], ["show", *url, "none"],
                      ["show", *url, "--json", "lock"], ["ls", *url],
                      ["ls", *url, "--json"], ["ls", *url, "none"],
                      ["metrics", *url, "lock"], ["metrics", *url],
                      ["explain", *url, "lock"],
                      ["explain", *url, "--json", "lock"], ["doctor", *url],
                      ["doctor", *url, "--json"], ["--version"], ["--help"],
                      ["show", "--help"], ["zk", "--help"], ["sql"],
                      ["zk", "get", "--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run(
                    [harness.TOOL, *words], stdout=full, text=True,
                    stderr=subprocess.PIPE, env=self.environment,
                    stdin=subprocess.DEVNULL, timeout=waiting.LIMIT_S)
            self.assertEqual(done.returncode, 73, (words, done.stderr))
            self.assertIn("standard output cannot be written to", done.stderr,
                          words)
        holder.kill()

    def test_no_command_prints_the_password_of_a_mistyped_url(self):
        """Wherever it is given: as the URL, as a name, as a value, as a file."""
        urls = ["postgres:/u:SECRET@h", "postgres:u:SECRET@h/db",
                "redis:/:SECRET@h", "zk:/u:SECRET@h", "zk:///u:SECRET@h",
                "quorum:redis:/:SECRET@a,redis://b,redis://c",
                "redis:/" + 300 * "x" + ":SECRET" + 300 * "x" + "@h",
                "zk:/db?password=SECRET", "other:/u:SECRET@h"]
        lines = ["run -c URL n -- true", "run URL -- true", "run n --bogus=URL",
                 "run -w URL n -- true", "run n URL", "elect -c URL n -- true",
                 "elect URL -- true", "ls -c URL", "ls URL", "show URL",
                 "show -c URL n", "show --json URL", "leading -c URL n", "leading URL",
                 "explain URL",
                 "evict URL", "revoke URL", "doctor -c URL", "doctor URL",
                 "metrics -c URL", "metrics URL", "metrics --dir /none/URL",
                 "metrics -f URL", "zk ls -c URL /", "zk ls URL", "verify URL",
                 "torture -c URL", "torture URL", "sql URL", "version URL",
                 "URL"]
        for url in urls:
            for line in lines:
                words = [word.replace("URL", url) for word in line.split()]
                done = subprocess.run([harness.TOOL, *words], text=True,
                                      capture_output=True, env=self.environment,
                                      stdin=subprocess.DEVNULL,
                                      timeout=waiting.LIMIT_S)
                self.assertNotEqual(done.returncode, 0, words)
                self.assertNotIn("SECRET", done.stdout + done.stderr, words)

    def test_corrected_line_keeps_a_password_to_itself(self):
        err = self.refused("-c", "redis://u:geheim@h/", "job", "true")
        self.assertNotIn("geheim", err)

    def test_corrected_line_is_cut_when_long(self):
        self.assertIn(" ...", self.refused("job", *["word"] * 500))

    def test_as_flock_has_it(self):
        """What its users type out of habit."""
        for words, better in (
                (("job", "-w", "1", "cmd", "x"), "-w 1 job -- cmd x"),
                (("job", "-n", "cmd"), "-n job -- cmd"),
                (("-w", "1", "job", "cmd"), "-w 1 job -- cmd"),
                (("job", "--timeout=5", "-E", "0", "cmd", "-x"),
                 "--timeout=5 -E 0 job -- cmd -x"),
                (("job", "-w1", "-x", "--", "cmd"), "-w1 -x job -- cmd"),
                (("job", "cmd", "-w", "1"), "job -- cmd -w 1"),
                (("job", "-w", "1"), "-w 1 job -- COMMAND"),
                (("job", "-c", "make it"), "job -- sh -c 'make it'")):
            with self.subTest(words):
                self.assertIn("write: holdfast run " + better + "\n",
                              self.refused(*words))
        holder = self.holder()
        for wait in ("0", "0.1", ".1", "100ms"):
            status, _, err = self.run_tool("-w", wait, "lock", "--", "true")
            self.assertEqual(status, 75, err)
        holder.kill()
        for wait in ("1", "1.5", "1m30s", "1.", "0.0001"):
            self.assertEqual(self.run_tool("-w", wait, "x", "--", "true")[0], 0)

    def test_a_write_lock_by_its_old_letter(self):
        err = self.refused("-w", "job", "--", "touch", "MARK")
        self.assertIn("-w 'job': not a time to wait; expected seconds or a "
                      "duration, for instance -w 30 or -w 1m30s; a write lock "
                      "is -x", err)

    def test_options_behind_name(self):
        self.assertIn("options stand before NAME; "
                      "write: holdfast run -w 30s job -- touch",
                      self.refused("job", "-w", "30s", "--", "touch", "MARK"))

    def test_missing_operands(self):
        self.assertIn("NAME is missing", self.refused())
        self.assertIn("NAME is missing before '--'",
                      self.refused("--", "touch", "MARK"))
        self.assertIn("NAME is missing before '--'", self.refused("--", "job"))
        self.assertIn("COMMAND is missing", self.refused("job"))
        self.assertIn("COMMAND is missing after '--'",
                      self.refused("job", "--"))

    def test_bare_number_is_refused_with_a_hint(self):
        self.assertIn("--grace 7: give a unit, for instance 7s",
                      self.refused("--grace=7", "job", "--", "touch", "MARK"))

    def test_durations_that_are_none(self):
        for text in ("", "s", "-1s", "+1s", "1.5s", "1 s", "1s ", "1S", "1w",
                     "30s1m", "1m30", "0x10s", "99999999999999999999s",
                     "18446744073709551615d"):
            with self.subTest(text):
                self.assertIn("not a duration; expected a whole number and a unit",
                              self.refused("-k", text, "job", "--", "touch",
                                           "MARK"))
                self.assertIn("not a time to wait; expected seconds or a",
                              self.refused("-w", text, "job", "--", "touch",
                                           "MARK"))
        for text in (".", "1..2", "1e3", "-1", "inf", "1,5", "9" * 16, "0x1"):
            with self.subTest(text):
                self.assertIn("not a time to wait",
                              self.refused("-w", text, "job", "--", "true"))

    def test_try_with_a_wait(self):
        for options in (["-w", "5s", "--try"], ["--try", "-w", "0s"]):
            self.assertIn("-w and --try contradict each other",
                          self.refused(*options, "job", "--", "touch", "MARK"))

    def test_quiet_and_verbose(self):
        self.assertIn("-q and -v contradict",
                      self.refused("-qv", "job", "--", "touch", "MARK"))

    def test_exit_status_option(self):
        for text in ("", "-1", "256", "1000", "x", "1x"):
            with self.subTest(text):
                self.assertIn("expected a number from 0 to 255",
                              self.refused("-E", text, "job", "--", "true"))

    def test_unknown_options(self):
        self.assertIn("--bogus: no such option",
                      self.refused("--bogus", "job", "--", "true"))
        self.assertIn("-o: no such option",
                      self.refused("-qo", "job", "--", "true"))

    def test_misspelt_options(self):
        """The one that was meant is named; where it is another word, none is."""
        for written, meant in (("--timout", "timeout"), ("--timeuot", "timeout"),
                               ("--tmeout=5", "timeout"), ("--perms", "permits"),
                               ("--permitts", "permits"),
                               ("--onceper", "once-per"), ("--trz", "try"),
                               ("--hepl", None), ("--h\u00e9lp", None),
                               ("--nonblock", None), ("--" + "t" * 2000, None)):
            with self.subTest(written):
                done = self.run_tool(written, "job", "--", "true")
                self.assertEqual((done[0], done[1]), (64, ""))
                text = f"; expected --{meant} or another one; see 'holdfast " \
                    "run --help'"
                if meant is None:
                    text = ": no such option; see 'holdfast run --help'"
                self.assertIn(text, done[2])

    def test_missing_values(self):
        self.assertIn("-w: its value is missing", self.refused("-w"))
        self.assertIn("--grace: its value is missing", self.refused("--grace"))

    def test_bad_urls(self):
        for url in ("nosuch://x", "file", ":", "file:/x?bogus=1"):
            with self.subTest(url):
                self.refused("-c", url, "job", "--", "touch", "MARK")

    def test_bad_url_in_the_environment(self):
        self.environment["HOLDFAST_URL"] = "nosuch://x"
        self.assertIn("nosuch", self.refused("job", "--", "touch", "MARK"))

    def test_bad_names(self):
        for name in ("", "a//b", "a/../b", ".", "a/", "a\nb", "x" * 10000,
                     "zookeeper/a"):
            with self.subTest(name[:20]):
                self.refused(name, "--", "touch", "MARK")

    def test_error_text_cannot_steer_a_terminal(self):
        err = self.refused("-w", "\033[2J\u009b31m", "job", "--", "true")
        self.assertNotIn("\033", err)
        self.assertNotIn("\u009b", err)

    def test_value_that_is_not_taken(self):
        self.assertIn("--try=yes: it takes no value",
                      self.refused("--try=yes", "job", "--", "true"))

    def test_every_option_has_two_forms(self):
        usage = self.run_tool("--help")[1]
        options = re.findall(r"^  (-.*?)(?: [A-Z]|  |$)", usage, re.M)
        self.assertEqual(len(options), 15)
        for option in options:
            self.assertRegex(option, r"^-[a-zA-Z], (-[a-zA-Z], )?--[a-z-]+$")
        self.assertLessEqual(max(map(len, usage.splitlines())), 80)

    def test_both_forms_do_the_same(self):
        url = "file:" + self.path("other")
        for short, long, value in (
                ("-c", "--url", url), ("-w", "--timeout", "1m30s"),
                ("-n", "--try", None), ("-s", "--read", None),
                ("-x", "--write", None), ("-e", "--write", None),
                ("-p", "--permits", "1/2"), ("-k", "--at-least", "10ms"),
                ("-E", "--conflict-exit-code", "7"), ("-g", "--grace", "1s"),
                ("-T", "--text", "words"), ("-q", "--quiet", None)):
            for option in (short, long):
                words = [option] + ([value] if value else [])
                self.assertEqual(self.run_tool(*words, "job", "--", "echo",
                                               "ran"), (0, "ran\n", ""))
            if value:
                for option in (short, long):
                    self.assertIn("%s: its value is missing" % option,
                                  self.refused(option))
        for option, bad in (("--timeout", "x"), ("-w", "x"), ("-g", "x"),
                            ("-p", "x"), ("-E", "x"), ("--permits", "x")):
            self.assertIn("holdfast: %s 'x': " % option,
                          self.refused(option, bad, "job", "--", "true"))

    def test_name_may_begin_with_a_dash(self):
        self.assertEqual(self.run_tool("--", "-n", "--", "true")[0], 0)

    def test_command_words_are_not_options(self):
        status, out, _ = self.run_tool("job", "--", "echo", "-w", "--", "-q")
        self.assertEqual((status, out), (0, "-w -- -q\n"))


class TopLevel(harness.Case):
    def tool(self, *arguments):
        done = subprocess.run([harness.TOOL] + list(arguments),
                              capture_output=True, text=True,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              timeout=waiting.LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_version(self):
        status, out, err = self.tool("--version")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^holdfast \d+\.\d+\.\d+\n$")

    def test_help(self):
        for arguments in (["--help"], ["-h"], ["run", "--help"], ["run", "-h"],
                          ["help"], ["help", "run"], ["help", "help"],
                          ["help", "--help"]):
            status, out, err = self.tool(*arguments)
            self.assertEqual((status, err), (0, ""))
            self.assertIn("usage: holdfast run", out)

        self.assertEqual(self.tool("help", "show"), self.tool("show", "-h"))
        self.assertEqual(self.tool("help", "zk", "get"),
                         self.tool("zk", "get", "--help"))
        self.assertEqual(self.tool("-V"), self.tool("--version"))
        self.assertEqual(self.tool("-V", "-v"), self.tool("--version", "-v"))
        status, out, err = self.tool("help", "walk")
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'walk': no such command; expected run", err)

    def test_dashes_behind_an_operand(self):
        """They stand ahead of a command, or end the options.  Where there is no
        command, its words are not taken for names."""
        for name, _ in command_tables.listed():
            if name in ("run", "elect", "zk"):
                continue
            for words in (["one", "--", "two"], ["one", "two", "--"],
                          ["one", "--", "-q", "--", "three"]):
                status, out, err = self.tool(*name.split(), *words)
                self.assertEqual((status, out, err.count("\n")), (64, "", 1),
                                 (name, words, err))
                self.assertRegex(err, r"'--'.* runs no command", (name, words))
        status, out, err = self.tool("revoke", "-c", "nosuch:", "--", "-q", "1")
        self.assertEqual((status, out), (64, ""))
        self.assertIn("no engine for", err)
        # An option may be behind an operand, and its value be the dashes.
        status, out, err = self.tool("evict", "a", "-m", "--", "-y", "nobody")
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'nobody' is no ticket", err)

    def test_help_is_in_columns(self):
        lines = re.findall(r"^  \w+ +.*$", self.tool("--help")[1], re.M)
        self.assertEqual({len(re.match(r"  \w+ +", line)[0])
                          for line in lines}, {11})

    def test_help_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            for argument in ("--help", "--version"):
                status = subprocess.run([harness.TOOL, argument],
                                        stdout=full).returncode
                self.assertEqual(status, 73)

    def test_nothing_and_nonsense(self):
        status, out, err = self.tool()
        self.assertEqual((status, out), (64, ""))
        self.assertIn("usage:", err)
        status, out, err = self.tool("walk")
        self.assertEqual((status, out), (64, ""))
        self.assertIn("'walk': no such command; expected run", err)


    def test_a_tool_without_the_rest_of_its_package(self):
        alone = self.path("holdfast")
        shutil.copy(harness.TOOL, alone)
        for command, program in (("torture", "torture"), ("verify", "torture"),
                                 ("zk", "zk")):
            done = subprocess.run([alone, command, "--help"], check=False,
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (127, ""))
            self.assertRegex(done.stderr, "^holdfast: %s: there is no program "
                             "holdfast-%s, .* expected .*; install .*\n$"
                             % (command, program))
        with open(self.path("holdfast-torture"), "w") as file:
            os.chmod(file.fileno(), 0o755)
            file.write("no program\n")
        done = subprocess.run([alone, "verify"], check=False,
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (126, ""))
        self.assertIn("cannot be run: Exec format error", done.stderr)


if __name__ == "__main__":
    harness.main()
