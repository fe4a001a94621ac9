# SPDX-License-Identifier: Apache-2.0
"""Certificates for a test, made with the openssl command: good ones, and ones
that a client must refuse."""

import os
import subprocess


class Certificates:
    """Files in a directory: NAME.pem is the certificate, NAME.key its key,
    NAME.store both, as ZooKeeper reads them.

        ca             signed server, client and wrong_name
        other_ca       signed stranger, and nobody trusts it
        server         for 127.0.0.1 and localhost
        client         for a client to show
        wrong_name     for a server of another name
        stranger       for 127.0.0.1, but of the other CA
    """

    def __init__(self, directory):
        self.directory = directory
        here = "subjectAltName=IP:127.0.0.1,DNS:localhost"
        self.authority("ca")
        self.authority("other_ca")
        self.leaf("server", "ca", here)
        self.leaf("client", "ca", "subjectAltName=DNS:client.test")
        self.leaf("wrong_name", "ca", "subjectAltName=DNS:elsewhere.test")
        self.leaf("stranger", "other_ca", here)

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name, extension, *signer):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2",
             "-subj", "/CN=holdfast test " + name, "-addext", extension,
             "-keyout", self.path(name + ".key"),
             "-out", self.path(name + ".pem"), *signer],
            check=True, capture_output=True, stdin=subprocess.DEVNULL)

    def authority(self, name):
        self.make(name, "keyUsage=critical,keyCertSign")

    def leaf(self, name, authority, alternative):
        self.make(name, alternative, "-addext",
                  "basicConstraints=critical,CA:FALSE",
                  "-CA", self.path(authority + ".pem"),
                  "-CAkey", self.path(authority + ".key"))
        with open(self.path(name + ".store"), "w") as store:
            for part in (".key", ".pem"):
                with open(self.path(name + part)) as file:
                    store.write(file.read())
