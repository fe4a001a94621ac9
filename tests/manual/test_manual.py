#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manual pages of the library: each function and each type has one, a page
has every word of the contracts that it is made of, no reader of pages complains
about it, and a header that is not in the form is refused."""
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
        # Wide enough for the longest declaration.
        for command in (["mandoc", "-Tlint", "-Wwarning"],
                        ["groff", "-ww", "-rLL=100n", "-mandoc", "-Tutf8"]):
            for path in self.pages.glob("*.3"):
                if path.read_text().startswith(".so"):
                    continue
                done = subprocess.run([*command, path], text=True,
                                      cwd=self.top, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, check=False)
                said = done.stderr + (done.stdout if command[0] == "mandoc"
                                      else "")
                with self.subTest(command=command[0], page=path.name):
                    self.assertEqual((done.returncode, said), (0, ""))


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
