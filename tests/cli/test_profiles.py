# SPDX-License-Identifier: Apache-2.0
"""Profiles: names for URLs in a file."""

import os
import subprocess

import harness


class Profiles(harness.Case):
    def setUp(self):
        super().setUp()
        self.config = self.path("config")
        os.makedirs(os.path.join(self.config, "holdfast"))
        self.environment["XDG_CONFIG_HOME"] = self.config
        self.environment["HOME"] = self.path("home")

    def write(self, text, mode=0o600, directory=None):
        directory = directory or os.path.join(self.config, "holdfast")
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "profiles")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def engine(self):
        """The directory of a file engine, and its URL."""
        directory = self.path("other")
        os.makedirs(directory, mode=0o700, exist_ok=True)
        return directory, "file:" + directory

    def url_of(self, *arguments):
        """HOLDFAST_URL as a command finds it."""
        status, out, err = self.run_tool(*arguments, "lock", "--", "sh", "-c",
                                         "echo $HOLDFAST_URL")
        self.assertEqual((status, err), (0, ""))
        return out.strip()

    def refused(self, name, status=64):
        ended, out, err = self.run_tool("-c", "@" + name, "lock", "--", "true")
        self.assertEqual((ended, out), (status, ""), err)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_the_url_of_a_profile(self):
        directory, url = self.engine()
        self.write("# of this machine\n\n  test\t%s \nother file:/nowhere\n" %
                   url, mode=0o644)
        self.assertEqual(self.url_of("-c", "@test"), url)
        self.assertEqual(self.url_of("--url=@test"), url)
        self.assertNotEqual(os.listdir(directory), [])

    def test_a_profile_in_the_environment(self):
        directory, url = self.engine()
        self.write("test %s\n" % url)
        self.environment["HOLDFAST_URL"] = "@test"
        self.assertEqual(self.url_of(), url)
        self.assertNotEqual(os.listdir(directory), [])
        self.assertEqual(self.url_of("-c", "file:" + self.locks),
                         "file:" + self.locks)
        done = subprocess.run([harness.TOOL, "show", "lock"], text=True,
                              env=self.environment, capture_output=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # The run inside has the URL itself.
        status, out, err = self.run_tool("a", "--", harness.TOOL, "run", "b",
                                         "--", "sh", "-c", "echo $HOLDFAST_URL")
        self.assertEqual((status, out, err), (0, url + "\n", ""))

    def test_a_profile_in_the_environment_that_there_is_not(self):
        self.write("test %s\n" % self.engine()[1])
        self.environment["HOLDFAST_URL"] = "@nope"
        for words in (["run", "lock", "--", "true"], ["hold", "-U", "lock"],
                      ["ls"], ["zk", "get", "/a"], ["doctor"]):
            done = subprocess.run([harness.TOOL, *words], text=True,
                                  env=self.environment, capture_output=True,
                                  check=False)
            self.assertEqual(done.returncode, 64, words)
            self.assertRegex(done.stderr, "HOLDFAST_URL: there is no profile "
                             "'nope'; expected a line 'nope URL' in ")
        self.assertEqual(self.run_tool("-c", "@test", "lock", "--", "true"),
                         (0, "", ""))

    def test_a_password_of_a_profile_in_the_environment(self):
        self.write("test redis://:SECRET@127.0.0.1:1\n")
        self.environment["HOLDFAST_URL"] = "@test"
        _, _, err = self.run_tool("-w", "0.1", "lock", "--", "true")
        self.assertNotIn("warning", err)
        self.assertNotIn("SECRET", err)

    def test_the_first_line_counts(self):
        _, url = self.engine()
        self.write("test %s\ntest file:/nowhere" % url)
        self.assertEqual(self.url_of("-c", "@test"), url)

    def test_without_a_directory_of_configurations(self):
        _, url = self.engine()
        del self.environment["XDG_CONFIG_HOME"]
        self.write("test " + url, directory=os.path.join(
            self.environment["HOME"], ".config", "holdfast"))
        self.assertEqual(self.url_of("-c", "@test"), url)

    def test_show_has_them_too(self):
        _, url = self.engine()
        self.write("test %s\n" % url)
        self.assertEqual(self.url_of("-c", "@test"), url)
        done = subprocess.run([harness.TOOL, "show", "-c", "@test", "lock"],
                              env=self.environment, capture_output=True,
                              text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_one_that_is_not_there(self):
        path = self.write("test file:/nowhere\n")
        err = self.refused("prod")
        self.assertIn("there is no profile 'prod'; expected a line 'prod URL' "
                      "in %s or in /" % path, err)
        os.remove(path)
        self.assertIn("there is no profile 'prod'", self.refused("prod"))
        self.assertIn("there is no profile ''", self.refused(""))

    def test_profiles_of_the_user_that_cannot_be_found(self):
        """Those of the machine do not take their place."""
        self.environment["XDG_CONFIG_HOME"] = "config"
        self.assertIn("XDG_CONFIG_HOME is a relative path", self.refused("prod"))
        self.environment["XDG_CONFIG_HOME"] = "/" + "x" * 5000
        self.assertIn("XDG_CONFIG_HOME is too long", self.refused("prod"))
        for empty in (True, False):
            if empty:
                self.environment["XDG_CONFIG_HOME"] = ""
            else:
                del self.environment["XDG_CONFIG_HOME"]
            self.environment["HOME"] = ""
            self.assertIn("HOME is empty", self.refused("prod"))
            self.environment["HOME"] = "home"
            self.assertIn("HOME is a relative path", self.refused("prod"))
        del self.environment["HOME"]
        self.assertIn("there is no profile 'prod'", self.refused("prod"))

    def test_profiles_of_the_user_that_cannot_be_read(self):
        """A read that fails is not the end of the file."""
        os.mkdir(os.path.join(self.config, "holdfast", "profiles"))
        self.assertIn("cannot be read: Is a directory", self.refused("prod"))

    def test_a_line_that_is_none(self):
        for line in ("prod", "prod file:/a file:/b", "prod " + "a" * 5000):
            with self.subTest(line[:20]):
                path = self.write("# one\n%s\n" % line)
                self.assertIn("line 2 of %s is no profile; expected a name and "
                              "a URL" % path, self.refused("prod"))

    def test_a_password_that_others_can_read(self):
        self.write("prod redis://u:geheim@127.0.0.1:1/\n", mode=0o644)
        err = self.refused("prod")
        self.assertIn("chmod it", err)
        self.assertNotIn("geheim", err)

    def test_a_password_is_no_reason_for_a_warning(self):
        self.write("prod redis://u:geheim@127.0.0.1:1/?retry=never\n")
        status, _, err = self.run_tool("-w", "100ms", "-c", "@prod", "lock", "--",
                                       "true")
        self.assertNotEqual(status, 0)
        self.assertNotIn("warning", err)
        self.assertNotIn("geheim", err)


if __name__ == "__main__":
    harness.main()
