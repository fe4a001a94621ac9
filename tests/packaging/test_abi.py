#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/lint/abi.py compares a changed library with that of a release.  The
release is a tag in a copy of the tree, and each change is made to that copy.  It
compiles the library twice."""
import shutil
import sys
import pathlib
import unittest

from checkout import SOURCE, Checkout

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "install"))
from commands import CC, CMAKE, run  # noqa: E402

# A change: a file, what stands there, and what instead.
EXPORT = ("src/holdfast.map", "    hf_severity_name;\n", "")
ADD_FUNCTION = [
    ("src/holdfast.map", "    hf_severity_name;\n",
     "    hf_severity_name;\n    hf_severity_number;\n"),
    ("include/holdfast/findings.h", "HF_API const char *hf_severity_name(",
     "HF_API int hf_severity_number(const char *name);\n"
     "HF_API const char *hf_severity_name("),
    ("src/client/examination.c", "void hf_findings_free(",
     "int hf_severity_number(const char *name)\n"
     "{\n    return name[0];\n}\n\nvoid hf_findings_free(")]
OPTIONS = "include/holdfast/zookeeper_registration.h"
GROW_OPTIONS = (OPTIONS, "    size_t acl_count;\n};",
                "    size_t acl_count;\n    int acl_version;\n};")
SHIFT_OPTIONS = (OPTIONS, "    size_t acl_count;\n};",
                 "    int acl_version;\n    size_t acl_count;\n};")
RETYPE_OPTIONS = (OPTIONS, "    size_t acl_count;\n};",
                  "    double acl_count;\n    int acl_version;\n};")
FINDING = "include/holdfast/findings.h"
GROW_FINDING = (FINDING, '"": nothing */\n};', '"": nothing */\n    int line;\n};')
ADD_SEVERITY = (FINDING, "or not as promised */\n",
                "or not as promised */\n    , HF_SEVERITY_FATAL = 5\n")
RENUMBER_SEVERITY = (FINDING, "HF_SEVERITY_ERROR = 4", "HF_SEVERITY_ERROR = 5")
SONAME = ("CMakeLists.txt", "project(holdfast VERSION 0.1.0",
          "project(holdfast VERSION 0.2.0")


@unittest.skipUnless((SOURCE / ".git").exists(), "needs a checkout")
@unittest.skipUnless(shutil.which("abidiff"), "needs libabigail")
class Abi(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.checkout = Checkout("abi")
        cls.addClassCleanup(cls.checkout.remove)
        cls.tree = cls.checkout.tree
        cls.build = cls.checkout.top / "build"
        run(CMAKE, "-S", cls.tree, "-B", cls.build, "-G", "Ninja",
            "-DHF_TESTS=OFF", f"-DCMAKE_C_COMPILER={CC}")

    def compare(self, *changes):
        """The status and the output of the lint, with these changes made."""
        for name, before, after in changes:
            file = self.tree / name
            text = file.read_text()
            self.assertEqual(text.count(before), 1, (name, before))
            file.write_text(text.replace(before, after))
        try:
            run("ninja", "-C", self.build, "holdfast_shared")
            return self.checkout.run("tests/lint/abi.py", self.build)
        finally:
            self.checkout.git("checkout", "-q", "--", ".")

    def test_without_a_release(self):
        for tag in (None, "v0.1.0-dev", "other"):
            if tag is not None:
                self.checkout.git("tag", tag)
                self.addCleanup(self.checkout.git, "tag", "-d", tag)
            status, said = self.compare()
            self.assertEqual(status, 0, said)
            self.assertIn("not compared: there is no tag of a release", said)

    def test_what_is_not_exported_is_missed_without_a_release(self):
        status, said = self.compare(
            ("include/holdfast/findings.h", "HF_API const char *hf_severity_name",
             "const char *hf_severity_name"))
        self.assertEqual(status, 1, said)
        self.assertIn("hf_severity_name", said)

    def test_with_a_release(self):
        self.checkout.git("tag", "v0.1.0")
        self.addCleanup(self.checkout.git, "tag", "-d", "v0.1.0")
        for changes in ([], ADD_FUNCTION, [GROW_OPTIONS], [ADD_SEVERITY]):
            with self.subTest(changes=changes):
                status, said = self.compare(*changes)
                self.assertEqual(status, 0, said)
                self.assertIn("built against v0.1.0 work", said)
        for change, name in (
                (EXPORT, "hf_severity_name"),
                (SHIFT_OPTIONS, "hf_zookeeper_registration_opts"),
                (RETYPE_OPTIONS, "hf_zookeeper_registration_opts"),
                (GROW_FINDING, "hf_finding"),
                (RENUMBER_SEVERITY, "hf_severity")):
            with self.subTest(change=change):
                status, said = self.compare(change)
                self.assertEqual(status, 1, said)
                self.assertIn(name, said)
                self.assertIn("built against v0.1.0 do not work", said)
        status, said = self.compare(EXPORT, SONAME)
        self.assertEqual(status, 0, said)
        self.assertIn("has the soname libholdfast.so.0.1 and not "
                      "libholdfast.so.0.2", said)


if __name__ == "__main__":
    unittest.main()
