# SPDX-License-Identifier: Apache-2.0
"""A KDC of MIT Kerberos, on a free port of this machine and in a directory of
its own, with a server and two users.  Nothing of it is outside of that
directory: the processes find it by their environment."""

import os
import shutil
import subprocess

import machine
import waiting

REALM = "HOLDFAST.TEST"
SERVICE = "zookeeper/localhost"

KRB5 = """[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""

KDC = """[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realm} = {{
  database_name = {top}/principal
  key_stash_file = {top}/stash
  acl_file = {top}/acl
}}
[logging]
kdc = FILE:{top}/kdc.log
"""


# libsasl2's plugin loses a credential in each exchange up to 2.1.28:
# https://github.com/cyrusimap/cyrus-sasl/issues/843
LEAKS = "leak:gss_acquire_cred_from\n"


def is_there():
    return all(shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin")
               for tool in ("krb5kdc", "kadmin.local", "kdb5_util"))


class Kdc:
    """Serves once the constructor is back."""

    def __init__(self):
        self.top = machine.directory()
        self.claim = machine.Port()
        self.process = None
        try:
            self.write("krb5.conf", KRB5)
            self.write("kdc.conf", KDC)
            self.write("leaks", LEAKS)
            self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
            self.add(SERVICE)
            self.add("alice")
            self.launch()
        except BaseException:
            self.close()
            raise

    def launch(self):
        self.process = machine.Process(
            ["krb5kdc", "-n", "-r", REALM], env=self.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        waiting.eventually("the KDC to serve", lambda: machine.LOCALHOST.is_open(
            self.claim.number))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process:
            self.process.kill()
        self.claim.close()
        shutil.rmtree(self.top, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.top, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text.format(realm=REALM, port=self.claim.number,
                                   top=self.top))

    def environment(self, user=None):
        """Of a process; of that of USER it has a key, too."""
        found = dict(os.environ,
                     PATH=os.environ["PATH"] + ":/usr/sbin",
                     KRB5_CONFIG=self.path("krb5.conf"),
                     KRB5_KDC_PROFILE=self.path("kdc.conf"),
                     KRB5CCNAME="FILE:" + self.path("tickets-%s" % user),
                     LSAN_OPTIONS="print_suppressions=0:suppressions=" +
                     self.path("leaks"))
        if user:
            found["KRB5_CLIENT_KTNAME"] = self.keytab(user)
        return found

    def run(self, *command):
        subprocess.run(command, env=self.environment(), check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def keytab(self, principal):
        return self.path(principal.replace("/", "-") + ".keytab")

    def add(self, principal):
        self.run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
        self.run("kadmin.local", "-r", REALM, "ktadd", "-k",
                 self.keytab(principal), principal)

    def section(self):
        """What a JAAS file has for the server."""
        return """com.sun.security.auth.module.Krb5LoginModule required
            useKeyTab=true storeKey=true useTicketCache=false
            keyTab="%s" principal="%s@%s";""" % (
                self.keytab(SERVICE), SERVICE, REALM)

    def properties(self):
        return {"java.security.krb5.conf": self.path("krb5.conf")}
