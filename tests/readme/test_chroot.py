#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run the commands of README.md, of docs/install.md and of docs/tour.md, and
nothing else, in a Debian with nothing but its base: for the shell, for C, and
for each engine.

    test_chroot.py SOURCE

The Debian is unpacked below a temporary directory, from where apt gets the
packages of this machine; servers run outside of it.  Status 77 with a reason
where it cannot be made."""
import pathlib
import re
import shutil
import sys

from readme import Readme, server_of

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "servers"), str(HERE.parent / "packaging")]

import chroot  # noqa: E402
import machine  # noqa: E402

SERVE = HERE.parent / "servers" / "serve.py"
TREE = "/opt/holdfast"

# Run elsewhere, and for long: the tests themselves; and torture.
ELSEWHERE = ("./dev test", "holdfast torture")


class Debian(chroot.Debian):
    """A Debian with its base only, and a checkout in it."""

    def __init__(self, top, source):
        super().__init__(top / "debian")
        self.tree = self.root / TREE.lstrip("/")
        self.copy_files(source, TREE)

    def run(self, command):
        """${command} beside the server that it names, as root: without sudo,
        as README.md says."""
        server, command = server_of(command.replace("sudo ", ""))
        environment = dict(chroot.ENVIRONMENT)
        words = self.enter(command, TREE)
        if server is not None:
            # The variable with the address is set in the environment of ours.
            words = ["/usr/bin/python3", str(SERVE), server, "--", *words]
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return self.said(command, words, environment)


def expected(command):
    """What the output of ${command} must match."""
    if command == "holdfast show nightly":
        return "^nobody holds or waits for "
    if "report.sh" in command:
        return "(?m)^reported$"
    if command in ("./nightly", "python3 nightly.py"):
        return r"^token [1-9]\d*\n$"
    if "--engines all" in command or command == "holdfast --version -v":
        return "^(?!.* missing )(?s:.*)" + "(?s:.*)".join(
            rf"\b{name} +works" for name in
            ("file", "zookeeper", "redis", "postgresql", "etcd",
             "tls", "sasl"))
    return ""


def follow(readme, debian):
    """Run all commands."""
    for name, text in readme.programs.items():
        (debian.tree / name).write_text(text)
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
    chroot.need()
    top = pathlib.Path(machine.directory("debian", on_disk=True))
    try:
        debian = Debian(top, source)
        follow(Readme(source), debian)
        install_later(debian)
    finally:
        shutil.rmtree(top)
    print("all commands work in a Debian with nothing but its base")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
