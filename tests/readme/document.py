# SPDX-License-Identifier: Apache-2.0
"""The indented blocks of a document: commands, programs and transcripts.  Tests
run what readers are shown."""
import re


class Document:
    """A document and its indented blocks, without their indent.

    .text
    .blocks   [(the line before it, the block)]
    """

    def __init__(self, path):
        self.text = path.read_text()
        self.blocks = [
            (self.text[:match.start()].strip().rpartition("\n")[2],
             re.sub(r"(?m)^    ", "", match[0]).strip("\n") + "\n")
            for match in re.finditer(r"(?m)(?:^    .*\n|^\n(?=    ))+",
                                     self.text)]

    def texts(self):
        """The blocks alone."""
        return [block for _, block in self.blocks]
