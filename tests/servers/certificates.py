# SPDX-License-Identifier: Apache-2.0
"""Certificates for a test, made with the openssl command: good ones, and ones
that a client must refuse."""

import os
import subprocess


# `openssl req` knows no dates that are past; `openssl ca` does, and wants this.
CA_CONFIG = """
[ca]
default_ca = here
[here]
database = %(directory)s/database
new_certs_dir = %(directory)s
serial = %(directory)s/serial
default_md = sha256
policy = any
x509_extensions = leaf
[any]
commonName = supplied
[leaf]
basicConstraints = critical,CA:FALSE
%(alternative)s
"""


def run(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True,
                   stdin=subprocess.DEVNULL)


class Certificates:
    """Files in a directory: NAME.pem is the certificate, NAME.key its key,
    NAME.store both, as ZooKeeper reads them.

        ca             signed server, client, wrong_name and expired
        other_ca       signed untrusted; no test trusts it
        server         for 127.0.0.1 and localhost
        client         for a client to show
        wrong_name     for a server of another name
        untrusted      for 127.0.0.1, but of the other CA
        expired        as server, but over for years
    """

    def __init__(self, directory):
        self.directory = directory
        here = "subjectAltName=IP:127.0.0.1,DNS:localhost"
        self.authority("ca")
        self.authority("other_ca")
        self.leaf("server", "ca", here)
        self.leaf("client", "ca", "subjectAltName=DNS:client.test")
        self.leaf("wrong_name", "ca", "subjectAltName=DNS:elsewhere.test")
        self.leaf("untrusted", "other_ca", here)
        self.expired("expired", "ca", here)

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name, extension, *signer):
        run("req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-noenc", "-days", "2",
            "-subj", "/CN=holdfast test " + name, "-addext", extension,
            "-keyout", self.path(name + ".key"),
            "-out", self.path(name + ".pem"), *signer)

    def authority(self, name):
        self.make(name, "keyUsage=critical,keyCertSign")

    def leaf(self, name, authority, alternative):
        self.make(name, alternative, "-addext",
                  "basicConstraints=critical,CA:FALSE",
                  "-CA", self.path(authority + ".pem"),
                  "-CAkey", self.path(authority + ".key"))
        self.store(name)

    def expired(self, name, authority, alternative):
        self.make(name, alternative)
        extensions, request = self.path(name + ".ext"), self.path(name + ".csr")
        with open(extensions, "w") as file:
            file.write(CA_CONFIG % {"directory": self.directory,
                                    "alternative": alternative})
        run("x509", "-x509toreq", "-in", self.path(name + ".pem"),
            "-signkey", self.path(name + ".key"), "-out", request)
        open(self.path("database"), "w").close()
        run("ca", "-batch", "-notext", "-create_serial", "-config", extensions,
            "-startdate", "20200101000000Z", "-enddate", "20200201000000Z",
            "-cert", self.path(authority + ".pem"),
            "-keyfile", self.path(authority + ".key"),
            "-in", request, "-out", self.path(name + ".pem"))
        self.store(name)

    def store(self, name):
        with open(self.path(name + ".store"), "w") as store:
            for part in (".key", ".pem"):
                with open(self.path(name + part)) as file:
                    store.write(file.read())
