# SPDX-License-Identifier: Apache-2.0
"""A Debian with nothing but its base, below a directory, in which tests run
commands as root.  It comes from where apt of this machine gets its packages."""
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77

# The environment of a login, and nothing of ours.
ENVIRONMENT = {"HOME": "/root", "TERM": "dumb", "LANG": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
               "/sbin:/bin"}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def output(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def sources(release):
    """The lines of a sources.list that name the packages of ${release}; of
    this machine's own, as apt gets them, if that is None."""
    lines = output("apt-get", "indextargets", "--format",
                   "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
                   "Identifier: Packages", "Origin: Debian").splitlines()
    if not lines:
        skip("apt has no list of Debian's packages; run apt-get update")
    if release is not None and release != lines[0].split()[2]:
        lines = [f"deb {lines[0].split()[1]} {release} main"]
    return list(dict.fromkeys(lines))


def apt_settings():
    """How apt reaches them: a proxy, and what it is lenient about."""
    wanted = re.compile(r"Acquire::(http|https|Check-\w+|Retries|Force\w+)\b")
    return "".join(line + "\n" for line in
                   output("apt-config", "dump").splitlines()
                   if wanted.match(line))


def need():
    """Skip where no Debian can be made."""
    if os.geteuid() != 0:
        skip("only root can make a Debian to try it in")
    if shutil.which("mmdebstrap") is None:
        skip("mmdebstrap is not installed")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                      check=False).returncode != 0:
        skip("this kernel makes no namespaces for us")


class Debian:
    """.root: the directory that it is in"""

    def __init__(self, root, release=None):
        self.root = root
        lines = sources(release)
        settings = root.with_name(root.name + ".apt")
        settings.write_text(apt_settings())
        done = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase",
             f"--aptopt={settings}", lines[0].split()[2], str(root), "-"],
            input="\n".join(lines) + "\n", text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        settings.unlink()
        if done.returncode != 0:
            skip(f"mmdebstrap made no Debian here: {done.stdout}")
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", root / "etc" / name)
        # A package that has a service does not start it.
        policy = root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)

    def outside(self, script, *words):
        """The words that run the shell's ${script} with ${words} outside, where
        the tree can be entered: it has its /proc, the sockets of our servers,
        and processes of its own that all end with it."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                f"--mount-proc={self.root}/proc", "sh", "-ec",
                'mkdir -p "$0/dev/shm"; mount --bind /dev/shm "$0/dev/shm"; '
                + script, str(self.root), *words]

    def enter(self, command, directory="/"):
        """The words that run ${command} in ${directory} of it."""
        return self.outside('exec chroot "$0" /bin/bash -c "$1"',
                            f"cd {directory} && {command}")

    def said(self, command, words=None, environment=None):
        """Run ${command}, by ${words}; what it printed.  The test fails with
        it."""
        done = subprocess.run(
            words or self.enter(command), text=True, check=False,
            env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"# {command}\n{done.stdout}", end="", flush=True)
        if done.returncode != 0:
            sys.exit(f"FAILED with status {done.returncode}: {command}")
        return done.stdout

    def copy_files(self, source, directory):
        """Copy to ${directory} of it the files of a checkout that git knows,
        and those that it does not ignore."""
        for name in output("git", "-C", str(source), "ls-files", "-co",
                           "--exclude-standard").splitlines():
            if (source / name).is_file():
                copy = self.root / directory.lstrip("/") / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, copy)
