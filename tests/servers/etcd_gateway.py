# SPDX-License-Identifier: Apache-2.0
"""A client of etcd that shares no code with ours: its JSON gateway over HTTP.

    with gateway.Client(port) as client:
        client.put("locks/a", "text", lease=client.grant(5))

The gateway writes keys and values in base64 and numbers of 64 bits as text, and
leaves out what is zero.
"""

import base64
import http.client
import json
import ssl

import machine
import waiting


class Error(Exception):
    """The server refused; .code is the status of gRPC."""

    def __init__(self, code, text):
        super().__init__("%d: %s" % (code, text))
        self.code = code


def encoded(text):
    data = text if isinstance(text, bytes) else str(text).encode()
    return base64.b64encode(data).decode()


def decoded(field):
    return base64.b64decode(field or "").decode(errors="surrogateescape")


def range_end(prefix):
    """The first key behind those that begin with it."""
    data = prefix if isinstance(prefix, bytes) else prefix.encode()
    data = data.rstrip(b"\xff")
    return data[:-1] + bytes([data[-1] + 1]) if data else b"\0"


def trusting(certificates, shows):
    context = ssl.create_default_context(cafile=certificates.path("ca.pem"))
    if shows:
        context.load_cert_chain(certificates.path(shows + ".pem"),
                                certificates.path(shows + ".key"))
    return context


class Item:
    """A key with its value."""

    def __init__(self, fields):
        self.key = decoded(fields.get("key"))
        self.value = decoded(fields.get("value"))
        self.created = int(fields.get("create_revision", 0))
        self.modified = int(fields.get("mod_revision", 0))
        self.lease = int(fields.get("lease", 0))

    def __repr__(self):
        return "%s=%r (created %d, lease %x)" % (
            self.key, self.value, self.created, self.lease)


class Client:
    """One connection, one request at a time."""

    def __init__(self, port, host=machine.LOCALHOST, timeout_s=None,
                 credential=None, certificates=None, shows=None):
        """credential is USER:PASSWORD.  certificates are those of a server with
        TLS, and shows the name of the one to show to it."""
        seconds = timeout_s or waiting.LIMIT_S
        self.link = http.client.HTTPConnection(host.address, port,
                                               timeout=seconds)
        link = host.connect(port, seconds)
        try:
            self.link.sock = link if not certificates else trusting(
                certificates, shows).wrap_socket(
                    link, server_hostname=host.address)
        except BaseException:
            link.close()
            raise
        self.token = None
        try:
            if credential:
                self.authenticate(credential)
        except BaseException:
            self.close()
            raise

    def authenticate(self, credential):
        user, _, password = credential.partition(":")
        self.token = self.ask("auth/authenticate", name=user,
                              password=password)["token"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.link.close()

    def ask(self, what, **fields):
        """The answer to one request, as the gateway writes it; it raises an
        Error."""
        headers = {"Authorization": self.token} if self.token else {}
        self.link.request("POST", "/v3/" + what, json.dumps(fields), headers)
        answer = self.link.getresponse()
        said = answer.read()
        try:
            found = json.loads(said)
        except ValueError:
            raise Error(0, said.decode(errors="replace")) from None
        if answer.status != 200:
            raise Error(found.get("code", 0), found.get("error", said.decode()))
        return found

    # ---- keys

    def put(self, key, value="", lease=0):
        """The revision that this made."""
        return int(self.ask("kv/put", key=encoded(key), value=encoded(value),
                            lease=str(lease))["header"]["revision"])

    def put_all(self, items, lease=0):
        """Pairs of keys and values, in transactions of a hundred."""
        items = list(items)
        for at in range(0, len(items), 100):
            self.ask("kv/txn", success=[{"requestPut": {
                "key": encoded(key), "value": encoded(value),
                "lease": str(lease)}} for key, value in items[at:at + 100]])

    def delete_these(self, keys):
        keys = list(keys)
        for at in range(0, len(keys), 100):
            self.ask("kv/txn", success=[{"requestDeleteRange": {
                "key": encoded(key)}} for key in keys[at:at + 100]])

    def get(self, key):
        """An Item, or None."""
        found = self.ask("kv/range", key=encoded(key)).get("kvs", [])
        return Item(found[0]) if found else None

    def list(self, prefix):
        """Those that begin with it, oldest first."""
        return [Item(fields) for fields in self.ask(
            "kv/range", key=encoded(prefix), range_end=encoded(
                range_end(prefix)), sort_target="CREATE",
            sort_order="ASCEND").get("kvs", [])]

    def delete(self, key):
        """How many there were."""
        return int(self.ask("kv/deleterange", key=encoded(key)).get(
            "deleted", 0))

    def delete_all(self, prefix):
        return int(self.ask("kv/deleterange", key=encoded(prefix), range_end=
                            encoded(range_end(prefix))).get("deleted", 0))

    def revision(self):
        return int(self.ask("kv/range", key=encoded("\0"), count_only=True)
                   ["header"]["revision"])

    def compact(self, revision=None, physical=False):
        """Forget all that is older than the revision, or than now."""
        self.ask("kv/compaction", revision=str(revision or self.revision()),
                 physical=physical)

    # ---- leases

    def grant(self, ttl_s, lease=0):
        """The id of a new lease."""
        return int(self.ask("lease/grant", TTL=str(ttl_s), ID=str(lease))["ID"])

    def revoke(self, lease):
        self.ask("lease/revoke", ID=str(lease))

    def time_to_live(self, lease):
        """(seconds left, its keys); (-1, []) if there is no such lease."""
        found = self.ask("lease/timetolive", ID=str(lease), keys=True)
        return int(found["TTL"]), [decoded(key)
                                   for key in found.get("keys", [])]

    def leases(self):
        return [int(one["ID"])
                for one in self.ask("lease/leases").get("leases", [])]

    # ---- the server's lock service

    def lock(self, name, lease):
        """Wait for it; the key that holds it."""
        return decoded(self.ask("lock/lock", name=encoded(name),
                                lease=str(lease))["key"])

    def unlock(self, key):
        self.ask("lock/unlock", key=encoded(key))

    # ---- users

    def allow(self, credential, prefixes, read_only=()):
        """A user with a role of the same name, who may read and write below
        the prefixes and read below the others."""
        user, _, password = credential.partition(":")
        self.ask("auth/user/add", name=user, password=password)
        self.ask("auth/role/add", name=user)
        for right, some in (("READWRITE", prefixes), ("READ", read_only)):
            for prefix in some:
                self.ask("auth/role/grant", name=user, perm={
                    "permType": right, "key": encoded(prefix or "\0"),
                    "range_end": encoded(range_end(prefix))})
        self.ask("auth/user/grant", user=user, role=user)

    def require_users(self, credential):
        """From now on nobody gets in without a password; the credential is
        that of the user root."""
        user, _, password = credential.partition(":")
        self.ask("auth/user/add", name=user, password=password)
        self.ask("auth/user/grant", user=user, role="root")
        self.ask("auth/enable")

    # ---- what it says of itself

    def status(self):
        return self.ask("maintenance/status")

    def members(self):
        return self.ask("cluster/member/list")["members"]

    def raised(self):
        return self.ask("maintenance/alarm", action="GET").get("alarms", [])

    def alarms(self):
        """The names of the alarms that are raised."""
        return [one["alarm"] for one in self.raised()]

    def disarm(self):
        for one in self.raised():
            self.ask("maintenance/alarm", action="DEACTIVATE", **one)

    def defragment(self):
        self.ask("maintenance/defragment")
