# SPDX-License-Identifier: Apache-2.0
"""A real ZooKeeper server, of Debian's libzookeeper-java, on free ports of its
host and in a directory of its own."""

import base64
import datetime
import hashlib
import os
import re
import shutil
import signal
import subprocess

import machine
import waiting
import raw
import snapshot
from certificates import Certificates

JARS = """zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core
    snappy-java netty-buffer netty-codec netty-common netty-handler
    netty-resolver netty-transport netty-transport-native-unix-common""".split()

# Small, and quick to start: nothing here lives for long.
JVM = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
       "-XX:+UseSerialGC", "-XX:-UsePerfData"]

PROPERTIES = {
    "org.slf4j.simpleLogger.showDateTime": "true",
    "org.slf4j.simpleLogger.dateTimeFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
    "zookeeper.preAllocSize": "1024",  # kB; 65536 would fill a small tmpfs
    "zookeeper.forceSync": "no",
    "zookeeper.admin.enableServer": "false",
    # Else elections that stutter are tried again after up to a minute.
    "zookeeper.fastleader.maxNotificationInterval": "400",
}

EXPIRING = r"Expiring session 0x([0-9a-f]+), timeout of (\d+)ms exceeded"


def jar(name):
    path = "/usr/share/java/%s.jar" % name
    if not os.path.exists(path):
        raise SystemExit("no %s; is libzookeeper-java installed?" % path)
    return path


def superuser(credential):
    """The property of a server that makes USER:PASSWORD its superuser, as
    DigestAuthenticationProvider computes it."""
    user, _, _ = credential.partition(":")
    digest = base64.b64encode(hashlib.sha1(credential.encode()).digest())
    return {"zookeeper.DigestAuthenticationProvider.superDigest":
            "%s:%s" % (user, digest.decode())}


def digest_section(**passwords):
    """What a JAAS file has for DIGEST-MD5, with the passwords of users."""
    return "org.apache.zookeeper.server.auth.DigestLoginModule required\n%s;" \
        % "\n".join('user_%s="%s"' % item for item in passwords.items())


class Server:
    """One process of ZooKeeper.  Not started when made: its data can be
    prepared first.  A context manager, which removes everything."""

    def __init__(self, tick_ms=500, tls=False, client_auth="none",
                 certificate="server", container_check_ms=None,
                 max_client_cnxns=0, read_only=False, sasl=None, config=None,
                 properties=None, jvm=None, environment=None,
                 host=machine.LOCALHOST):
        """client_auth is none, want or need; certificate names the one shown
        to clients, a file of Certificates; sasl is the content of the section
        Server of a JAAS file: clients are then required to use SASL; config
        properties and environment are added to zoo.cfg, to the JVM, which
        otherwise gets the options jvm, and to its environment."""
        self.jvm = JVM if jvm is None else jvm
        self.environment = dict(os.environ, **(environment or {}))
        self.host = host
        self.process = None
        self.starts = 0
        self.directory = machine.directory()
        self.data = os.path.join(self.directory, "data")
        os.mkdir(self.data)
        self.claims = [machine.Port(host)]
        self.port = self.claims[0].number
        self.tls_port = None
        self.config = {
            "tickTime": tick_ms,
            "dataDir": self.data,
            "clientPort": self.port,
            "clientPortAddress": host.address,
            "maxSessionTimeout": 40000,  # as at ZooKeeper's own tickTime
            "maxClientCnxns": max_client_cnxns,
            "4lw.commands.whitelist": "*",
            **(config or {}),
        }
        self.properties = {**PROPERTIES, **(properties or {})}
        if read_only:
            self.properties["readonlymode.enabled"] = "true"
            # Without them 3.8 answers a reader's connect with a bare header.
            self.config["localSessionsEnabled"] = "true"
            self.config["localSessionsUpgradingEnabled"] = "true"
        if container_check_ms:
            self.properties["znode.container.checkIntervalMs"] = \
                container_check_ms
        if tls:
            self.add_tls(client_auth, certificate)
        if sasl:
            self.add_sasl(sasl)

    def add_tls(self, client_auth, certificate):
        self.certificates = Certificates(self.directory)
        self.claims.append(machine.Port(self.host))
        self.tls_port = self.claims[-1].number
        self.config.update({
            "serverCnxnFactory":
                "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "secureClientPort": self.tls_port,
            "secureClientPortAddress": self.host.address,
            "ssl.keyStore.location":
                self.certificates.path(certificate + ".store"),
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": self.certificates.path("ca.pem"),
            "ssl.trustStore.type": "PEM",
            "ssl.clientAuth": client_auth,
            "ssl.clientHostnameVerification": "false",
        })

    def add_sasl(self, section):
        path = os.path.join(self.directory, "jaas.conf")
        with open(path, "w") as file:
            file.write("Server {\n%s\n};\n" % section)
        self.properties["java.security.auth.login.config"] = path
        self.config.update({
            "authProvider.1": "org.apache.zookeeper.server.auth."
                              "SASLAuthenticationProvider",
            "sessionRequireClientSASLAuth": "true",
        })

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
        path = os.path.join(self.directory, "zoo.cfg")
        with open(path, "w") as file:
            for item in self.config.items():
                file.write("%s=%s\n" % item)
        self.starts += 1
        log = self.log_path(self.starts)
        properties = {**self.properties,
                      "org.slf4j.simpleLogger.logFile": log}
        with open(log + ".out", "w") as out:
            self.process = machine.Process(
                ["java", *self.jvm,
                 *("-D%s=%s" % item for item in properties.items()),
                 "-cp", ":".join(jar(name) for name in JARS),
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", path],
                host=self.host, stdout=out, stderr=subprocess.STDOUT,
                cwd=self.directory, env=self.environment)

    def start(self):
        self.launch()
        self.wait()

    def wait(self):
        """Until it serves."""
        def serves():
            if not self.process.is_alive():
                raise AssertionError("the server died:\n" + self.tail())
            # The port for TLS is opened last.
            return self.mode() and (not self.tls_port or
                                    self.host.is_open(self.tls_port))
        try:
            waiting.eventually("ZooKeeper to serve", serves)
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
            self.clear()
        self.start()

    def clear(self):
        """Remove all data but its id."""
        shutil.rmtree(os.path.join(self.data, "version-2"),
                      ignore_errors=True)

    def freeze(self):
        self.process.freeze()

    def thaw(self):
        self.process.thaw()

    def close(self):
        self.kill()
        for claim in self.claims:
            claim.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- what it says

    def address(self):
        return "%s:%d" % (self.host.address, self.port)

    def tls_address(self):
        return "%s:%d" % (self.host.address, self.tls_port)

    def client(self, **options):
        return raw.Client(self.port, host=self.host, **options)

    def four_letters(self, word):
        return raw.four_letters(self.port, word, self.host)

    def mode(self):
        """standalone, leader, follower, read-only; '' if it does not serve."""
        match = re.search(r"^Mode: (\S+)$",
                          self.four_letters("srvr"), re.MULTILINE)
        return match.group(1) if match else ""

    def epoch(self):
        """Of the last transaction it knows; -1 if it does not serve."""
        match = re.search(r"^Zxid: 0x([0-9a-f]+)$",
                          self.four_letters("srvr"), re.MULTILINE)
        return int(match.group(1), 16) >> 32 if match else -1

    def mntr(self):
        """The counters, without their zk_; numbers as int."""
        found = {}
        for line in self.four_letters("mntr").splitlines():
            name, tab, value = line.partition("\t")
            if tab:
                found[name.removeprefix("zk_")] = \
                    int(value) if re.fullmatch(r"-?\d+", value) else value
        return found

    # ---- its log

    def log_path(self, start):
        return os.path.join(self.directory, "log.%d" % start)

    def log(self):
        """All it logged, of all its lives."""
        text = ""
        for start in range(1, self.starts + 1):
            try:
                with open(self.log_path(start), errors="replace") as file:
                    text += file.read()
            except FileNotFoundError:
                pass
        return text

    def tail(self):
        with open(self.log_path(self.starts) + ".out",
                  errors="replace") as file:
            return self.log()[-3000:] + file.read()[-3000:]

    def logged(self, pattern):
        """(instant in ms on CLOCK_BOOTTIME, match) of each line that matches,
        in order."""
        boot_ms = waiting.boot_of_wall_ms()
        found = []
        for line in self.log().splitlines():
            if match := re.match(r"(\S+) .*" + pattern, line):
                at = datetime.datetime.strptime(match.group(1),
                                                "%Y-%m-%dT%H:%M:%S.%f%z")
                found.append((at.timestamp() * 1000 + boot_ms, match))
        return found

    def expirations(self):
        """(instant, session, timeout in ms) of the sessions that it let expire,
        in order."""
        return [(at_ms, int(match.group(2), 16), int(match.group(3)))
                for at_ms, match in self.logged(EXPIRING)]


class Standalone(Server):
    """A server that is alone; it serves once the constructor is back."""

    def __init__(self, prepared=None, **options):
        """prepared: (path, child counter[, whether it is a container])."""
        super().__init__(**options)
        try:
            if prepared:
                snapshot.write(self.data, *prepared)
            self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self
