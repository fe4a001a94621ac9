# SPDX-License-Identifier: Apache-2.0
"""What the benches share: contenders, and tables of what they answer.  A
contender is a process that lives through the whole run.  All of them do their
work in each iteration, one after the other, in an order that changes.
docs/speed.md says why."""

import os
import platform
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "servers"))

import machine  # noqa: E402
import waiting  # noqa: E402


class Result:
    """What a contender answers: see bench/protocol.h."""

    def __init__(self, line):
        cpu, passed, grants, *samples = map(int, line.split())
        self.samples = sorted(sample / 1000 for sample in samples)
        self.grants = grants
        self.seconds = passed / 1e9
        self.rate = grants / self.seconds
        self.cpu = cpu / 1000 / max(grants, 1)

    def quantile(self, part):
        if not self.samples:
            return float("inf")  # no client took it from another one
        return self.samples[int(part * (len(self.samples) - 1))]

    @property
    def p50(self):
        return self.quantile(0.5)

    @property
    def p99(self):
        return self.quantile(0.99)


class Contender:
    def __init__(self, name, arguments, path=None):
        self.name = name
        self.path = path
        self.process = machine.Process(arguments, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def ask(self, *words, meanwhile=None):
        """Call meanwhile() once it has the request."""
        popen = self.process.popen
        popen.stdin.write(" ".join(map(str, words)) + "\n")
        popen.stdin.flush()
        if meanwhile:
            meanwhile()
        line = popen.stdout.readline()
        if not line:
            raise SystemExit("asked to %s, but %s" % (
                " ".join(map(str, words)), waiting.end_soon_of(popen)))
        return Result(line)

    def close(self):
        """It ends at the end of its standard input."""
        self.process.popen.stdin.close()
        try:
            self.process.popen.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


CURATOR_JARS = """curator-recipes curator-framework curator-client zookeeper
    zookeeper-jute guava slf4j-api slf4j-nop""".split()


def curator(jvm, *arguments):
    """The command of BenchCurator, with options of the JVM."""
    jars = ":".join("/usr/share/java/%s.jar" % jar for jar in CURATOR_JARS)
    return ["java", *jvm, "-cp", jars, HERE + "/BenchCurator.java", *arguments]


# ---- iterations

def interleave(iterations, works):
    """Do every work once in each iteration; its results by name."""
    results = {name: [] for name in works}
    names = list(works)
    for i in range(iterations):
        at = i % len(names)
        for name in names[at:] + names[:at]:
            results[name].append(works[name]())
    return results


# ---- results

def spread(values, digits=0):
    values = list(values)
    return "%.*f (%.*f-%.*f)" % (digits, statistics.median(values), digits,
                                 min(values), digits, max(values))


def table(title, heads, rows):
    print("\n%s\n" % title)
    rows = [heads] + rows
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [
            text.rjust(width) for text, width in zip(row[1:], widths[1:])]))
    sys.stdout.flush()


def ratio(results, name, to):
    """Of p50, within each iteration."""
    return spread((ours.p50 / baseline.p50 for ours, baseline in
                   zip(results[name], results[to])), 2)


def print_load(when):
    print("load when it %s: %s" % (when, "%.1f %.1f %.1f" % os.getloadavg()))


def print_facts(packages, iterations):
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file
                      if line.startswith("model name")), platform.machine())
    versions = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *packages],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    print("machine: %d cores of %s, Linux %s" % (
        os.cpu_count(), model, platform.release()))
    print("versions: " + ", ".join(versions.splitlines()))
    print("%d iterations; medians of them, with the least and the most" %
          iterations)
    print_load("began")
