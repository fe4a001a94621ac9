#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every option of a URL that a table has, an engine's or that of the ZooKeeper
client, is in its document and in holdfast-url(7), and neither names another one.

A document has a table with a row "| `KEY=...` | ..." for each option; where one
row is about several, each is in backquotes in its first column.  The manual page
has a section ".Ss ENGINE" with ".It Cm KEY= Ns Ar duration", or with several
keys in such a line; and it says which options the ZooKeeper client refuses.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {
    "engine-file.md": ["src/engines/file/root_settings.c"],
    "engine-zookeeper.md": ["src/engines/zookeeper/zk_config.c"],
    "engine-etcd.md": ["src/etcd/etcd_url.c"],
    "engine-redis.md": ["src/engines/redis/config.c"],
    "engine-quorum.md": ["src/engines/redis/quorum_open.c"],
    "engine-postgres.md": ["src/engines/postgres/config.c"],
    "zookeeper.md": ["src/zookeeper_client/zookeeper_open.c"],
}
PAGE = "docs/man/holdfast-url.7"
# Its sections.
SECTIONS = {
    "file": "engine-file.md",
    "zookeeper": "engine-zookeeper.md",
    "etcd": "engine-etcd.md",
    "redis": "engine-redis.md",
    "quorum": "engine-quorum.md",
    "postgresql": "engine-postgres.md",
}
# What stands for rows or for a key in a table, and the file that defines it.
MACROS = {"HF_RECONNECT_OPTION": "src/base/reconnect.h",
          "HF_PEM_OPTIONS": "src/base/url_options.h",
          "HF_CLOCK_DRIFT_OPTION": "src/base/url_options.h",
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


def on_page(text, section):
    """The keys of a section of the page."""
    part = re.search(r"^\.Ss %s\n(.*?)(?=^\.S[sh] )" % section, text, re.M | re.S)
    items = re.findall(r"^\.It Cm (.*)$", part[1], re.M) if part else []
    return {key for item in items for key in re.findall(r"(\w+)=", item)}


def refused_by_client(text):
    """The keys that the page says the ZooKeeper client does not take."""
    part = re.search(r"^takes the same URL, but none of\n(.*?\n)which ", text,
                     re.M | re.S)
    return set(re.findall(r"(\w+)=", part[1])) if part else set()


def differences(file, code, found, paths):
    """What to do so that ${found} in ${file} are the keys ${code}."""
    for key in sorted(code - found):
        yield "%s: expected a row for %s=, an option of %s" % (
            file, key, " ".join(paths))
    for key in sorted(found - code):
        yield "%s: %s= is no option of %s; expected no row for it" % (
            file, key, " ".join(paths))


def main():
    wrong = []
    for name, paths in DOCUMENTS.items():
        wrong += differences("docs/" + name, in_code(paths), in_document(name),
                             paths)
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    for section, name in SECTIONS.items():
        paths = DOCUMENTS[name]
        wrong += differences("%s, %s" % (PAGE, section), in_code(paths),
                             on_page(text, section), paths)
    locks = DOCUMENTS["engine-zookeeper.md"]
    wrong += differences(
        PAGE + ", 'but none of'",
        in_code(locks) - in_code(DOCUMENTS["zookeeper.md"]),
        refused_by_client(text), locks)
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
