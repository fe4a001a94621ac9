# SPDX-License-Identifier: Apache-2.0
"""docs/monitoring: the rules for Prometheus and the dashboard for Grafana are
what promtool accepts, are about metrics that the tool prints, and leave none
out."""

import json
import os
import pathlib
import re
import subprocess
import unittest

import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import harness

MONITORING = pathlib.Path(os.environ["HF_SOURCE"], "docs", "monitoring")
RULES = MONITORING / "holdfast.rules.yml"
TESTS = MONITORING / "holdfast.rules.test.yml"
DASHBOARD = MONITORING / "holdfast.dashboard.json"

METRIC = re.compile(r"\bholdfast_[a-z_]+")

# What Grafana puts in the place of its own variables.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*", "$name": ".*"}


def rules(key):
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]
            if key in rule]


def panels():
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"]
            if panel["type"] != "row"]


def expressions():
    """Of the dashboard, without variables."""
    found = [target["expr"] for panel in panels()
             for target in panel["targets"]]
    for variable, value in VARIABLES.items():
        found = [expression.replace(variable, value) for expression in found]
    return found


class Monitoring(harness.Case):
    def promtool(self, *arguments):
        done = subprocess.run(["promtool", *arguments], capture_output=True,
                              text=True, cwd=MONITORING,
                              stdin=subprocess.DEVNULL,
                              timeout=harness.waiting.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def printed(self):
        """Each metric that the tool prints, and the names of its samples."""
        counted = dict(self.environment,
                       HOLDFAST_METRICS_DIR=self.path("metrics"))
        subprocess.run([harness.TOOL, "run", "a", "--", "true"], check=True,
                       env=counted, stdin=subprocess.DEVNULL)
        samples = {}
        for arguments in (["--dir", self.path("metrics")],
                          ["--within", "", "a"]):
            done = subprocess.run([harness.TOOL, "metrics", *arguments],
                                  capture_output=True, text=True, check=True,
                                  env=self.environment,
                                  stdin=subprocess.DEVNULL)
            for family in text_string_to_metric_families(done.stdout):
                samples[family.name] = {one.name for one in family.samples}
        return samples

    def test_rules_are_accepted(self):
        self.promtool("check", "rules", RULES.name)

    def test_alerts_fire_as_their_examples_say(self):
        self.promtool("test", "rules", TESTS.name)

    def test_each_alert_has_an_example(self):
        """One in which it fires, and one in which it does not."""
        examples = {True: set(), False: set()}
        for group in yaml.safe_load(TESTS.read_text())["tests"]:
            for example in group["alert_rule_test"]:
                fires = "exp_alerts" in example
                examples[fires].add(example["alertname"])
        alerts = {rule["alert"] for rule in rules("alert")}
        self.assertEqual(examples, {True: alerts, False: alerts})

    def test_expressions_of_the_dashboard_are_accepted(self):
        path = self.path("dashboard.yml")
        with open(path, "w") as file:
            yaml.safe_dump({"groups": [{"name": "dashboard", "rules": [
                {"record": "panel:%d" % number, "expr": expression}
                for number, expression in enumerate(expressions())]}]}, file)
        self.promtool("check", "rules", path)

    def test_they_are_about_what_the_tool_prints(self):
        samples = set.union(*self.printed().values())
        for expression in expressions() + [rule["expr"] for key in
                                           ("alert", "record")
                                           for rule in rules(key)]:
            self.assertLessEqual(set(METRIC.findall(expression)), samples,
                                 expression)

    def test_the_dashboard_shows_each_metric(self):
        shown = set(METRIC.findall(" ".join(expressions())))
        for metric, samples in self.printed().items():
            self.assertTrue(samples & shown, metric)

    def test_panels_are_beside_each_other(self):
        """No two are in one place, and no two have one id."""
        places = set()
        for panel in panels():
            at = panel["gridPos"]
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertNotIn((x, y), places, panel["title"])
                    places.add((x, y))
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
        ids = [panel["id"] for panel in
               json.loads(DASHBOARD.read_text())["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_the_page_lists_the_alerts(self):
        text = (MONITORING.parent / "metrics.md").read_text()
        self.assertEqual(re.findall(r"^\| `([A-Z]\w+)` \|", text, re.M),
                         [rule["alert"] for rule in rules("alert")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
