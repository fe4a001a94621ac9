#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every option of a URL that a table has, an engine's or that of the ZooKeeper
client, is in its document, and the document names no other one.

A document has a table with a row "| `KEY=...` | ..." for each option; where one
row is about several, each is in backquotes in its first column.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {
    "engine-file.md": ["src/engines/file/root_settings.c"],
    "engine-zookeeper.md": ["src/engines/zookeeper/zk_config.c"],
    "engine-redis.md": ["src/engines/redis/config.c"],
    "engine-quorum.md": ["src/engines/redis/quorum_open.c"],
    "engine-postgres.md": ["src/engines/postgres/config.c"],
    "zookeeper.md": ["src/zookeeper_client/zookeeper_open.c"],
}
# What stands for rows or for a key in a table, and the file that defines it.
MACROS = {"HF_RECONNECT_OPTION": "src/core/reconnect_policy.h",
          "HF_PEM_OPTIONS": "src/core/pem_files.h",
          "HF_ZK_URL_OPTIONS": "src/zookeeper/zk_url.h"}


def defined(macro):
    """The keys that ${macro} stands for."""
    text = (ROOT / MACROS[macro]).read_text(encoding="utf-8")
    body = re.search(r"^#define %s\b((?:.*\\\n)*.*)" % macro, text, re.M)[1]
    one_key = re.fullmatch(r'\s*"(\w+)"\s*', body)
    return {one_key[1]} if one_key else in_rows(body)


def in_rows(text):
    """The keys that the rows ${text} have."""
    keys = set(re.findall(r'\.key = "(\w+)"', text))
    return keys.union(*(defined(macro) for macro in MACROS if macro in text))


def in_code(paths):
    keys = set()
    for path in paths:
        text = (ROOT / path).read_text(encoding="utf-8")
        table = text[text.index("struct hf_url_option_row rows[]"):]
        keys |= in_rows(table[:table.index("\n};")])
    return keys


def in_document(name):
    keys = set()
    for line in (ROOT / "docs" / name).read_text(
            encoding="utf-8").splitlines():
        if line.startswith("| `"):
            first = line.split("|")[1]
            keys.update(re.findall(r"`(\w+)=[^`]*`", first))
    return keys


def main():
    wrong = False
    for name, paths in DOCUMENTS.items():
        code, document = in_code(paths), in_document(name)
        for key in sorted(code - document):
            print("docs/%s: expected a row for %s=, an option of %s"
                  % (name, key, " ".join(paths)), file=sys.stderr)
        for key in sorted(document - code):
            print("docs/%s: %s= is no option of %s; expected no row for it"
                  % (name, key, " ".join(paths)), file=sys.stderr)
        wrong |= code != document
    return wrong


if __name__ == "__main__":
    sys.exit(main())
