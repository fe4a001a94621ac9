#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run a command beside a server that lives no longer than it.

    serve.py files|redis|redis-cluster|quorum -- COMMAND [ARG...]
    serve.py postgres|etcd|etcd-cluster -- COMMAND [ARG...]
    serve.py zookeeper|tls|sasl|ensemble|reconfig|exhausted [--tick-ms N]
             [--container-check-ms N] [--client-auth none|want|need]
             [--path PATH --counter N] -- COMMAND [ARG...]

exhausted is a server on which the child counter of PATH is 2147483645, and
reconfig an ensemble of one that may be reconfigured.  sasl is a server that
requires SASL by DIGEST-MD5; alice has the password secret, and bob word.  The
command finds in its environment

    HOLDFAST_DIR      a directory for locks (files)
    HF_REDIS          host:port (redis), and the path of its unix socket
    HF_REDIS_SOCKET
    HF_REDIS_CLUSTER  host:port,host:port,host:port (redis-cluster)
    HF_QUORUM         host:port of three servers that know nothing of each
                      other, ',' between (quorum)
    HF_PG             postgresql://... without options (postgres)
    HF_ETCD           host:port[,host:port...] (etcd, of three members with
                      etcd-cluster)
    HF_ZK             host:port[,host:port...]
    HF_ZK_LOGS        directories with the servers' logs, log.N, ':' between
    HF_ZK_PATH        PATH (exhausted)
    HF_ZK_SUPER       USER:PASSWORD of the superuser (reconfig)
    HF_ZK_TLS         host:port (tls), and of the certificates
    HF_ZK_CERTS       their directory; certificates.py says what is in it

and its exit status, 128 + N for signal N, becomes that of serve.py.
"""

import argparse
import os
import signal
import sys

import etcd
import machine
import redis_server
from ensemble import Ensemble
from redis_cluster import Cluster
from zookeeper import Standalone, digest_section, superuser

STICKY_PATH = "/locks/exhausted"

# An ensemble of one, not a server that is alone, may be reconfigured.
RECONFIGURABLE = {"standaloneEnabled": "false", "reconfigEnabled": "true"}
SUPER = "super:secret"


# A server that keeps its tickets, of which no client warns.  A crash of this
# machine does not matter to a test.
REDIS = ["appendonly yes", "appendfsync no"]


def ended(number, _):
    sys.exit(128 + number)  # by way of the servers' ends


def options(arguments):
    parser = argparse.ArgumentParser(prog="serve.py")
    parser.add_argument("kind", choices=["files", "zookeeper", "tls", "ensemble",
                                         "reconfig", "sasl", "exhausted", "postgres", "redis",
                                         "redis-cluster", "quorum",
                                         "etcd", "etcd-cluster", "etcd-tls"])
    parser.add_argument("--tick-ms", type=int, default=500)
    parser.add_argument("--container-check-ms", type=int)
    parser.add_argument("--client-auth", default="none")
    parser.add_argument("--path", default=STICKY_PATH)
    parser.add_argument("--counter", type=int, default=2147483645)
    if "--" not in arguments:
        parser.error("expected -- and a command")
    at = arguments.index("--")
    found = parser.parse_args(arguments[:at])
    found.command = arguments[at + 1:]
    if not found.command:
        parser.error("expected a command after --")
    return found


def start(o):
    if o.kind == "files":
        return machine.temporary("locks")
    if o.kind == "redis":
        return redis_server.Server(REDIS)
    if o.kind == "redis-cluster":
        return Cluster(config=REDIS)
    if o.kind == "quorum":
        return redis_server.Several(3, config=REDIS)
    if o.kind == "postgres":
        import postgres  # only here, because it needs psycopg2
        return postgres.Server()
    if o.kind == "etcd":
        return etcd.Server()
    if o.kind == "etcd-tls":
        return etcd.Server(tls=True)
    if o.kind == "etcd-cluster":
        return etcd.Cluster()
    common = {"tick_ms": o.tick_ms,
              "container_check_ms": o.container_check_ms}
    if o.kind == "ensemble":
        return Ensemble(**common)
    if o.kind == "reconfig":
        return Ensemble(hosts=(machine.LOCALHOST,), config=RECONFIGURABLE,
                        properties=superuser(SUPER), **common)
    if o.kind == "sasl":
        return Standalone(sasl=digest_section(alice="secret", bob="word"),
                          **common)
    if o.kind == "tls":
        return Standalone(tls=True, client_auth=o.client_auth, **common)
    if o.kind == "exhausted":
        return Standalone(prepared=(o.path, o.counter), **common)
    return Standalone(**common)


def environment(o, server):
    if o.kind == "files":
        return {"HOLDFAST_DIR": server}
    if o.kind == "redis":
        return {"HF_REDIS": server.address(),
                "HF_REDIS_SOCKET": server.socket}
    if o.kind == "redis-cluster":
        return {"HF_REDIS_CLUSTER": server.address()}
    if o.kind == "quorum":
        return {"HF_QUORUM": ",".join(one.address() for one in server.servers)}
    if o.kind == "postgres":
        return {"HF_PG": server.url()}
    if o.kind == "etcd-tls":
        return {"HF_ETCD": server.address(),
                "HF_ETCD_TLS": server.tls_address(),
                "HF_ETCD_CERTS": server.certificates.directory}
    if o.kind in ("etcd", "etcd-cluster"):
        return {"HF_ETCD": server.address()}
    servers = getattr(server, "servers", [server])
    found = {"HF_ZK": ",".join(one.address() for one in servers),
             "HF_ZK_LOGS": ":".join(one.directory for one in servers)}
    if o.kind == "tls":
        found["HF_ZK_TLS"] = server.tls_address()
        found["HF_ZK_CERTS"] = server.certificates.directory
    if o.kind == "reconfig":
        found["HF_ZK_SUPER"] = SUPER
    if o.kind == "exhausted":
        found["HF_ZK_PATH"] = o.path
    return found


def main():
    o = options(sys.argv[1:])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    with start(o) as server:
        # In our process group, as if our caller had started it.
        command = machine.Process(
            o.command, stdin=None, process_group=None,
            env=dict(os.environ, **environment(o, server)))
        try:
            status = command.popen.wait()
        finally:
            command.kill()
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
