# SPDX-License-Identifier: Apache-2.0
"""holdfast-url(7) against the tool: each parameter is given a value that no
parameter takes, and what the error text says is expected stands on the page: the
range, and the words.  That the page has all parameters and no other is seen by
tests/lint/options.py."""

import os
import re

import harness

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir, "docs", "man", "holdfast-url.7")
# A URL for each section of the page, to which a parameter can be added; there is
# no server.
URLS = {
    "file": "file:/nonexistent",
    "zookeeper": "zks://127.0.0.1:1",
    "etcd": "etcds://127.0.0.1:1",
    "redis": "rediss://127.0.0.1:1",
    "quorum": "quorum:rediss://127.0.0.1:1,rediss://127.0.0.1:2,"
              "rediss://127.0.0.1:3",
    "postgresql": "postgresql://127.0.0.1:1",
}
# Neither a number, a duration, a word of a list nor a path.
BAD_VALUE = "-"


def sections():
    """{name: text} of the engines."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    return dict(re.findall(r"^\.Ss (\w+)\n(.*?)(?=^\.S[sh] )", text,
                           re.M | re.S))


def items(text):
    """(keys, what is said of them) of the lists of a section."""
    for names, said in re.findall(
            r"((?:^\.It Cm .*\n)+)((?:(?!\.It |\.El).*\n)*)", text, re.M):
        yield re.findall(r"(\w+)=", names), said


def expected(key, error):
    """What an error text expects as the value of ${key}: phrases of the page."""
    span = re.search(r"; expected [^:]* from (\S+) to ([0-9a-z]+)", error)
    if span:
        yield "from %s to %s" % span.groups()
    words = re.search(r"; expected %s=([\w -]+):" % key, error)
    for word in words[1].split(" or ") if words else []:
        yield ".Cm %s " % word


class Page(harness.Case):
    def error(self, section, key):
        """What the tool says of the bad value; of one that is taken, that there
        is no server."""
        error = self.run_tool("-w", "1ms", "-c", "%s?%s=%s" % (
            URLS[section], key, BAD_VALUE), "name", command="show")[2]
        if "no engine for" in error:
            self.skipTest(error)
        return error

    def test_each_parameter(self):
        found = sections()
        phrases = []
        for section in URLS:
            for keys, said in items(found[section]):
                for key in keys:
                    error = self.error(section, key)
                    self.assertNotIn("does not know the option", error)
                    for phrase in expected(key, error):
                        phrases.append(phrase)
                        self.assertIn(phrase, " ".join(said.split()) + " ",
                                      (section, key))
        self.assertGreater(len(phrases), 20, phrases)


if __name__ == "__main__":
    harness.main()
