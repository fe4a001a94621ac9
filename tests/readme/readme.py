# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md in order, and its program in C, so that README.md
and the tests stay the same."""
from document import Document

# The first words of commands.
TYPED = ("./dev", "./nightly", "cc", "holdfast", "sudo")

# Servers of the reader's own, as README.md calls them, and how
# tests/servers/serve.py says where its own are.
SERVERS = {"zk://127.0.0.1:2181": ("zookeeper", "zk://$HF_ZK"),
           "redis://127.0.0.1:6379": ("redis", "redis://$HF_REDIS"),
           "postgresql://127.0.0.1/locks": ("postgres", "$HF_PG")}


class Readme:
    """.commands and .program"""

    def __init__(self, path):
        texts = Document(path).texts()
        programs = [text for text in texts if text.startswith("#include")]
        assert len(programs) == 1, programs
        self.program = programs[0]
        self.commands = [line for text in texts if self.is_typed(text)
                         for line in text.splitlines()]

    @staticmethod
    def is_typed(text):
        """Are these commands?  Not the program, what a command prints, nor a
        synopsis with its brackets."""
        if text.startswith(("#include", "$ ")) or "..." in text:
            return False
        for line in text.splitlines():
            assert line.split()[0] in TYPED, \
                f"README.md has {line!r}, which no test runs"
        return True


def server_of(command):
    """The server that ${command} needs, and the command with its address."""
    for address, (server, ours) in SERVERS.items():
        if address in command:
            return server, command.replace(address, ours)
    return None, command
