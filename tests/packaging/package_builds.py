# SPDX-License-Identifier: Apache-2.0
"""The packages that tests try: built on this machine, or in a Debian of a
release; and the same once more as an older version."""
import shutil

import build_debian
from chroot import Debian

# Below every version that the tree has had or will have.
OLDER = "0.0.1-1"

# The unit tests, which need more than the packages do; and how the tests are
# configured without Java, which none of these needs.
NEEDED_BY_TESTS = "g++ doctest-dev libcmocka-dev"
UNIT_TESTS = """
cmake -S . -B ../unit -G Ninja -DHF_JAVAC=/bin/false >../log
ninja -C ../unit -t targets all | sed -n 's/^\\(unit_[a-z0-9_]*\\): phony.*/\\1/p' |
    xargs ninja -C ../unit --quiet
ctest --test-dir ../unit -j$(nproc) --output-on-failure --no-tests=error -R '^unit/'
"""
BUILD = """
export DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)"
dpkg-buildpackage -b -us -uc
mkdir ../newer ../older
mv ../*.deb ../newer
sed -i "1s/(.*)/(%s)/" debian/changelog
debian/rules binary
mv ../*.deb ../older
""" % OLDER


class Builds:
    """.debs; .older: of the version OLDER; .again: built in another directory,
    or nothing; .dsc: the source package, or None"""

    def __init__(self, source, directory, top, release):
        if release is None:
            self.build_here(source, directory, top)
        else:
            self.build_in(Debian(top / "builder", release), source, directory)

    def build_here(self, source, directory, top):
        """The second build is in a directory whose name has another length."""
        build_debian.main(source, directory)
        self.debs = sorted(directory.glob("*.deb"))
        self.dsc = next(directory.glob("*.dsc"))
        again = top / "a-directory-with-another-name" / "and-another-length"
        again.mkdir(parents=True)
        self.again = build_debian.build(source, again)
        self.older = build_debian.build_older(again, OLDER)

    def build_in(self, debian, source, directory):
        """The unit tests are built with what that release has, too."""
        debian.copy_files(source, "/opt/build/holdfast")
        debian.said("apt-get -qq update")
        debian.said("apt-get -qq -y --no-install-recommends build-dep "
                    "/opt/build/holdfast")
        debian.said("apt-get -qq -y --no-install-recommends install "
                    + NEEDED_BY_TESTS)
        for script in (BUILD, UNIT_TESTS):
            (debian.root / "opt/build/script").write_text(script)
            debian.said("cd /opt/build/holdfast && bash -e -o pipefail ../script "
                        ">../said 2>&1 || { tail -n 200 ../said; exit 1; }")
        shutil.rmtree(directory, ignore_errors=True)
        built = debian.root / "opt/build"
        shutil.copytree(built / "newer", directory)
        shutil.copytree(built / "older", directory / "older")
        shutil.copy(built / "said", directory / "unit-tests.log")
        shutil.rmtree(debian.root)
        self.debs = sorted(directory.glob("*.deb"))
        self.older = sorted((directory / "older").glob("*.deb"))
        self.again = []
        self.dsc = None
