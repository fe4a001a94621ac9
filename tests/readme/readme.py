# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md and of the pages behind it in order, and its programs,
so that these documents and the tests stay the same."""
from document import Document

# The first words of commands.
TYPED = ("./dev", "./nightly", "cc", "holdfast", "python3",
         "sudo")

# How programs begin.
PROGRAMS = {"nightly.c": "#include", "nightly.py": "import "}

# Where commands stand, in the order in which a reader follows them.
DOCUMENTS = ("README.md", "docs/install.md", "docs/tour.md")

# Servers of the reader's own, as these documents call them, and how
# tests/servers/serve.py says where its own are.
SERVERS = {"zk://127.0.0.1:2181": ("zookeeper", "zk://$HF_ZK"),
           "redis://127.0.0.1:6379": ("redis", "redis://$HF_REDIS"),
           "etcd://127.0.0.1:2379": ("etcd", "etcd://$HF_ETCD"),
           "postgresql://127.0.0.1/locks": ("postgres", "$HF_PG")}


class Readme:
    """.commands; .programs: {name of the file: text}; .transcripts of README.md
    alone"""

    def __init__(self, source):
        texts = [text for name in DOCUMENTS
                 for text in Document(source / name).texts()]
        self.transcripts = [text for text in
                            Document(source / "README.md").texts()
                            if text.startswith("$ ")]
        self.programs = {}
        for name, start in PROGRAMS.items():
            self.programs[name], = [text for text in texts
                                    if text.startswith(start)]
        self.commands = [line for text in texts if self.is_typed(text)
                         for line in text.splitlines()]

    @staticmethod
    def is_typed(text):
        """Are these commands?  Not a program, what a command prints, nor a
        synopsis with its brackets."""
        if text.startswith(("$ ", *PROGRAMS.values())) or "..." in text:
            return False
        for line in text.splitlines():
            assert line.split()[0] in TYPED, \
                f"a document has {line!r}, which no test runs"
        return True


def server_of(command):
    """The server that ${command} needs, and the command with its address."""
    for address, (server, ours) in SERVERS.items():
        if address in command:
            return server, command.replace(address, ours)
    return None, command
