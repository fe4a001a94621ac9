#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write the documents of the tree as they are installed.

    installed_documents.py SOURCE OUTPUT HEADERS FILE...

Each FILE, a path in SOURCE, is written below OUTPUT, which is emptied first.
HEADERS is the way from there to the headers when both are installed.

A document is read in the tree, too, where it links to files that are not
installed beside it.  There each link to one becomes its text, and the name of
what a reader looks for: a page of the manual, a file of the source.  A link to
a header becomes one to the installed header."""
import os
import pathlib
import re
import shutil
import sys

LINK = re.compile(r"\[([^][]+)\]\(([^)\s]+)\)")
PAGE = re.compile(r"docs/man/([\w-]+)\.(\d)")


class Documents:

    def __init__(self, files, headers):
        self.files = set(files)
        self.headers = headers

    def is_installed(self, path):
        """Is ${path} one of the files, or a directory with one of them?"""
        return any(file == path or file.startswith(path + "/")
                   for file in self.files)

    def link(self, document, text, target):
        """What a link of ${document} becomes."""
        path, _, anchor = target.partition("#")
        if not path or re.match("[a-z]+:", path):
            return None
        directory = os.path.dirname(document)
        path = os.path.normpath(os.path.join(directory, path))
        if self.is_installed(path):
            return None
        if path.startswith("include/"):
            way = os.path.relpath(self.headers, directory or ".")
            return f"[{text}]({way}{path.removeprefix('include')})"
        page = PAGE.fullmatch(path)
        if page:
            name = f"{page[1]}({page[2]})"
            return text if text == name else f"{text} ({name})"
        if path == "docs/man":
            return text
        return (f"`{path}` of the source" if text.strip("`").endswith(path)
                else f"{text} (`{path}` of the source)")

    def installed(self, document, content):
        return LINK.sub(
            lambda match: self.link(document, match[1], match[2]) or match[0],
            content)


def main(source, output, headers, files):
    documents = Documents(files, headers)
    shutil.rmtree(output, ignore_errors=True)
    for name in files:
        copy = output / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, copy)
        copy.chmod(0o755 if os.access(source / name, os.X_OK) else 0o644)
        if name.endswith(".md"):
            copy.write_text(documents.installed(name, copy.read_text()))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3],
         sys.argv[4:])
