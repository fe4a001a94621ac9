#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each relative link of an installed document leads to an installed file, and
what is not installed is named."""
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from commands import BUILD, CMAKE, SOURCE, run  # noqa: E402
from document_links import broken, links  # noqa: E402
import machine  # noqa: E402

sys.path.insert(0, str(SOURCE / "packaging"))
from installed_documents import Documents  # noqa: E402


class Installed(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        top = pathlib.Path(machine.directory("documents", on_disk=True))
        cls.addClassCleanup(shutil.rmtree, top)
        run(CMAKE, "--install", BUILD, "--prefix", top)
        cls.directory = top / "share/doc/holdfast"
        cls.documents = sorted(cls.directory.rglob("*.md"))

    def test_each_link_leads_to_an_installed_file(self):
        self.assertGreater(len(self.documents), 30)
        self.assertGreater(sum(len(list(links(document)))
                               for document in self.documents), 200)
        self.assertEqual({str(document.relative_to(self.directory)):
                          broken(document) for document in self.documents
                          if broken(document)}, {})

    def test_a_link_that_leads_nowhere_is_seen(self):
        document = self.directory / "docs/broken.md"
        document.write_text("[a](../README.md#engines) [b](nowhere.md)\n"
                            "[c]: ../nowhere.h\n")
        self.addCleanup(document.unlink)
        self.assertEqual(broken(document), ["nowhere.md", "../nowhere.h"])

    def test_what_is_in_the_tree_is_installed(self):
        for document in self.documents:
            name = document.relative_to(self.directory)
            self.assertEqual(
                len(document.read_text().splitlines()),
                len((SOURCE / name).read_text().splitlines()), name)


class Links(unittest.TestCase):
    """What becomes of one."""

    def check(self, written, installed, document="docs/a.md"):
        documents = Documents(["README.md", "docs/a.md", "docs/b/c.svg"],
                              "../../../include")
        self.assertEqual(documents.installed(document, written), installed)

    def test_to_what_is_installed_stays(self):
        for link in ("[a](../README.md)", "[a](b/c.svg#x)", "[b](b)", "[x](#x)",
                     "[x](https://example.org/tests/a.c)"):
            self.check(link, link)

    def test_to_a_header_leads_to_where_headers_are(self):
        self.check("[`lock.h`](../include/holdfast/lock.h)",
                   "[`lock.h`](../../../../include/holdfast/lock.h)")
        self.check("[`lock.h`](include/holdfast/lock.h)",
                   "[`lock.h`](../../../include/holdfast/lock.h)", "README.md")

    def test_to_a_page_of_the_manual_names_it(self):
        self.check("see [x(1)](man/x.1)", "see x(1)")
        self.check("[The\nmanual](man/x.1)", "The\nmanual (x(1))")

    def test_to_a_file_of_the_source_names_it(self):
        self.check("[How](../tests/README.md#run)",
                   "How (`tests/README.md` of the source)")
        self.check("[../proof](../proof)", "`proof` of the source")


if __name__ == "__main__":
    unittest.main()
