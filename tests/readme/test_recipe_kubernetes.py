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


def manifests(name):
    return list(yaml.safe_load_all((recipes.RECIPES / name).read_text()))


def manifest(name):
    found, = manifests(name)
    return found


class Pod:
    """What a pod template says: .grace_s, .environment, .command, .ports,
    .probe (of readiness; None)"""

    def __init__(self, template):
        self.spec = template["spec"]
        container, = self.spec["containers"]
        self.grace_s = self.spec["terminationGracePeriodSeconds"]
        self.environment = {variable["name"]: variable["value"]
                            for variable in container["env"]}
        self.command = container["command"]
        self.ports = [port["containerPort"]
                      for port in container.get("ports", ())]
        self.probe = container.get("readinessProbe")
        assert all(isinstance(word, str) for word in self.command)


NIGHTLY = manifest("nightly.cronjob.yaml")
SCHEDULER = manifest("scheduler.deployment.yaml")
API, API_SERVICE = manifests("api.deployment.yaml")
JOB = NIGHTLY["spec"]["jobTemplate"]["spec"]
NIGHTLY_POD = Pod(JOB["template"])
SCHEDULER_POD = Pod(SCHEDULER["spec"]["template"])
API_POD = Pod(API["spec"]["template"])


class Manifests(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual((NIGHTLY["apiVersion"], NIGHTLY["kind"]),
                         ("batch/v1", "CronJob"))
        for deployment in (SCHEDULER, API):
            self.assertEqual((deployment["apiVersion"], deployment["kind"]),
                             ("apps/v1", "Deployment"))
        self.assertEqual((API_SERVICE["apiVersion"], API_SERVICE["kind"]),
                         ("v1", "Service"))

    def test_a_deployment_selects_its_pods(self):
        for deployment in (SCHEDULER, API):
            template = deployment["spec"]["template"]
            labels = template["metadata"]["labels"]
            self.assertEqual(deployment["spec"]["selector"]["matchLabels"],
                             labels)
            spread, = template["spec"]["topologySpreadConstraints"]
            self.assertEqual(spread["labelSelector"]["matchLabels"], labels)
            self.assertGreater(deployment["spec"]["replicas"], 1)

    def test_the_service_reaches_pods_that_are_ready(self):
        self.assertEqual(API_SERVICE["spec"]["selector"],
                         API["spec"]["template"]["metadata"]["labels"])
        self.assertEqual([port["targetPort"]
                          for port in API_SERVICE["spec"]["ports"]],
                         API_POD.ports)
        # One that waits is not, so the others must not wait for it.
        self.assertEqual(API["spec"]["strategy"]["type"], "Recreate")
        # The probe has ended before it is killed.
        self.assertGreater(
            API_POD.probe["timeoutSeconds"],
            2 * units.seconds(units.option(API_POD.probe["exec"]["command"],
                                           "-w")))

    def test_times(self):
        """holdfast must have done its part before it is killed."""
        for pod in (NIGHTLY_POD, SCHEDULER_POD, API_POD):
            self.assertGreaterEqual(pod.grace_s,
                                    2 * units.grace_s(pod.command))
        self.assertGreaterEqual(
            JOB["activeDeadlineSeconds"],
            2 * units.seconds(units.option(NIGHTLY_POD.command, "-w")))

    def test_environment_and_command(self):
        for pod in (NIGHTLY_POD, SCHEDULER_POD, API_POD):
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
        self.program("api-server", units.SERVICE)

    def test_every_block_is_run(self):
        self.every_block_is_run()

    def start_in_pod(self, name, command):
        """A process in namespaces of its own, on a machine of that name."""
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *ISOLATE, sys.executable,
             "-c", BEGIN, name, *command],
            text=True, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
        self.started.append(process)
        return process

    def start_pod(self, pod, name):
        """Its process, with .first, the process 1 of it."""
        process = self.start_in_pod(name, pod.command)
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

    def is_ready(self, pod, name):
        """The probe runs in the container, which has the name of the pod."""
        process = self.start_in_pod(name, pod.probe["exec"]["command"])
        status, out, err = self.finish(process)
        self.assertEqual((out, err), ("", ""))
        self.assertIn(status, (0, 1))
        return status == 0

    @recipes.block("$ kubectl exec deploy/api -- holdfast leading api")
    def test_the_pod_that_leads_is_ready(self):
        self.program("kubectl", "shift 3; exec \"$@\"")
        names = ["api-7c9d-4x8zq", "api-7c9d-tt2wp"]
        self.assertEqual([self.is_ready(API_POD, name) for name in names],
                         [False, False])
        first = self.start_pod(API_POD, names[0])
        waiting.read_line(first, "began")
        second = self.start_pod(API_POD, names[1])
        self.wait_for_queue("api", 2, first, second)
        self.follow()
        self.assertEqual([self.is_ready(API_POD, name) for name in names],
                         [True, False])
        os.kill(first.first, signal.SIGTERM)
        waiting.read_line(second, "began")
        self.assertEqual([self.is_ready(API_POD, name) for name in names],
                         [False, True])

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
