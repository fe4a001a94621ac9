# SPDX-License-Identifier: Apache-2.0
"""Completion for bash, zsh and fish: what each offers for a line.  The functions
for bash and fish are called as the shell calls them; bash and zsh are also typed
into, which shows that the words fit in the line.  Zsh and fish are skipped where
they are not installed."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import harness

DIRECTORY = sys.argv.pop(1)
CALL = """
source "$1"
COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=($2) COMP_CWORD=${#COMP_WORDS[@]}
if [[ $2 != *' ' ]]; then ((COMP_CWORD--)); fi
_holdfast
if ((${#COMPREPLY[@]})); then printf '%s\\n' "${COMPREPLY[@]}"; fi
"""


def commands_of(*arguments):
    """The commands that a help lists."""
    usage = subprocess.run([harness.TOOL, *arguments, "--help"], check=True,
                           capture_output=True, text=True).stdout
    return re.findall(r"^  (\w+) +\w", usage, re.M)


COMMANDS = commands_of()
ZK_COMMANDS = commands_of("zk")


def options_of(command):
    """[(letter or nothing, name, value or nothing)] that --help lists."""
    usage = subprocess.run([harness.TOOL, *command.split(), "--help"],
                           check=True, capture_output=True, text=True).stdout
    return re.findall(r"^  (?:(-\w),|   )(?: -\w,)? (--[\w-]+)(?: (\S+))?(?:  .*)?$",
                      usage, re.M)


def every_command():
    """What has options."""
    return ([name for name in COMMANDS if name != "zk"]
            + ["zk " + name for name in ZK_COMMANDS])


class Case(harness.Case):
    """Files and profiles, for all shells."""

    def setUp(self):
        super().setUp()
        os.makedirs(self.path(".config/holdfast"))
        with open(self.path(".config/holdfast/profiles"), "w") as file:
            file.write("# no profile\nprod zk://zk1\ntest\tfile:/tmp/x\n"
                       "$(touch${IFS}touched) zk://zk1\nincomplete\n"
                       "prod2 redis://r")
        with open(self.path("history"), "w"):
            pass
        os.mkdir(self.path("histories"))
        self.environment["HOME"] = self.directory
        self.environment.pop("XDG_CONFIG_HOME", None)

    def shell(self, name, *arguments, programs=False):
        """What a shell prints.  Without ${programs} it finds none, so that a
        completion that runs one fails."""
        environment = dict(self.environment)
        if not programs:
            environment["PATH"] = self.path("nowhere")
        done = subprocess.run([shutil.which(name), *arguments], check=False,
                              capture_output=True, text=True,
                              cwd=self.directory, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments[-1])
        self.assertFalse(os.path.exists(self.path("touched")))
        return done.stdout.splitlines()

    def type_into(self, terminal, prompt, lines):
        """Each line, with a tab behind it, becomes another one."""
        self.addCleanup(terminal.close)
        for typed, completed in lines:
            terminal.expect(re.escape(prompt))
            terminal.write(typed + "\t;")
            # A shell may move the cursor within what it prints.
            terminal.expect(re.escape(completed) + "[\x08 ]*;")
            terminal.write("\x15\n")  # forget the line


class Bash(Case):
    def offered(self, line, prelude="", **options):
        return self.shell("bash", "--norc", "-c", prelude + CALL, "bash",
                          os.path.join(DIRECTORY, "holdfast.bash"), line,
                          **options)

    def test_commands(self):
        self.assertIn("run", COMMANDS)
        self.assertIn("get", ZK_COMMANDS)
        self.assertEqual(sorted(self.offered("holdfast ")), sorted(COMMANDS))
        self.assertEqual(self.offered("holdfast zk "), ZK_COMMANDS)
        self.assertEqual(self.offered("holdfast zk ex"), ["export"])
        self.assertEqual(self.offered("holdfast zk --"), ["--help"])
        self.assertEqual(self.offered("holdfast sh"), ["show"])
        self.assertEqual(self.offered("holdfast --v"), ["--version"])
        self.assertEqual(self.offered("holdfast --version --"), ["--verbose"])

    def test_options_are_those_of_the_help(self):
        for command in every_command():
            options = options_of(command)
            self.assertGreater(len(options), 1, command)
            self.assertEqual(
                sorted(self.offered("holdfast %s -" % command)),
                sorted(name for _, name, _ in options))

    def test_an_option(self):
        self.assertEqual(self.offered("holdfast run --per"), ["--permits"])
        self.assertEqual(self.offered("holdfast show -w 5s --h"),
                         ["--held", "--help"])
        self.assertEqual(self.offered("holdfast run --bogus"), [])
        self.assertEqual(self.offered("holdfast walk --"), [])

    def test_values(self):
        for option in ("-K ", "--kind ", "--kind="):
            self.assertEqual(self.offered("holdfast torture %sre" % option),
                             ["reentrant"])
        self.assertEqual(self.offered("holdfast show -c r"),
                         ["redis://", "rediss://"])
        # Only what follows the ':' is replaced.
        self.assertEqual(self.offered("holdfast show -c zk:"), ["//"])
        self.assertEqual(self.offered("holdfast zk acl "), ["get", "set"])
        self.assertEqual(self.offered("holdfast zk get -c zk:"), ["//"])
        self.assertEqual(self.offered("holdfast elect -r on"), ["on-failure"])
        self.assertEqual(self.offered("holdfast run --on-revoke=T"),
                         ["TERM"])
        self.assertEqual(self.offered("holdfast run -w "), [])
        self.assertEqual(self.offered("holdfast run -w --q"), [])

    def test_schemes_are_those_of_the_engines(self):
        version = subprocess.run([harness.TOOL, "--version", "-v"], check=True,
                                 capture_output=True, text=True).stdout
        engines = re.findall(r"^\w+ +(?:works|missing) +((?:\w+: )+)", version,
                             re.M)
        offered = self.offered("holdfast show -c ")
        self.assertEqual(sorted(word.split(":")[0] + ":" for word in offered
                                if word != "@"),
                         sorted(" ".join(engines).split()))

    def test_profiles(self):
        names = ["@prod", "@test", "@$(touch${IFS}touched)", "@prod2"]
        self.assertEqual(self.offered("holdfast show -c @"),
                         [name[1:] for name in names])
        # Where '@' does not break words.
        prelude = "COMP_WORDBREAKS=${COMP_WORDBREAKS/@}\n"
        self.assertEqual(self.offered("holdfast show -c @", prelude), names)
        self.assertEqual(self.offered("holdfast run --url=@prod", prelude),
                         ["@prod", "@prod2"])
        self.environment["XDG_CONFIG_HOME"] = self.path("nowhere")
        self.assertEqual(self.offered("holdfast show -c @", prelude), [])

    def test_files(self):
        for line in ("verify his", "verify -j -A 0s his", "torture -o his",
                     "torture --svg=his", "run name -- cat his",
                     "run name -- ./his", "elect name -- ./his", "zk txn his",
                     "zk import /a his", "zk get -o his"):
            self.assertEqual(
                sorted(os.path.basename(name)
                       for name in self.offered("holdfast " + line)),
                ["histories", "history"], line)
        for line in ("run -c file:his", "show --url=file:his",
                     "metrics -d his"):
            self.assertEqual(self.offered("holdfast " + line), ["histories"])
        self.assertEqual(self.offered("holdfast show his"), [])
        self.assertEqual(self.offered("holdfast zk get his"), [])

    def test_the_command_that_is_run(self):
        for names in ("name", "-w 5s name more", "-- -name"):
            self.assertIn("bash", self.offered("holdfast run %s -- bas"
                                               % names, programs=True))
        self.assertEqual(self.offered("holdfast run name -- git --per"), [])

    def test_the_completion_of_that_command(self):
        """bash-completion, where it is there, knows other commands."""
        for name in ("_comp_command_offset", "_command_offset"):
            self.assertEqual(
                self.offered("holdfast run -- -name -- git che",
                             "%s() { COMPREPLY=(from $1); }\n" % name),
                ["from", "5"])

    def test_in_a_real_shell(self):
        terminal = harness.Terminal(
            ["bash", "--norc", "--noprofile", "-i"],
            dict(self.environment, PS1="ready> ", TERM="dumb", HISTFILE=""))
        terminal.write("bind 'set bell-style none'; . '%s/holdfast.bash'\n"
                       % DIRECTORY)
        terminal.expect("ready> ")
        self.type_into(terminal, "ready> ", (
            ("holdfast sh", "holdfast show "),
            ("holdfast run --per", "holdfast run --permits "),
            ("holdfast torture --kind=se", "holdfast torture --kind=se"),
            ("holdfast torture --kind=sem",
             "holdfast torture --kind=semaphore "),
            ("holdfast run --url=q", "holdfast run --url=quorum:"),
            ("holdfast run --url=zk:", "holdfast run --url=zk://"),
            ("holdfast run -c po", "holdfast run -c postgresql://")))


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(Case):
    """Its completion needs its line editor: all is typed."""

    def typed(self, *lines):
        with open(self.path("_holdfast"), "w") as file:
            with open(os.path.join(DIRECTORY, "holdfast.zsh")) as made:
                file.write(made.read())
        terminal = harness.Terminal(
            ["zsh", "-f", "-i"],
            dict(self.environment, TERM="dumb", PS1="", COLUMNS="500"))
        terminal.write(
            "fpath=('%s' $fpath); autoload -U compinit; compinit -D -u; "
            "bindkey -e; unsetopt beep prompt_sp auto_list; stty columns 300; "
            "cd '%s'; PS1='rea''dy> '\n" % (self.directory, self.directory))
        self.type_into(terminal, "ready> ", lines)

    def test_commands_and_options(self):
        self.typed(("holdfast sh", "holdfast show"),
                   ("holdfast --v", "holdfast --version"),
                   ("holdfast zk ex", "holdfast zk export"),
                   ("holdfast zk --", "holdfast zk --help"),
                   ("holdfast run --per", "holdfast run --permits="),
                   ("holdfast zk create --eph", "holdfast zk create --ephemeral"),
                   ("holdfast run --bogus", "holdfast run --bogus"))

    def test_every_option(self):
        """What _arguments gets is what --help lists."""
        for command in every_command():
            with open(os.path.join(DIRECTORY, "holdfast.zsh")) as file:
                branch = re.search(r"^    '%s'\)\n(.*?)^        ;;" % command,
                                   file.read(), re.M | re.S)[1]
            self.assertEqual(
                re.findall(r"'\((?:(-\w) )?(?:-\S )?(\S+)\)--[\w-]+(?:=\[.*\]:([^:]+):|\[)",
                           branch), options_of(command))

    def test_values(self):
        self.typed(("holdfast run -R T", "holdfast run -R TERM"),
                   ("holdfast torture --kind=sem",
                    "holdfast torture --kind=semaphore"),
                   ("holdfast zk acl ge", "holdfast zk acl get"),
                   ("holdfast run --url=q", "holdfast run --url=quorum:"),
                   ("holdfast run -c @t", "holdfast run -c @test"),
                   ("holdfast run --url=@t", "holdfast run --url=@test"),
                   ("holdfast run -c file:histori",
                    "holdfast run -c file:histories/"),
                   ("holdfast verify -l 1s history",
                    "holdfast verify -l 1s history"),
                   ("holdfast show hist", "holdfast show hist"))

    def test_the_command_that_is_run(self):
        self.typed(("holdfast run -w 5s name more -- basena",
                    "holdfast run -w 5s name more -- basename"),
                   ("holdfast elect -- -name -- basena",
                    "holdfast elect -- -name -- basename"),
                   ("holdfast run name -- basename histo",
                    "holdfast run name -- basename histor"))


@unittest.skipUnless(shutil.which("fish"), "fish is not installed")
class Fish(Case):
    def offered(self, *lines, **options):
        """The list of words for each line."""
        found = self.shell(
            "fish", "--no-config", "-c",
            "source $argv[1]; for line in $argv[2..]; echo :; "
            "complete -C $line; end",
            os.path.join(DIRECTORY, "holdfast.fish"), *lines, **options)
        answers = []
        for line in found:
            if line == ":":
                answers.append([])
            else:
                answers[-1].append(line.split("\t")[0])
        return [sorted(words) for words in answers]

    def test_commands(self):
        self.assertEqual(self.offered("holdfast ", "holdfast zk ",
                                      "holdfast sh", "holdfast zk --"),
                         [sorted(COMMANDS), sorted(ZK_COMMANDS), ["show"],
                          ["--help"]])

    def test_options_are_those_of_the_help(self):
        commands = every_command()
        offered = self.offered(*("holdfast %s --" % one for one in commands))
        for command, words in zip(commands, offered):
            self.assertEqual(words, sorted(
                name for _, name, _ in options_of(command)), command)

    def test_values(self):
        self.assertEqual(
            self.offered("holdfast run -R ", "holdfast torture --kind=se",
                         "holdfast zk acl ", "holdfast zk acl get ",
                         "holdfast run -c r", "holdfast run -w ",
                         "holdfast show his", "holdfast run -c @p",
                         "holdfast run --url=@t", "holdfast run -w 5s -c@t"),
            [["HUP", "TERM", "exit", "ignore"],
             ["--kind=semaphore", "--kind=several"], ["get", "set"], [],
             ["redis://", "rediss://"], [], [], ["@prod", "@prod2"],
             ["--url=@test"], ["-c@test"]])

    def test_files(self):
        self.assertEqual(
            self.offered("holdfast verify his", "holdfast torture -o his",
                         "holdfast zk txn his", "holdfast metrics -d his",
                         "holdfast run -c file:his"),
            [["histories/", "history"]] * 3
            + [["histories/"], ["file:histories/"]])

    def test_the_command_that_is_run(self):
        for words in self.offered("holdfast run name -- basena",
                                  "holdfast run -w 5s name more -- basena",
                                  "holdfast elect -- -name -- basena",
                                  programs=True):
            self.assertEqual(words, ["basename"])
        self.assertEqual(self.offered("holdfast run name -- cat his"),
                         [["histories/", "history"]])


if __name__ == "__main__":
    harness.main()
