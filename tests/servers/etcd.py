# SPDX-License-Identifier: Apache-2.0
"""A real etcd, of Debian's etcd-server: one member or several, on free ports of
their hosts and in directories of their own."""

import glob
import os
import random
import shutil
import signal
import subprocess
import time

import etcd_data
import etcd_gateway
import machine
import waiting
from certificates import Certificates
from etcd_gateway import encoded
from frozen_disk import FrozenDisk

PROGRAMS = ["/usr/bin/etcd", "/usr/local/bin/etcd"]

# The user who may do everything once require_users() was called.
ROOT = "root:secret"


def program():
    for path in [os.environ.get("HF_ETCD_PROGRAM", ""), *PROGRAMS]:
        if path and os.path.exists(path):
            return path
    raise SystemExit("no %s; is etcd-server installed?" % PROGRAMS[0])


class Server:
    """One member, by default of a cluster of one.  Not started when made.  A
    context manager, which removes everything."""

    def __init__(self, name="one", tls=False, client_auth=False,
                 certificate="server", config=None, environment=None,
                 host=machine.LOCALHOST, directory=None):
        """tls adds a port; client_auth: clients must show a certificate there,
        whose common name is then their user; certificate names the one shown
        to clients, a file of Certificates.  config are options of the program
        without the two dashes, by name."""
        self.name = name
        self.host = host
        self.process = None
        self.disk = None  # while it is frozen
        self.starts = 0
        self.directory = directory or machine.directory()
        self.data = os.path.join(self.directory, "data")
        self.claims = [machine.Port(host), machine.Port(host)]
        self.port, self.peer_port = [claim.number for claim in self.claims]
        self.tls_port = None
        self.credential = None  # of the user root, when there are users
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("ETCD_")}
        self.environment.update(environment or {})
        self.config = {
            "name": name,
            "data-dir": self.data,
            "listen-client-urls": self.url("http", self.port),
            "advertise-client-urls": self.url("http", self.port),
            "listen-peer-urls": self.peer_url(),
            "initial-advertise-peer-urls": self.peer_url(),
            "initial-cluster": "%s=%s" % (name, self.peer_url()),
            "initial-cluster-state": "new",
            # With 10 each authentication takes 50 ms of a processor.
            "bcrypt-cost": 4,
            "logger": "zap",
            "log-outputs": "stderr",
        }
        if tls or client_auth:
            self.add_tls(client_auth, certificate)
        self.config.update(config or {})

    def add_tls(self, client_auth, certificate):
        self.certificates = Certificates(self.directory)
        self.claims.append(machine.Port(self.host))
        self.tls_port = self.claims[-1].number
        urls = "%s,%s" % (self.config["listen-client-urls"],
                          self.url("https", self.tls_port))
        self.config.update({
            "listen-client-urls": urls, "advertise-client-urls": urls,
            "cert-file": self.certificates.path(certificate + ".pem"),
            "key-file": self.certificates.path(certificate + ".key")})
        if client_auth:
            self.config.update({
                "client-cert-auth": "true",
                "trusted-ca-file": self.certificates.path("ca.pem")})

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    # ---- life

    def launch(self):
        """Start the process and do not wait until it serves."""
        self.starts += 1
        with open(self.log_path(self.starts), "w") as log:
            self.process = machine.Process(
                [program(), *("--%s=%s" % item
                              for item in self.config.items())],
                host=self.host, stdout=log, stderr=subprocess.STDOUT,
                cwd=self.directory, env=self.environment)

    def start(self):
        self.launch()
        self.wait()

    def wait(self):
        """Until it serves, with a leader."""
        def serves():
            if not self.process.is_alive():
                raise AssertionError("the member died:\n" + self.tail())
            return self.leader_id() and (not self.tls_port or
                                         self.host.is_open(self.tls_port))
        try:
            waiting.eventually("etcd to serve", serves)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.tail())) from None

    def kill(self):
        """kill -9."""
        if self.process:
            self.process.kill()

    def stop(self):
        """SIGTERM, and wait for its end."""
        self.process.signal(signal.SIGTERM)
        self.process.popen.wait(waiting.LIMIT_S)

    def restart(self, empty=False):
        """On the same ports, with the same data or with none."""
        self.kill()
        if empty:
            shutil.rmtree(self.data, ignore_errors=True)
        self.start()

    def freeze(self):
        self.process.freeze()

    def thaw(self):
        self.process.thaw()

    def thaw_in_slices(self, slices=30, seed=None):
        """The process runs for moments and stands still between them, as on a
        machine that has no processor left, and runs on at the end."""
        chance = random.Random(seed)
        for _ in range(slices):
            self.thaw()
            time.sleep(chance.uniform(0.0002, 0.003))
            self.process.signal(signal.SIGSTOP)
            time.sleep(chance.uniform(0.05, 0.2))
        self.thaw()

    def freeze_disk(self):
        """The disk of its log, which may be one of its own (--wal-dir), does
        not answer any more; where frozen_disk.is_possible()."""
        self.disk = FrozenDisk(self.process.pid, glob.glob(
            os.path.join(glob.escape(self.data), "member/wal/*.wal")))

    def thaw_disk(self):
        if self.disk:
            self.disk.thaw()
        self.disk = None

    def close(self):
        self.thaw_disk()
        self.kill()
        for claim in self.claims:
            claim.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- what it says

    @property
    def servers(self):
        return [self]

    def url(self, scheme, port):
        return "%s://%s:%d" % (scheme, self.host.address, port)

    def peer_url(self):
        return self.url("http", self.peer_port)

    def address(self):
        return "%s:%d" % (self.host.address, self.port)

    def tls_address(self):
        return "%s:%d" % (self.host.address, self.tls_port)

    def client(self, **options):
        options.setdefault("credential", self.credential)
        return etcd_gateway.Client(self.port, host=self.host, **options)

    def tls_client(self, shows=None, **options):
        return etcd_gateway.Client(self.tls_port, host=self.host, shows=shows,
                                   certificates=self.certificates, **options)

    def status(self):
        """None if it does not answer.  It needs no rights."""
        try:
            with self.client(timeout_s=2, credential=None) as client:
                return client.status()
        except (OSError, etcd_gateway.Error,
                etcd_gateway.http.client.HTTPException):
            return None

    def leader_id(self):
        """The number of the leader that it knows; 0 if there is none, or if it
        does not answer."""
        return int((self.status() or {}).get("leader", 0))

    def number(self):
        """By which the cluster knows it; 0 if it does not answer."""
        return int((self.status() or {"header": {}})["header"].get(
            "member_id", 0))

    def version(self):
        return self.status()["version"]

    def checks_leader(self):
        """Whether a leader looks if it still is one before it ends leases: from
        3.4.31 and 3.5.13 on (docs/engine-etcd.md)."""
        major, minor, patch = map(int, self.version().split("-")[0].split("."))
        return (major, minor, patch) >= (3, 5, 13) or \
            minor == 4 and patch >= 31

    # ---- what is done to it

    def require_users(self, *credentials, prefix=""):
        """From now on there are users: root, and those that are given, who may
        do what they like below the prefix."""
        with self.client() as client:
            for credential in credentials:
                client.allow(credential, [prefix])
            client.require_users(ROOT)
        self.credential = ROOT

    def save(self, path):
        """A snapshot of what it has."""
        self.etcdctl("snapshot", "save", path)

    def restore(self, path):
        """Begin anew with what the snapshot has, as a cluster of one."""
        self.kill()
        shutil.rmtree(self.data, ignore_errors=True)
        self.etcdctl("snapshot", "restore", path, *(
            "--%s=%s" % (name, self.config[name]) for name in (
                "name", "data-dir", "initial-cluster",
                "initial-advertise-peer-urls")))
        self.start()

    def etcdctl(self, *words):
        subprocess.run(["etcdctl", *words], check=True, capture_output=True,
                       timeout=waiting.LIMIT_S, stdin=subprocess.DEVNULL,
                       env=dict(self.environment, ETCDCTL_API="3",
                                ETCDCTL_ENDPOINTS=self.address()))

    def compact(self):
        """Forget all revisions but the last; whether that could be done."""
        try:
            with self.client(timeout_s=2) as client:
                client.compact()
        except etcd_gateway.Error:
            return False  # it is done already, or there is no leader
        return True

    def fill(self):
        """Write until there is no space left, and the alarm is raised."""
        block = encoded(b"x" * (512 << 10))
        with self.client() as client:
            def is_full():
                try:
                    for _ in range(64):
                        client.ask("kv/put", key=encoded("fill"), value=block)
                except etcd_gateway.Error as error:
                    if "space exceeded" not in str(error):
                        raise
                return "NOSPACE" in client.alarms()
            waiting.eventually("the alarm NOSPACE", is_full)

    def raise_alarm(self, alarm):
        """Of this member: by its name, or a number that has none."""
        with self.client() as client:
            client.ask("maintenance/alarm", action="ACTIVATE", alarm=alarm,
                       memberID=str(self.number()))

    def make_space(self):
        """Undo what fill() has done."""
        with self.client() as client:
            client.delete("fill")
            client.compact(physical=True)
            client.defragment()
            client.disarm()

    @property
    def database(self):
        return os.path.join(self.data, "member", "snap", "db")

    def advance(self, revisions):
        """Restart it as if so many transactions more had been made."""
        with self.client() as client:
            last = client.put("advance")
        self.stop()
        etcd_data.advance(self.database, last, last + revisions)
        self.start()

    def grow(self, size):
        """Restart it with a database of that many bytes, most of them free."""
        self.stop()
        etcd_data.grow(self.database, size)
        self.start()

    # ---- its log

    def log_path(self, start):
        return os.path.join(self.directory, "%s.log.%d" % (self.name, start))

    def log(self):
        """All it logged, of all its lives."""
        text = ""
        for start in range(1, self.starts + 1):
            with open(self.log_path(start), errors="replace") as file:
                text += file.read()
        return text

    def tail(self):
        return self.log()[-3000:]


class Cluster:
    """Several members.  Not started when made.  A context manager, which
    removes everything."""

    def __init__(self, size=3, hosts=None, config=None, **options):
        """hosts has one for each member."""
        self.servers = []
        self.credential = None
        try:
            for number, host in enumerate(hosts or
                                          size * [machine.LOCALHOST], 1):
                self.servers.append(Server("member%d" % number, host=host,
                                           config=config, **options))
        except BaseException:
            self.close()
            raise
        everybody = ",".join("%s=%s" % (server.name, server.peer_url())
                             for server in self.servers)
        for server in self.servers:
            server.config["initial-cluster"] = everybody

    def __enter__(self):
        try:
            for server in self.servers:
                server.launch()
            self.wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for server in self.servers:
            server.close()

    def wait(self):
        """Until every member that runs serves."""
        for server in self.servers:
            if server.process.is_alive():
                server.wait()

    def address(self, servers=None):
        """As in a URL."""
        return ",".join(server.address()
                        for server in servers or self.servers)

    def running(self):
        """Neither dead nor frozen."""
        return [server for server in self.servers
                if server.process.is_alive() and
                server.process.state() not in "TZ"]

    def leads(self):
        """The member that leads, or None.  A leader that was cut off may think
        for a while that it still is; the one with the later term counts."""
        found = []
        for server in self.running():
            status = server.status()
            if status and status.get("leader") == \
                    status["header"]["member_id"]:
                found.append((int(status.get("raftTerm", 0)), server.port,
                              server))
        return max(found)[2] if found else None

    def leader(self):
        """The member that leads, once there is one."""
        return waiting.eventually("a leader", self.leads)

    def followers(self):
        leader = self.leader()
        return [one for one in self.running() if one is not leader]

    def client(self, **options):
        return self.leader().client(**options)

    def compact(self):
        self.leader().compact()

    def require_users(self, *credentials, prefix=""):
        self.leader().require_users(*credentials, prefix=prefix)
        self.credential = ROOT
        for server in self.servers:
            server.credential = ROOT
