# SPDX-License-Identifier: Apache-2.0
"""The relative links of a document."""
import re

# Of an image, too; and of another form of link than we write.
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: *(\S+)|(?:href|src)=\"([^\"]+)\"",
                  re.MULTILINE)


def links(document):
    """They, without their anchors."""
    for match in LINK.finditer(document.read_text()):
        path = "".join(filter(None, match.groups())).partition("#")[0]
        if path and not re.match("[a-z]+:", path):
            yield path


def broken(document):
    """Those that lead nowhere."""
    return [path for path in links(document)
            if not (document.parent / path).exists()]
