#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One word means one thing: no retired word comes back.

Names of files, identifiers and comments are read word by word,
"request_under_way" as three words: of C, Java, Promela, Python, SQL, Lua, CMake
and shell scripts.  A word of RETIRED fails, and the text says what to write
instead.  With --count the words that are found are printed, each with how often,
and nothing fails.
"""
import collections
import io
import itertools
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A row: where the words are looked for, the words, what to say instead, the pairs
# in which a word has its plain meaning, and the paths that are read (all without).
# "any": in comments, too; "name": in identifiers and names of files only, because
# the word is a plain one in a sentence.
SOURCE = r"^(src|include)/"
TESTS = r"^(tests|bench|examples|proof)/"
RETIRED = (
    ("any", "inquiry inquiries errand errands deed deeds",
     "operation (of a user), request (core to engine), call (on the wire)"),
    ("any", "lookout lookouts", "queue watch"),
    ("any", "withdrawal withdrawals lurk lurks lurking",
     "removal, may still exist"),
    ("name", "withdraw withdraws withdrawn", "remove"),
    ("name", "lookers", "watchers"),
    ("name", "strikes", "attempts"),
    ("any", "bundle bundles", "multi-lock"),
    ("name", "whole", "detailed list; of a multi-lock: parent", "", SOURCE),
    ("name", "gate gates", "entry mutex; of a barrier: barrier"),
    ("name", "member members",
     "item (of a multi-lock), waiter (of a cohort), participant (of a double "
     "barrier)", "", r"^(?!.*etcd|tests/(simulator|conformance)/)"),  # of etcd
    ("name", "stamp stamps stamped stamping", "generation"),
    ("name", "raised lowered", "set, cleared (of a barrier)", "", SOURCE),
    ("name", "promise promised", "safe_until", "", SOURCE),
    ("any", "thorough", "waits for removal"),
    ("any", "candidature candidatures", "candidacy"),
    ("name", "departure departures", "leave"),
    ("name", "turns", "engine loop", "", SOURCE),
    ("any", "settle settles settled settling unsettled",
     "finish, run ready callbacks, commit"),
    ("name", "slot slots", "waiter", "", r"^src/client/"),
    ("name", "stake stakes", "ticket set"),
    ("any", "stranger strangers", "unknown node"),
    ("any", "greeting greetings goodbye goodbyes", "handshake, close"),
    ("any", "told tell tells telling untold", "notify, notified, say"),
    ("any", "hear hears heard hearing heed heeds heeded unheard",
     "receive, event"),
    ("any", "news", "event"),
    ("any", "trouble troubles troubled", "connection error, failure"),
    ("name", "place places placed",
     "position (in a queue); of the file engine: root directory", "", SOURCE),
    ("name", "site sites warm patience",
     "directory settings, open-directory cache, timed flock", "", SOURCE),
    ("name", "section sections", "locked section", "locked section",
     r"^src/engines/file/"),
    ("name", "hang", "FIFO watch", "", r"^src/engines/file/"),
    ("name", "front keeper sights", "launcher, supervisor, queue view",
     "in front,zoo keeper,keeper state"),
    ("name", "bid bids crowd torment wish wishes",
     "workload, workers, nemesis, plan"),
    ("any", "grave graves bury buried", "deferred free"),
    ("any", "plant plants planted", "mutation, mutant"),
    ("name", "world worlds stage desk hall shelf home seat seats kit cell "
     "venue act acts plays deed cue cues curtain witness witnesses round "
     "rounds scene scenes liar shortage shortages talk party",
     "fixture, cluster, fake server, fault injector, script, step, check, case",
     "each stage,round trip,round trips,protocol rounds,home directory,"
     "id home",
     TESTS),
)

SKIPPED = re.compile(r"^(tests/fuzz/corpus/|tests/lint/words\.py$)")
WORD = re.compile(r"[A-Za-z]+")


def grammar(comment, string=r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""):
    """What a text of a language has: comments, strings and names."""
    return re.compile("(?P<comment>%s)|(?P<string>%s)|(?P<name>[A-Za-z_]\\w*)"
                      % (comment, string), re.S)


# By the end of a file's name; the shebang of a script counts as ".sh".
GRAMMARS = (
    (re.compile(r"\.(c|h|cpp|hpp|java|pml)$"), grammar(r"/\*.*?\*/|//[^\n]*")),
    # The body of a function in $$ is read as SQL, too.
    (re.compile(r"\.sql$"), grammar(r"--[^\n]*|/\*.*?\*/", r"'[^']*'")),
    (re.compile(r"\.lua$"), grammar(r"--[^\n]*")),
    (re.compile(r"\.cmake$|(^|/)CMakeLists\.txt$"),
     grammar(r"\#[^\n]*", r'"(?:\\.|[^"\\])*"')),
    # A "#" inside of a word begins no comment.  Strings are read as the rest is,
    # because most of them are words of a command.
    (re.compile(r"\.sh$"), grammar(r"(?<!\S)\#[^\n]*", r"(?!)")),
)
SHEBANG = re.compile(r"#!.*\bsh\b")


def retired():
    """{word: (where, what to say instead, pairs in which it may stand, paths)}"""
    found = {}
    for where, words, instead, *more in RETIRED:
        pairs, paths = (more + ["", ""][len(more):])
        for word in words.split():
            found[word] = (where, instead,
                           {tuple(pair.split()) for pair in pairs.split(",")},
                           re.compile(paths))
    return found


def of_grammar(pattern, text):
    """Yields (is a comment, line, text) of each identifier and comment."""
    for match in pattern.finditer(text):
        if match["string"] is None:
            yield (match["comment"] is not None,
                   text.count("\n", 0, match.start()) + 1, match[0])


def of_python(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield True, token.start[0], token.string
        elif token.type == tokenize.NAME:
            yield False, token.start[0], token.string
        elif (token.type == tokenize.STRING
              and token.string.startswith('"""')):
            yield True, token.start[0], token.string  # a docstring


def pieces_of(path, text):
    """(is a comment, line, text) of each piece; None if nothing can read it."""
    if path.endswith(".py"):
        return of_python(text)
    name = path + ".sh" if SHEBANG.match(text) else path
    for pattern, found in GRAMMARS:
        if pattern.search(name):
            return of_grammar(found, text)
    return None


def findings(words, path, text):
    pieces = pieces_of(path, text)
    if pieces is None:
        return
    pieces = itertools.chain([(False, 0, re.sub(r"\W", "_", path))], pieces)
    for is_comment, line, piece in pieces:
        parts = [part.lower() for part in WORD.findall(
            re.sub(r"(?<=[a-z])(?=[A-Z])", "_", piece))]
        for at, part in enumerate(parts):
            if part not in words:
                continue
            where, instead, pairs, paths = words[part]
            if is_comment and where == "name" or not paths.search(path):
                continue
            if {tuple(parts[max(at - 1, 0):at + 1]),
                    tuple(parts[at:at + 2])} & pairs:
                continue
            yield part, line, piece, instead


def main():
    words = retired()
    counts = collections.Counter()
    count = sys.argv[1:] == ["--count"]
    paths = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"],
                           cwd=ROOT, check=True, text=True,
                           capture_output=True).stdout.splitlines()
    seen = set()
    for path in paths:
        if SKIPPED.search(path) or not (ROOT / path).is_file():
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for word, line, piece, instead in findings(words, path, text):
            counts[word] += 1
            if not count and (path, word, piece) not in seen:
                seen.add((path, word, piece))
                shown = piece if len(piece) < 60 else "a comment"
                print('%s:%d: "%s" in %s: expected %s (tests/lint/words.py)'
                      % (path, line, word, shown, instead), file=sys.stderr)
    if count:
        for word, times in counts.most_common():
            print("%6d %s" % (times, word))
        print("%6d words of the list are found" % len(counts))
        return 0
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
