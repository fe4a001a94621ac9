#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""./dev release makes the same bytes twice, says what is in them, and refuses
what is not committed."""
import hashlib
import json
import tarfile
import unittest

from checkout import SOURCE, Checkout


@unittest.skipUnless((SOURCE / ".git").exists(), "needs a checkout")
class Release(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.checkout = Checkout("release")
        cls.addClassCleanup(cls.checkout.remove)
        cls.top, cls.tree = cls.checkout.top, cls.checkout.tree
        cls.git = cls.checkout.git

    def release(self, directory, *options, umask=0o022):
        return self.checkout.run("packaging/release.py", self.tree,
                                 self.top / directory, *options, umask=umask)

    def made(self, directory):
        return {path.name: path.read_bytes()
                for path in (self.top / directory).iterdir()}

    def test_twice_has_the_same_bytes(self):
        status, said = self.release("one")
        self.assertEqual(status, 0, said)
        status, said = self.release("two", umask=0o077)
        self.assertEqual(status, 0, said)
        one = self.made("one")
        self.assertEqual(one, self.made("two"))
        sums = dict(reversed(line.split()) for line in
                    one.pop("SHA256SUMS").decode().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256(content).hexdigest()
                                for name, content in one.items()})
        self.assertEqual(self.git("tag"), "")
        self.check_bill()

    def check_bill(self):
        """The bill of materials names each file of the archive, and what CMake
        asks for."""
        archive = next((self.top / "one").glob("*.tar.gz"))
        version = archive.name.removeprefix("holdfast-").removesuffix(".tar.gz")
        with tarfile.open(archive) as tar:
            hashes = {
                "./" + entry.name.removeprefix(f"holdfast-{version}/"):
                hashlib.sha256(tar.extractfile(entry).read()).hexdigest()
                for entry in tar if entry.isfile()}
        bill = json.loads(next((self.top / "one").glob("*.json")).read_text())
        self.assertEqual({file["fileName"]: file["checksums"][1]
                          ["checksumValue"] for file in bill["files"]}, hashes)
        self.assertLessEqual({"holdfast", "libuv", "jansson", "hiredis", "libpq",
                              "libssl", "libsasl2", "libnghttp2"},
                             {package["name"] for package in bill["packages"]})
        known = {"SPDXRef-DOCUMENT"} | {
            item["SPDXID"] for item in bill["files"] + bill["packages"]}
        for relation in bill["relationships"]:
            self.assertIn(relation["spdxElementId"], known)
            self.assertIn(relation["relatedSpdxElement"], known)

    def test_tag_is_made_if_it_is_asked_for(self):
        status, said = self.release("tagged", "--tag")
        self.assertEqual(status, 0, said)
        tag = self.git("tag").strip()
        self.addCleanup(self.git, "tag", "-d", tag)
        self.assertRegex(tag, r"^v\d+\.\d+\.\d+(-dev)?$")
        self.assertEqual(self.git("rev-parse", tag + "^{commit}"),
                         self.git("rev-parse", "HEAD"))
        self.assertIn("### Added", self.git("tag", "-l", "-n9999", tag))

    def test_what_is_not_committed_is_refused(self):
        for name in ("README.md", "a file of nobody"):
            file = self.tree / name
            before = file.read_bytes() if file.exists() else None
            file.write_text("changed\n")
            status, said = self.release("refused")
            self.assertEqual(status, 1)
            self.assertIn("not committed", said)
            self.assertIn(name, said)
            self.assertFalse((self.top / "refused").exists())
            if before is None:
                file.unlink()
            else:
                file.write_bytes(before)


if __name__ == "__main__":
    unittest.main()
