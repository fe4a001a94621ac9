# SPDX-License-Identifier: Apache-2.0
"""How patches apply, and that a mutant has the mutation in it: that what does
not fit is refused by name.

    test_mutants.py PROGRAM    unit_core, which is linked with the archive of the
                               core
"""

import os
import shutil
import subprocess
import sys
import unittest

import mutants

import machine

PATCH = """Invariant 3: the order is turned.

--- a/src/x.c
+++ b/src/x.c
@@ -1,3 +1,3 @@
 {

-    return a < b;
+    return a > b;
"""
TEXT = "int f(int a, int b)\n{\n\n    return a < b;\n}\n"


class Patches(unittest.TestCase):
    def apply(self, patch, text):
        mutation = mutants.parse("NAME", patch)
        return mutants.apply("NAME", mutation.files[0], text)

    def refused(self, expected, patch, text):
        with self.assertRaises(mutants.MutantError) as caught:
            self.apply(patch, text)
        self.assertIn("NAME", str(caught.exception))
        self.assertIn(expected, str(caught.exception))

    def test_all_apply(self):
        self.assertEqual(list(mutants.complaints()), [])
        self.assertGreater(len(mutants.names()), 100)

    def test_one_test_catches_each(self):
        """By the name in its patch, or by what the kind of program searches."""
        searched = [mutants.found_by_search(of) for of in (
            mutants.is_of_tool, mutants.is_of_quorum,
            mutants.is_of_simulator)]
        self.assertEqual(sorted(sum(searched, mutants.named_in_patch())),
                         mutants.names())

    def test_at_whatever_line(self):
        for before in ("", "int a;\n", "\n" * 99):
            self.assertEqual(self.apply(PATCH, before + TEXT),
                             before + TEXT.replace("<", ">"))

    def test_what_it_says(self):
        mutation = mutants.parse("NAME", PATCH)
        self.assertEqual((mutation.number, mutation.what),
                         ("3", "the order is turned"))

    def test_which_test_it_names(self):
        self.assertIsNone(mutants.parse("NAME", PATCH).caught_by)
        named = PATCH.replace("turned.\n",
                              "turned.\nCaught by unit/tree: in_order.\n")
        self.assertEqual(mutants.parse("NAME", named).caught_by,
                         ("unit/tree", "in_order"))

    def test_two_files_as_git_prints_them(self):
        changes = PATCH[PATCH.index("---"):].replace("@@\n", "@@ int f\n")
        head = "diff --git a/src/x.c b/src/x.c\nindex 12..34 100644\n"
        mutation = mutants.parse("NAME", PATCH[:PATCH.index("---")] +
                                 2 * (head + changes))
        for change in mutation.files:
            self.assertEqual(mutants.apply("NAME", change, TEXT),
                             TEXT.replace("<", ">"))

    def test_a_line_that_is_another_now(self):
        self.refused("0 times in src/x.c", PATCH, TEXT.replace("a < b", "a<b"))
        self.refused("0 times in src/x.c", PATCH, TEXT.replace("\n\n", "\n"))

    def test_lines_that_are_there_twice(self):
        self.refused("2 times in src/x.c", PATCH, TEXT + TEXT)

    def test_one_that_changes_nothing(self):
        self.refused("does not apply", PATCH.replace(">", "<"), TEXT)

    def test_what_is_no_patch(self):
        for patch in ("", "Invariant 3: no diff.\n", PATCH[10:],
                      PATCH.replace(".c\n", ".h\n"),
                      PATCH.replace("+++ b/src/x.c", "+++ b/src/y.c"),
                      PATCH.replace("-    return", "    return"),
                      PATCH.replace("@@", "##"),
                      PATCH.replace("turned.\n", "turned.\nCaught by me.\n")):
            with self.assertRaisesRegex(mutants.MutantError, "^NAME.patch: "):
                mutants.parse("NAME", patch)


class Build(unittest.TestCase):
    program = ""

    def setUp(self):
        directory = machine.directory("mutant", on_disk=True)
        self.addCleanup(shutil.rmtree, directory)
        self.made = os.path.join(directory, "made")

    def test_a_mutant_fails_what_the_program_passes(self):
        """It is linked with the changed object, not with the archive's."""
        mutants.build("READ_PASSES_WRITE", self.program, self.made)
        passes, fails = (subprocess.run([program, "admission"], check=False,
                                        capture_output=True).returncode
                         for program in (self.program, self.made))
        self.assertEqual(passes, 0)
        self.assertEqual(fails, 1)

    def test_a_program_without_the_file(self):
        with self.assertRaisesRegex(
                mutants.MutantError,
                "^SHOW_CREATES changes src/cli/list_client.c, which is 0 times in "):
            mutants.build("SHOW_CREATES", self.program, self.made)

    def test_a_name_that_is_none(self):
        ran = subprocess.run(
            [sys.executable, mutants.__file__, "build", "NO_SUCH_THING",
             self.program, self.made], check=False, capture_output=True,
            text=True)
        self.assertEqual(ran.returncode, mutants.USAGE)
        self.assertIn("there is no mutation NO_SUCH_THING; expected", ran.stderr)

    def test_a_program_that_was_not_built_here(self):
        with self.assertRaisesRegex(mutants.MutantError, "not built by Ninja"):
            mutants.build("READ_PASSES_WRITE", "/bin/true", self.made)


if __name__ == "__main__":
    Build.program = os.path.abspath(sys.argv.pop())
    unittest.main()
