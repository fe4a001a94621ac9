# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server, of Debian's postgresql, on a free port of
127.0.0.1 and a socket in a directory of its own."""

import functools
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import psycopg2

import machine
import waiting

SUPERUSER = "postgres"

# Small, and quick to start, because no server of a test lives for long.  The
# settings that a lease depends on (fsync, synchronous_commit) keep their
# defaults.
CONFIG = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "16MB",
    "max_connections": "120",
    "min_wal_size": "4MB",
    "max_wal_size": "64MB",
    "autovacuum_naptime": "5s",
    # In the directory, so that a killed server leaves none behind.
    "dynamic_shared_memory_type": "mmap",
    "log_line_prefix": "%m [%p] %e ",
    "log_timezone": "UTC",
    "lc_messages": "C",
}

# Passwords over TCP, so that they are tried; none on the socket, nor for
# replicas.
ACCESS = """
local all all trust
host all all 127.0.0.1/32 scram-sha-256
host replication all 127.0.0.1/32 trust
"""


def programs():
    """The directory of the newest server that is installed."""
    found = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    if not found:
        raise SystemExit("no /usr/lib/postgresql/*/bin/postgres; is "
                         "postgresql installed?")
    return os.path.dirname(max(
        found, key=lambda path: float(path.split("/")[4])))


def unprivileged():
    """The user that it runs as, because it refuses to run as root.  None: the
    user of the test."""
    if os.getuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"


@functools.cache
def own_memory():
    """A command that runs another one in an IPC namespace of its own.  The
    kernel frees the shared memory of such a server with its last process,
    whatever way the test ends.  [] where the kernel does not let us: there
    free_memory() does that, unless the test is killed."""
    command = ["unshare", "--ipc"]
    if os.getuid() != 0:
        command += ["--user", "--map-current-user"]
    allowed = subprocess.run([*command, "true"], check=False,
                             stderr=subprocess.DEVNULL).returncode == 0
    return [*command, "--"] if allowed else []


def children(pid):
    """Of a process."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]


def describe(pid):
    """Its number, state, where it waits in the kernel, and what it is."""
    said = [str(pid)]
    for file, words in (("stat", slice(2, 3)), ("wchan", slice(None)),
                        ("cmdline", slice(None))):
        try:
            with open("/proc/%d/%s" % (pid, file)) as opened:
                said += opened.read().replace("\0", " ").split()[words]
        except (FileNotFoundError, ProcessLookupError):
            said.append("-")
    return " ".join(said)


def has_ended(pid):
    """Reaped or not."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Server:
    """One cluster and its postmaster.  It serves once the constructor is back.
    A context manager, which removes everything.  follows: it is a replica of
    the one at that port, or of the one that a proxy there leads to."""

    def __init__(self, config=None, access=ACCESS, environment=None,
                 follows=None):
        self.process = None
        self.starts = 0
        self.user = unprivileged()
        self.directory = machine.directory()
        self.data = os.path.join(self.directory, "data")
        self.claim = machine.Port()
        self.port = self.claim.number
        self.password = "Sesam%d" % os.getpid()
        self.environment = dict(os.environ, **(environment or {}))
        self.config = {**CONFIG, "port": str(self.port),
                       "unix_socket_directories": self.directory,
                       **(config or {})}
        try:
            if self.user:
                shutil.chown(self.directory, self.user)
            os.chmod(self.directory, 0o755)
            if follows:
                self.copy(follows)
            else:
                self.make(access)
            self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def make(self, access):
        secret = os.path.join(self.directory, "password")
        with open(secret, "w") as file:
            file.write(self.password + "\n")
        if self.user:
            shutil.chown(secret, self.user)
        os.chmod(secret, 0o400)
        self.run("initdb", "--pgdata", self.data, "--username", SUPERUSER,
                 "--pwfile", secret, "--no-sync", "--encoding", "UTF8",
                 "--locale", "C", "--wal-segsize", "1")
        with open(os.path.join(self.data, "pg_hba.conf"), "w") as file:
            file.write(access)

    def copy(self, port):
        """Of the server at that port, which it follows from then on."""
        self.run("pg_basebackup", "--pgdata", self.data, "--host", "127.0.0.1",
                 "--port", str(port), "--username", SUPERUSER,
                 "--checkpoint", "fast", "--no-sync",
                 # Not by a second connection, which a busy machine may lose.
                 "--wal-method", "fetch")
        self.config["primary_conninfo"] = "host=127.0.0.1 port=%d user=%s" % (
            port, SUPERUSER)
        path = os.path.join(self.data, "standby.signal")
        with open(path, "w"):
            pass
        if self.user:
            shutil.chown(path, self.user)

    def run(self, program, *arguments):
        """One of the server's programs, to its end."""
        process = machine.Process(
            [os.path.join(programs(), program), *arguments],
            user=self.user, before=own_memory(), cwd=self.directory,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = process.popen.communicate(timeout=waiting.LIMIT_S)[0]
        if process.popen.returncode != 0:
            raise AssertionError("%s: %s" % (
                program, said.decode(errors="replace")))

    # ---- life

    def launch(self):
        """Start the process and do not wait until it serves."""
        with open(os.path.join(self.data, "postgresql.auto.conf"),
                  "w") as file:
            for name, value in self.config.items():
                file.write("%s = '%s'\n" % (name, value))
        self.starts += 1
        with open(self.log_path(self.starts), "w") as log:
            self.process = machine.Process(
                [os.path.join(programs(), "postgres"), "-D", self.data],
                user=self.user, before=own_memory(), cwd=self.directory,
                stdout=log, stderr=subprocess.STDOUT, env=self.environment)

    def start(self):
        self.launch()
        self.wait()

    def serves(self):
        if not self.process.is_alive():
            raise AssertionError("the server died:\n" + self.log()[-3000:])
        try:
            psycopg2.connect(self.address()).close()
            return True
        except psycopg2.OperationalError:
            return False

    def wait(self):
        """Until it serves."""
        try:
            waiting.eventually("PostgreSQL to serve", self.serves)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error,
                                             self.log()[-3000:])) from None

    def processes(self):
        """The postmaster and all that it has started."""
        return [self.process.pid] + children(self.process.pid)

    def signal_all(self, number):
        for pid in self.processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # it has ended meanwhile

    def kill(self):
        """kill -9 to every process of it, as a machine that loses its power:
        nothing is written down any more."""
        if not self.process or not self.process.is_alive():
            return
        self.process.freeze()  # so that it starts no more of them
        doomed = self.processes()
        self.signal_all(signal.SIGKILL)
        self.process.kill()
        # Not before is its shared memory free for the next one.
        waiting.eventually("the end of PostgreSQL's processes", lambda: all(
            has_ended(pid) for pid in doomed))
        self.free_memory()

    def free_memory(self):
        """Of a killed one: only a server with the same data would do it, and
        that may be gone."""
        if own_memory():
            return  # the kernel has freed it
        try:
            with open(os.path.join(self.data, "postmaster.pid")) as file:
                key_and_id = file.read().splitlines()[6].split()
        except (FileNotFoundError, IndexError):
            return  # it was killed before it had any
        subprocess.run(["ipcrm", "-m", key_and_id[1]], check=False,
                       stderr=subprocess.DEVNULL)

    def end(self, number):
        """By a signal to the postmaster, and wait for it.

        The signal is sent again and again.  The postmaster kills children that
        do not end within five seconds, but it looks at its clock only between
        two calls of select().  A signal that comes after it has chosen the
        timeout of the next call, and before that call, is taken in and does
        not shorten it; and the timeout may be a minute."""
        try:
            waiting.eventually("PostgreSQL to end",
                             lambda: self.has_ended_after(number))
        except AssertionError as error:
            raise AssertionError("%s\n%s\n%s" % (
                error, self.process_table(), self.log()[-3000:])) from None

    def has_ended_after(self, number):
        self.process.signal(number)
        return not self.process.is_alive()

    def process_table(self):
        """A line for each of its processes, for people."""
        return "\n".join(describe(pid) for pid in self.processes())

    def stop(self):
        """A fast shutdown: backends are ended, then all is written down."""
        self.end(signal.SIGINT)

    def abort(self):
        """An immediate shutdown: nothing more is written down."""
        self.end(signal.SIGQUIT)

    def restart(self):
        """On the same port, with the same data."""
        self.kill()
        self.start()

    def follow(self, port):
        """Come back as a replica of the server at that port, with a copy of
        its data instead of one's own."""
        self.kill()
        shutil.rmtree(self.data)
        self.copy(port)
        self.start()

    def freeze(self):
        self.process.freeze()  # so that it starts no more of them
        self.signal_all(signal.SIGSTOP)

    def thaw(self):
        self.signal_all(signal.SIGCONT)

    def close(self):
        if self.process and self.process.is_alive():
            self.thaw()
            self.abort()
        self.claim.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    # ---- what it says

    def address(self, database="postgres", user=SUPERUSER):
        """For libpq, by its socket."""
        return "host=%s port=%d dbname=%s user=%s" % (
            self.directory, self.port, database, user)

    def url(self, database="postgres"):
        """For holdfast, by its socket."""
        return "postgresql://%s@%s:%d/%s" % (
            SUPERUSER, self.directory.replace("/", "%2F"), self.port,
            database)

    def tcp_url(self, database="postgres", password=None, user=SUPERUSER):
        return "postgresql://%s:%s@127.0.0.1:%d/%s" % (
            user, password or self.password, self.port, database)

    def connect(self, **options):
        """A connection that commits each statement."""
        connection = psycopg2.connect(self.address(**options))
        connection.autocommit = True
        return connection

    def sql(self, text, arguments=None, database="postgres"):
        """Carry out a statement; its rows, if it has any."""
        connection = self.connect(database=database)
        try:
            with connection.cursor() as cursor:
                cursor.execute(text, arguments)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()

    # ---- its log

    def log_path(self, start):
        return os.path.join(self.directory, "log.%d" % start)

    def log(self):
        """All it logged, of all its lives."""
        text = ""
        for start in range(1, self.starts + 1):
            with open(self.log_path(start), errors="replace") as file:
                text += file.read()
        return text

    def log_states(self):
        """The SQLSTATEs of all that it logged."""
        return {words[4] for words in map(str.split, self.log().splitlines())
                if len(words) > 4 and len(words[4]) == 5}


class Pooler:
    """A PgBouncer in front of a server, which keeps a connection for each
    session, transaction or statement, as mode says.  A context manager."""

    def __init__(self, server, mode):
        self.claim = machine.Port()
        self.directory = tempfile.mkdtemp(dir=server.directory)
        path = os.path.join(self.directory, "pgbouncer.ini")
        with open(path, "w") as file:
            file.write("\n".join([
                "[databases]",
                "* = host=%s port=%d user=%s" % (
                    server.directory, server.port, SUPERUSER),
                "[pgbouncer]", "listen_addr = 127.0.0.1",
                "listen_port = %d" % self.claim.number, "unix_socket_dir =",
                "auth_type = any", "pool_mode = " + mode, ""]))
        os.chmod(self.directory, 0o755)
        self.process = machine.Process(
            ["pgbouncer", path], user=server.user, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        try:
            waiting.eventually("the pooler", lambda: machine.LOCALHOST.is_open(
                self.claim.number), of=[self.process])
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.kill()
        self.claim.close()

    def url(self, database="postgres"):
        return "postgresql://%s@127.0.0.1:%d/%s" % (
            SUPERUSER, self.claim.number, database)
