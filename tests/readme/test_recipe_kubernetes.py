#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/recipes/kubernetes.md and the manifests beside it.  In place of a
cluster, a pod is a command in a pid and a UTS namespace of its own, where it is
process 1 as in a container, and a real ZooKeeper is outside of it."""
import os
import signal
import subprocess
import sys
import unittest

import yaml

import recipes
import units
from recipes import harness, waiting

# Who is not root may have these namespaces within one of users.
ISOLATE = ["unshare", "--pid", "--uts", "--fork", "--kill-child",
           "--mount-proc"]
if os.getuid() != 0:
    ISOLATE += ["--user", "--map-root-user"]
ISOLATED = subprocess.run([*ISOLATE, "true"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


# Give the pod its name, and be its command, as process 1.
BEGIN = ("import os, socket, sys; socket.sethostname(sys.argv[1]); "
         "os.execvp(sys.argv[2], sys.argv[2:])")


def manifest(name):
    return yaml.safe_load((recipes.RECIPES / name).read_text())


class Pod:
    """What a pod template says: .grace_s, .environment, .command"""

    def __init__(self, template):
        self.spec = template["spec"]
        container, = self.spec["containers"]
        self.grace_s = self.spec["terminationGracePeriodSeconds"]
        self.environment = {variable["name"]: variable["value"]
                            for variable in container["env"]}
        self.command = container["command"]
        assert all(isinstance(word, str) for word in self.command)


NIGHTLY = manifest("nightly.cronjob.yaml")
SCHEDULER = manifest("scheduler.deployment.yaml")
JOB = NIGHTLY["spec"]["jobTemplate"]["spec"]
NIGHTLY_POD = Pod(JOB["template"])
SCHEDULER_POD = Pod(SCHEDULER["spec"]["template"])


class Manifests(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual((NIGHTLY["apiVersion"], NIGHTLY["kind"]),
                         ("batch/v1", "CronJob"))
        self.assertEqual((SCHEDULER["apiVersion"], SCHEDULER["kind"]),
                         ("apps/v1", "Deployment"))

    def test_the_deployment_selects_its_pods(self):
        labels = SCHEDULER["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(SCHEDULER["spec"]["selector"]["matchLabels"], labels)
        spread, = SCHEDULER_POD.spec["topologySpreadConstraints"]
        self.assertEqual(spread["labelSelector"]["matchLabels"], labels)
        self.assertGreater(SCHEDULER["spec"]["replicas"], 1)

    def test_times(self):
        """holdfast must have done its part before it is killed."""
        for pod in (NIGHTLY_POD, SCHEDULER_POD):
            self.assertGreaterEqual(pod.grace_s,
                                    2 * units.grace_s(pod.command))
        self.assertGreaterEqual(
            JOB["activeDeadlineSeconds"],
            2 * units.seconds(units.option(NIGHTLY_POD.command, "-w")))

    def test_environment_and_command(self):
        for pod in (NIGHTLY_POD, SCHEDULER_POD):
            self.assertEqual(list(pod.environment), ["HOLDFAST_URL"])
            self.assertEqual(pod.command[0], "holdfast")
        self.assertEqual(JOB["template"]["spec"]["restartPolicy"], "Never")


@unittest.skipUnless(ISOLATED, "this kernel makes no namespaces for us")
class Pods(recipes.ZooKeeper, recipes.Case):
    document = recipes.document("kubernetes.md")

    def setUp(self):
        super().setUp()
        self.program("nightly-report", units.SERVICE)
        self.program("scheduler", units.SERVICE)

    def test_every_block_is_run(self):
        self.every_block_is_run()

    def start_pod(self, pod, name):
        """Its process, with .first, the process 1 of it."""
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *ISOLATE, sys.executable,
             "-c", BEGIN, name, *pod.command],
            text=True, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
        self.started.append(process)
        process.first, = waiting.eventually(
            f"the pod {name}", lambda: harness.children(process.pid),
            of=[process])
        return process

    def owners(self, name, count, *processes):
        """Pod and process of each ticket."""
        return [(ticket["owner"]["host"], ticket["owner"]["pid"])
                for ticket in self.wait_for_queue(name, count, *processes)]

    def test_jobs_follow_one_another(self):
        """And process 1 passes SIGTERM on, once."""
        first = self.start_pod(NIGHTLY_POD, "nightly-1")
        waiting.read_line(first, "began")
        second = self.start_pod(NIGHTLY_POD, "nightly-2")
        self.assertEqual(self.owners("nightly", 2, first, second),
                         [("nightly-1", 2), ("nightly-2", 2)])
        os.kill(first.first, signal.SIGTERM)
        self.assertEqual(self.finish(first)[:2], (143, "asked\n"))
        waiting.read_line(second, "began")

    def test_a_pod_that_waits_is_deleted(self):
        """Process 1 cannot end by the signal: it ends with the status."""
        first = self.start_pod(NIGHTLY_POD, "nightly-1")
        waiting.read_line(first, "began")
        second = self.start_pod(NIGHTLY_POD, "nightly-2")
        self.wait_for_queue("nightly", 2, first, second)
        os.kill(second.first, signal.SIGTERM)
        self.assertEqual(self.finish(second)[0], 143)
        self.wait_for_queue("nightly", 1, first)

    def test_a_job_that_is_done(self):
        """With what it leaves behind, which process 1 reaps."""
        self.program("nightly-report", "setsid sleep 1000 & echo ran")
        pod = self.start_pod(NIGHTLY_POD, "nightly-1")
        self.assertEqual(self.finish(pod), (0, "ran\n", ""))

    @recipes.block("$ kubectl exec deploy/scheduler -- holdfast show scheduler")
    def test_the_second_pod_leads_when_the_first_is_killed(self):
        self.shorten_lease()
        self.program("kubectl", "shift 3; exec \"$@\"")
        first = self.start_pod(SCHEDULER_POD, "scheduler-5d8f-x2x7v")
        waiting.read_line(first, "began")
        second = self.start_pod(SCHEDULER_POD, "scheduler-5d8f-k9cqp")
        self.wait_for_queue("scheduler", 2, first, second)
        self.follow()
        os.kill(first.first, signal.SIGKILL)
        waiting.read_line(second, "began")

    def test_files_exclude_pods_of_one_node(self):
        """Whatever their namespaces; and a pod that is killed leaves nothing
        behind."""
        self.environment["HOLDFAST_URL"] = "file:" + self.locks
        first = self.start_pod(NIGHTLY_POD, "nightly-1")
        waiting.read_line(first, "began")
        second = self.start_pod(NIGHTLY_POD, "nightly-2")
        self.assertEqual(self.owners("nightly", 2, first, second),
                         [("nightly-1", 2), ("nightly-2", 2)])
        os.kill(first.first, signal.SIGKILL)
        waiting.read_line(second, "began")


if __name__ == "__main__":
    unittest.main()
