#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each mutation whose patch says "Caught by FOLDER/FILE: TEST." fails that test.

    test_caught.py BUILD [NAME...]     all of them, or these

The mutant is made of the program that ctest runs as FOLDER/FILE in the directory
BUILD, or that a test in Python is given there, and runs as ctest would run it,
with the server that the test needs, but TEST alone.  A mutant that hangs is caught, too.  That TEST passes without the
mutation is seen by running FOLDER/FILE."""

import concurrent.futures
import json
import os
import subprocess
import sys

import mutants

import machine

# A test of one file takes seconds at most on an idle machine.
LIMIT_S = 120
JOBS = 2


class NotCaught(Exception):
    """Says which mutation, and what its test printed."""


def tests_of(build):
    """The words of each test of ctest, and the variables that it sets."""
    said = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"], check=True,
        stdout=subprocess.PIPE, text=True).stdout
    return {test["name"]: (test.get("command", []), variables_of(test))
            for test in json.loads(said)["tests"]}


def variables_of(test):
    for entry in test.get("properties", []):
        if entry["name"] == "ENVIRONMENT":
            return dict(word.split("=", 1) for word in entry["value"])
    return {}


def parts_of(words, function):
    """What runs before the program, the program, and its arguments for the one
    test.  A test in Python is given the program last, and a C program its file
    of tests."""
    if os.path.isabs(words[-1]):
        return words[:-1], words[-1], ["-k", function]
    *before, program, file = words
    return before, program, ["%s/%s" % (file, function)]


def run(name, tests, directory):
    """Raises NotCaught if the test passes, and MutantError if it cannot run."""
    test, function = mutants.read(name).caught_by
    if test not in tests:
        raise mutants.MutantError("%s.patch names %s, which ctest does not know"
                                  % (name, test))
    words, variables = tests[test]
    before, program, chosen = parts_of(words, function)
    mutant = os.path.join(directory, name)
    mutants.build(name, program, mutant)
    try:
        ran = subprocess.run(
            before + [mutant] + chosen,
            env=dict(os.environ, **variables), timeout=LIMIT_S, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return
    finally:
        os.unlink(mutant)
    if ran.returncode in (0, 64, 77):
        raise NotCaught("%s: %s: %s ended with %d; expected that it fails\n%s"
                        % (name, test, function, ran.returncode,
                           ran.stdout.decode(errors="replace")))


def main(build, chosen):
    tests = tests_of(build)
    failed = 0
    with machine.temporary("caught") as directory, \
            concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        running = {name: pool.submit(run, name, tests, directory)
                   for name in chosen or mutants.named_in_patch()}
        for name, future in running.items():
            try:
                future.result()
                print("%s is caught by %s: %s"
                      % ((name,) + mutants.read(name).caught_by), flush=True)
            except (NotCaught, mutants.MutantError) as error:
                failed += 1
                print(error, flush=True)
    print("%d passed, %d failed" % (len(running) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        sys.exit(mutants.USAGE)
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2:]))
