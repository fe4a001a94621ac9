#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run the commands of README.md, and nothing else, in a Debian with nothing
but its base: for the shell, for C, and for each engine.

    test_chroot.py SOURCE

The Debian is unpacked below a temporary directory, from where apt gets the
packages of this machine; servers run outside of it.  Status 77 with a reason
where it cannot be made."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from readme import Readme, server_of

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "servers"))

import machine  # noqa: E402

SERVE = HERE.parent / "servers" / "serve.py"
SKIPPED = 77

# Run elsewhere, and for long: the tests themselves; and torture.
ELSEWHERE = ("./dev test", "holdfast torture")

# The environment of a login, and nothing of ours.
ENVIRONMENT = {"HOME": "/root", "TERM": "dumb", "LANG": "C.UTF-8",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
               "/sbin:/bin"}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def output(*command):
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def packages():
    """The lines of a sources.list that name Debian's packages as apt gets
    them."""
    lines = output("apt-get", "indextargets", "--format",
                   "deb $(REPO_URI) $(RELEASE) $(COMPONENT)",
                   "Identifier: Packages", "Origin: Debian").splitlines()
    return list(dict.fromkeys(lines))


def apt_settings():
    """How apt reaches them: a proxy, and what it is lenient about."""
    wanted = re.compile(r"Acquire::(http|https|Check-\w+|Retries|Force\w+)\b")
    return "".join(line + "\n" for line in
                   output("apt-config", "dump").splitlines()
                   if wanted.match(line))


class Debian:
    """A Debian with its base only."""

    def __init__(self, top):
        self.root = top / "debian"
        sources = packages()
        if not sources:
            skip("apt has no list of Debian's packages; run apt-get update")
        settings = top / "apt.conf"
        settings.write_text(apt_settings())
        release = sources[0].split()[2]
        done = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase",
             f"--aptopt={settings}", release, str(self.root), "-"],
            input="\n".join(sources) + "\n", text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            skip(f"mmdebstrap made no Debian here: {done.stdout}")
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        shutil.copy("/etc/hosts", self.root / "etc/hosts")
        self.tree = self.root / "opt" / "holdfast"

    def copy_tree(self, source):
        """Copy the files that git knows, and those that it does not ignore."""
        for name in output("git", "-C", str(source), "ls-files", "-co",
                           "--exclude-standard").splitlines():
            if (source / name).is_file():
                copy = self.tree / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, copy)

    def enter(self, command):
        """The words that run ${command} in the tree, with processes of its own
        that all end with it, and with the sockets of our servers."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                f"--mount-proc={self.root}/proc", "sh", "-ec",
                'mkdir -p "$0/dev/shm"; mount --bind /dev/shm "$0/dev/shm"; '
                'exec chroot "$0" /bin/bash -c "$1"',
                str(self.root), f"cd /opt/holdfast && {command}"]

    def run(self, command):
        """${command} beside the server that it names, as root: without sudo,
        as README.md says."""
        server, command = server_of(command.removeprefix("sudo "))
        environment = dict(ENVIRONMENT)
        words = self.enter(command)
        if server is not None:
            # The variable with the address is set in the environment of ours.
            words = ["/usr/bin/python3", str(SERVE), server, "--", *words]
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        done = subprocess.run(words, text=True, check=False, env=environment,
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"# {command}\n{done.stdout}", end="", flush=True)
        if done.returncode != 0:
            sys.exit(f"FAILED with status {done.returncode}: {command}")
        return done.stdout


def expected(command):
    """What the output of ${command} must match."""
    if "report.sh" in command:
        return "(?m)^reported$"
    if command == "./nightly":
        return r"^token [1-9]\d*\n$"
    if "--engines all" in command or command == "holdfast --version -v":
        return "^(?!.* missing )(?s:.*)" + "(?s:.*)".join(
            rf"\b{name} +works" for name in
            ("file", "zookeeper", "redis", "postgresql", "tls",
             "sasl"))
    return ""


def follow(readme, debian):
    """Run all commands of README.md."""
    (debian.tree / "nightly.c").write_text(readme.program)
    report = debian.tree / "report.sh"
    report.write_text("#!/bin/sh\necho reported\n")
    report.chmod(0o755)
    for command in readme.commands:
        if command.startswith(ELSEWHERE):
            continue
        said = debian.run(command)
        if not re.search(expected(command), said):
            sys.exit(f"FAILED: {command} did not say {expected(command)}")


def install_later(debian):
    """An engine whose package comes after the first build."""
    package = "libhiredis-dev"
    debian.run(f"apt-get -qq -y remove {package}")
    said = debian.run("./dev build")
    if not re.search(rf"\bredis +missing .*{package}", said):
        sys.exit(f"FAILED: the table does not say that {package} is missing")
    debian.run(f"apt-get -qq -y install {package}")
    if not re.search(r"\bredis +works\b", debian.run("./dev build")):
        sys.exit(f"FAILED: {package} was installed and its engine not built")


def main(source):
    if os.geteuid() != 0:
        skip("only root can make a Debian to try it in")
    if shutil.which("mmdebstrap") is None:
        skip("mmdebstrap is not installed")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"],
                      check=False).returncode != 0:
        skip("this kernel makes no namespaces for us")
    top = pathlib.Path(machine.directory("debian", on_disk=True))
    try:
        debian = Debian(top)
        debian.copy_tree(source)
        follow(Readme(source / "README.md"), debian)
        install_later(debian)
    finally:
        shutil.rmtree(top)
    print("all of README.md works in a Debian with nothing but its base")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
