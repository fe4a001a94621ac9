# SPDX-License-Identifier: Apache-2.0
"""The engines with their real servers, for tests that are the same on
each.

    with real_engines.url(HOLDFAST, "redis") as url: ...
"""

import contextlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "servers"))

import machine  # noqa: E402

ENGINES = ("file", "zookeeper", "etcd", "redis", "postgres")


@contextlib.contextmanager
def url(holdfast, engine):
    """The URL of an engine whose server runs until the end of the context;
    holdfast is the path of the tool."""
    if engine == "file":
        with machine.temporary("locks") as directory:
            yield "file:" + directory
    elif engine == "zookeeper":
        from zookeeper import Standalone
        with contextlib.closing(Standalone(tick_ms=2000)) as server:
            yield "zk://" + server.address()
    elif engine == "etcd":
        import etcd
        with etcd.Server() as server:
            yield "etcd://" + server.address()
    elif engine == "redis":
        import redis_server
        with contextlib.closing(redis_server.Server()) as server:
            server.start()
            yield server.url()
    elif engine == "postgres":
        import postgres
        with contextlib.closing(postgres.Server()) as server:
            server.sql(subprocess.run([holdfast, "sql"], capture_output=True,
                                      text=True, check=True).stdout)
            yield server.tcp_url()
    else:
        raise ValueError("no engine '%s'; expected one of %s" % (
            engine, ", ".join(ENGINES)))
