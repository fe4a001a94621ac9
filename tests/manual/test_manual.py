#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual pages.  Of the library: each function and each type has one, a page
has every word of the contracts that it is made of, and a header that is not in
the form is refused.  Of the commands: a page has the options of the table, each
with a text.  No reader of pages complains about any."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

SOURCE = pathlib.Path(os.environ["HF_SOURCE"])
sys.path[:0] = [str(SOURCE / "docs/man"), str(SOURCE / "packaging")]

import command_pages  # noqa: E402
import command_tables  # noqa: E402

MAN1 = pathlib.Path(os.environ["HF_MAN1"])
HEADERS = sorted((SOURCE / "include/holdfast").glob("*.h"))
EXPORTED = re.findall(r"\bhf_\w+", (SOURCE / "src/holdfast.map").read_text())


def make(directory, *headers):
    """Run the program that makes pages."""
    return subprocess.run(
        ["/usr/bin/python3", SOURCE / "docs/man/pages.py", directory, *headers],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def words_of_page(text):
    """The words of a page that are read, without requests and escapes."""
    lines = [re.sub(r"^\.It Sy ", "", line) for line in text.splitlines()]
    text = "\n".join(line for line in lines if not line.startswith("."))
    text = re.sub(r"\\f[BIP]|\\&|\\%", "", text)
    return text.replace("\\-", "-").replace(" , ", ", ").split()


def words_of_contracts(header):
    """The words of each contract of a header, without its heading."""
    for comment in re.findall(r"^/\*\*\n(.*?) \*/", header.read_text(),
                              re.M | re.S):
        comment = re.sub(r"(?m)^ \* ?", "", comment)
        heading = re.match(r"(?:hf_\w+\([^)]*\)(?:,\s*)?)+:\n", comment)
        comment = comment[heading.end():]
        if "\n\n    " not in comment:  # an example is shown with other escapes
            yield re.sub(r"\$\{(\w+)\}", r"\1", comment).split()


def complaints(case, pages):
    """What readers of pages say of ${pages}: nothing."""
    # Wide enough for the longest declaration.
    for command in (["mandoc", "-Tlint", "-Wwarning"],
                    ["groff", "-ww", "-rLL=100n", "-mandoc", "-Tutf8"]):
        for path in pages:
            if path.read_text().startswith(".so"):
                continue
            done = subprocess.run([*command, path], text=True,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, check=False)
            said = done.stderr + (done.stdout if command[0] == "mandoc" else "")
            with case.subTest(command=command[0], page=path.name):
                case.assertEqual((done.returncode, said), (0, ""))


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.top = pathlib.Path(machine.directory("manual"))
        cls.addClassCleanup(shutil.rmtree, cls.top)
        cls.pages = cls.top / "man3"
        made = make(cls.pages, *HEADERS)
        assert made.returncode == 0, made.stderr

    def page(self, name):
        """The name and the text of the page that describes ${name}."""
        text = (self.pages / f"{name}.3").read_text()
        link = re.fullmatch(r"\.so man3/(\w+)\.3\n", text)
        return self.page(link[1]) if link else (name, text)

    def test_each_function_has_one(self):
        self.assertGreater(len(EXPORTED), 100)
        for name in EXPORTED:
            with self.subTest(name=name):
                text = self.page(name)[1]
                self.assertRegex(text, rf"(?m)^\.Nm {name}( ,)?$")
                self.assertRegex(text, rf"(?m)^\.Fo {name}$")
                self.assertRegex(text, rf"(?m)^\.Fn {name}\b")

    def test_each_type_has_one(self):
        for header in HEADERS:
            for name in re.findall(r"(?m)^(?:struct|enum) (hf_\w+) \{",
                                   header.read_text()):
                with self.subTest(name=name):
                    self.assertRegex(self.page(name)[1],
                                     rf"(?m)^(struct|enum) {name} \{{$")

    def test_nouns_of_zookeeper(self):
        for name, of in (("hf_zookeeper_open", "hf_zookeeper"),
                         ("hf_zookeeper_get", "hf_zookeeper_op"),
                         ("hf_zookeeper_stat", "hf_zookeeper_result"),
                         ("hf_zookeeper_event", "hf_zookeeper_watch"),
                         ("hf_rwlock_rdlock", "hf_rwlock"),
                         ("hf_lock_acquire", "hf_lock")):
            self.assertEqual(self.page(name)[0], of)

    def test_every_word_of_a_contract(self):
        pages = " ".join(" ".join(words_of_page(path.read_text()))
                         for path in self.pages.glob("*.3"))
        count = 0
        for header in HEADERS:
            for words in words_of_contracts(header):
                count += 1
                with self.subTest(header=header.name, words=words[:8]):
                    self.assertIn(" ".join(words), pages)
        self.assertGreater(count, 80)

    def test_what_a_page_refers_to(self):
        for path in self.pages.glob("*.3"):
            for name in re.findall(r"(?m)^\.Xr (\w+) 3", path.read_text()):
                with self.subTest(page=path.name, name=name):
                    self.assertEqual(self.page(name)[0], name)

    def test_nothing_to_complain_about(self):
        complaints(self, list(self.pages.glob("*.3")))


class PagesOfCommands(unittest.TestCase):
    """And the other pages that are not of functions."""

    def setUp(self):
        self.pages = [*MAN1.glob("*.1"), *(SOURCE / "docs/man").glob("*.7")]

    def test_nothing_to_complain_about(self):
        complaints(self, self.pages)

    def test_what_a_page_refers_to(self):
        ours = {path.name for path in self.pages}
        self.assertLess({"holdfast-run.1", "holdfast-url.7"}, ours)
        for path in self.pages:
            for name, section in re.findall(r"(?m)^\.Xr (holdfast\S*) (\d)",
                                            path.read_text()):
                with self.subTest(page=path.name, name=name):
                    self.assertIn(f"{name}.{section}", ours)

    def test_the_first_page_has_all_commands(self):
        text = (MAN1 / "holdfast.1").read_text()
        for name, _ in command_tables.listed():
            if not name.startswith("zk "):
                with self.subTest(name=name):
                    self.assertRegex(text, rf"(?m)^\.It Cm {name}$")
                    self.assertRegex(text, rf"(?m)^\.Xr holdfast-{name} 1\b")


class OptionsOfPages(unittest.TestCase):
    """What a page of commands is made of."""

    def setUp(self):
        self.top = pathlib.Path(machine.directory("manual"))
        self.addCleanup(shutil.rmtree, self.top)
        self.commands = [self.command("run")]

    def command(self, name, *more):
        return command_tables.Command(name, "", [
            command_tables.Option("t", "timeout", "DURATION", [], "."),
            command_tables.Option("p", "permits", "N/M", [], "."),
            *more])

    def made(self, text):
        page = self.top / "holdfast-run.1"
        page.write_text(text)
        return command_pages.Page(page, self.commands).made()

    def refused(self, text, why):
        with self.assertRaisesRegex(command_tables.Malformed,
                                    "^holdfast-run.1: " + why):
            self.made(text)

    def test_the_forms(self):
        self.assertEqual(
            self.made(".It Fl -permits\nA.\n.It Fl -timeout\n"),
            ".It Fl p , Fl -permits Ar n Ns / Ns Ar m\nA.\n"
            ".It Fl t , Fl -timeout Ar duration\n")

    def test_an_option_without_a_text(self):
        self.refused(".It Fl -timeout\n", "--permits of 'holdfast run' has no "
                     "text; expected a line '.It Fl -permits' with one below it")

    def test_a_text_without_an_option(self):
        self.refused(".It Fl -timeout\n.It Fl -time\n", "--time: 'holdfast "
                     "run' has no such option; expected one of --timeout, "
                     "--permits")

    def test_two_texts(self):
        self.refused(".It Fl -timeout\n.It Fl -timeout\n", "--timeout of "
                     "'holdfast run' has two texts; expected one")

    def test_forms_that_are_written_out(self):
        self.refused(".It Fl t , Fl -timeout Ar duration\n", "'.It Fl t , "
                     "Fl -': the table has the forms of an option; expected "
                     "'.It Fl -NAME' alone")

    def test_several_commands_on_a_page(self):
        more = command_tables.Option("s", "stat", None, [], ".")
        self.commands = [self.command("zk get", more), self.command("zk rm")]
        common = ".Sh OPTIONS\n.It Fl -timeout\n.It Fl -permits\n"
        self.assertIn(".It Fl s , Fl -stat\n",
                      self.made(common + ".Ss get\n.It Fl -stat\n"))
        self.refused(common + ".Ss rm\n.It Fl -stat\n",
                     "--stat: 'holdfast zk rm' has no such option")


CONTRACT = """\
/* What it is. */

/**
 * hf_a(b):
 * Do it.
 *   Fails     HF_EINVAL.
 */
HF_API hf_status hf_a(int b) HF_NONNULL(1);
"""


class Headers(unittest.TestCase):
    """A header that is not in the form."""

    def setUp(self):
        self.top = pathlib.Path(machine.directory("manual"))
        self.addCleanup(shutil.rmtree, self.top)
        self.header = self.top / "a.h"

    def refused(self, text, why):
        self.header.write_text(text)
        made = make(self.top / "man3", self.header)
        self.assertEqual((made.returncode, made.stderr),
                         (65, f"pages.py: a.h:{why}\n"))

    def test_the_form(self):
        self.header.write_text(CONTRACT)
        made = make(self.top / "man3", self.header)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        text = (self.top / "man3/hf_a.3").read_text()
        self.assertIn(".Nd what it is\n", text)
        self.assertIn(".It Sy Fails\nHF_EINVAL.\n", text)

    def test_a_text_with_tags(self):
        self.header.write_text(CONTRACT.replace("/* What it is. */", """\
/*
 * What it is.
 *
 * Paths      are
 *            absolute.
 * The root   is there.
 * What has no tag
 *            ends the list.
 */"""))
        make(self.top / "man3", self.header)
        self.assertIn(
            ".Bl -tag -width Ownership\n.It Sy Paths\nare absolute.\n"
            ".It Sy The root\nis there.\n.El\nWhat has no tag ends the list.\n",
            (self.top / "man3/hf_a.3").read_text())

    def test_a_contract_of_another_function(self):
        self.refused(CONTRACT.replace("hf_a(b):", "hf_b(b):"),
                     "3: the comment is about ['hf_b'], and what is declared "
                     "below it is ['hf_a']; expected the same names in the same "
                     "order")

    def test_a_contract_without_a_heading(self):
        self.refused(CONTRACT.replace(" * hf_a(b):\n", ""),
                     "3: the comment is about [], and what is declared below it "
                     "is ['hf_a']; expected the same names in the same order")

    def test_nothing_at_the_top(self):
        self.refused(CONTRACT.split("\n\n", 1)[1],
                     "1: no comment at the top says what the header is about")

    def test_an_old_page_is_removed(self):
        self.header.write_text(CONTRACT)
        pages = self.top / "man3"
        pages.mkdir()
        (pages / "hf_gone.3").write_text("")
        make(pages, self.header)
        self.assertEqual([path.name for path in pages.iterdir()], ["hf_a.3"])


if __name__ == "__main__":
    unittest.main()
