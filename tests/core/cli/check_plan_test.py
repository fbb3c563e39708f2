#!/usr/bin/env python3
"""check_plan_test.py DLHOST EXAMPLES: `dlhost check --plan` predicts what published partitions of AlexNet move."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

dlhost, examples = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2])
del sys.argv[1:]
ALEXNET = (examples / "alexnet" / "job.toml").read_text()
DATA = '{ name = "data", type = "synthetic", shape = [3, 227, 227], classes = 1000, train = 1024 },'
DENSE = ("fc6", "relu6", "drop6", "fc7", "relu7", "drop7", "fc8", "loss", "accuracy")
MIB = 2**20
SMALL = """name = "small"
[train]
batch = 4
stop = { steps = 1 }
[[layer]]
name = "data"
type = "synthetic"
shape = [4]
classes = 2
train = 8
[[layer]]
name = "norm"
type = "batch_norm"
src = "data"
location = 0
[[layer]]
name = "fc"
type = "dense"
src = "norm"
units = 2
[[layer]]
name = "loss"
type = "softmax_loss"
src = ["fc", "data:label"]
"""


def alexnet(**keys: str) -> str:
    """The example on synthetic pictures. `keys`: for each of these layers, more of its keys."""
    job = re.sub(r"\{ name = \"data\".*", DATA, ALEXNET)
    for layer, more in keys.items():
        job, found = re.subn(rf'\{{ name = "{layer}", ', f'{{ name = "{layer}", {more}, ', job)
        assert found == 1, layer
    return job


class Plan(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.job = pathlib.Path(folder.name) / "job.toml"

    def run_check(self, workers: int, *words: str) -> subprocess.CompletedProcess[str]:
        command = [dlhost, "check", "--plan", str(self.job), "--set", "train.batch=256", "--set", "train.device=ref",
                   "--set", f"topology.workers_per_group={workers}", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    def plan(self, job: str, workers: int, *words: str) -> dict:
        self.job.write_text(job)
        done = self.run_check(workers, "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def crossing(self, plan: dict) -> float:
        """MiB a step; labels aside, as in the papers."""
        labels = sum(one["crossing"]["bytes"] for one in plan["connectors"] if one["from"] == "data:label")
        return (plan["features"]["bytes"] + plan["param_exchange"]["bytes"] - labels) / MIB

    def test_data_parallel(self) -> None:
        for workers, crosses in (2, 465.1), (4, 1395.4), (8, 3255.9):
            plan = self.plan(alexnet(), workers)
            self.assertAlmostEqual(self.crossing(plan), crosses, delta=0.06)
            self.assertEqual(plan["connectors"], [])

    def test_dense_layers_on_one_worker(self) -> None:
        for workers, crosses in (2, 26.8), (4, 66.9), (8, 140.4):
            plan = self.plan(alexnet(**{layer: "location = 0" for layer in DENSE}), workers)
            self.assertAlmostEqual(self.crossing(plan), crosses, delta=0.06)
            self.assertEqual([one["name"] for one in plan["connectors"] if one["from"] == "pool5"], ["concat"])

    def test_groups_of_convolutions_move_nothing(self) -> None:
        """Along its two groups on two workers."""
        plan = self.plan(alexnet(), 2, "--set", 'partition.default="features"')
        moved = {reader for one in plan["connectors"] for reader in one["to"]}
        self.assertEqual(moved & {"conv4", "conv5", "relu4", "relu5", "pool5"}, set())
        free = {one["name"] for one in plan["params"] if one["crossing"]["bytes"] == 0}
        self.assertLessEqual({"conv2.weight", "conv4.weight", "conv4.bias", "conv5.weight", "conv5.bias"}, free)

    def test_text_names_each_connector(self) -> None:
        self.job.write_text(alexnet(**{layer: "location = 1" for layer in DENSE}))
        done = self.run_check(2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^concat +pool5 +fc6 +axis 0 in 2 -> on worker 1 +9\.0$")
        self.assertRegex(done.stdout, r"(?m)^fc6 +none on 1 +256x4096 +on worker 1$")
        self.assertIn("crosses     2", done.stdout)

    def refused(self, message: str, *words: str, **keys: str) -> None:
        self.job.write_text(alexnet(**keys))
        done = self.run_check(2, *words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(message, done.stderr)

    def test_mistakes_are_named(self) -> None:
        self.refused("layer 'fc6': partition = \"hight\": a layer of type dense has no such split; it has batch, features, "
                     "inputs and none", fc6='partition = "hight"')
        self.refused("job.toml:22", fc6='partition = "hight"')
        self.refused("layer 'fc7': location = 2: the workers of a group are 0 to 1", fc7="location = 2")
        self.refused("layer 'fc7': location names worker 1 twice", fc7="location = [1, 1]")
        self.refused("layer 'fc7': partition: grid has 4 parts, and 2 workers compute the layer",
                     fc7="partition = { axes = [0, 1], grid = [2, 2] }")
        self.refused("layer 'fc7': partition: axis 3 of its output cannot be cut",
                     fc7="partition = { axes = [3], grid = [2] }")
        self.refused("partition.grid: has 1 numbers, and axes has 2", fc7="partition = { axes = [0, 1], grid = [2] }")
        self.refused("partition.layers: no layer has a name like \"fd*\"", "--set", 'partition.layers={"fd*"="features"}')
        self.refused("must be the name of a split", fc7="partition = 3")

    def test_names_are_checked_with_one_worker_too(self) -> None:
        self.job.write_text(alexnet(fc6='partition = "hight"'))
        for words in (), ("--set", 'partition.default="featurs"'), ("--set", 'partition.layers={"fd*"="none"}'):
            done = self.run_check(1, *words)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("layer 'fc6': partition = \"hight\"", done.stderr)
        self.refused('partition.default: no layer has a split "featurs"; they have batch, features', "--set",
                     'partition.default="featurs"')

    def test_layers_without_the_default_split_are_cut_by_rows(self) -> None:
        plan = self.plan(alexnet(), 4, "--set", "partition.default={axes=[0,1],grid=[2,2]}")
        schemes = {one["name"]: one["partition"] for one in plan["layers"]}
        self.assertEqual((schemes["fc6"], schemes["norm1"], schemes["loss"]), ("batch x features", "batch", "batch"))

    def test_many_patterns_are_refused(self) -> None:
        table = "\n[partition.layers]\n" + "".join(f'"a{n}*" = "none"\n' for n in range(1001))
        self.job.write_text(alexnet() + table)
        done = self.run_check(2)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("partition.layers: has 1001 patterns; at most 1000 are allowed", done.stderr)

    def refused_run(self, message: str, *words: str) -> None:
        for name in "run", "check":
            command = [dlhost, name, str(self.job), "--set", "topology.workers_per_group=2", "--set", "train.device=ref", *words]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.job.parent)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(message, done.stderr)

    def test_no_run_pretends(self) -> None:
        self.job.write_text(alexnet(fc6='partition = "inputs"', fc7='partition = "none"'))
        self.refused_run("layer 'fc6': is cut by \"inputs\", which cuts its params along another axis than the first")
        self.refused_run("layer 'fc7': is cut by \"none\", so several workers compute the same part of it")
        self.job.write_text(alexnet(fc6="location = 1"))
        for key, message in (("topology.consistency={type='first_t',t=1}", "it chooses whole steps of groups"),
                             ("topology={workers_per_group=2,worker_groups=2,consistency='eventual'}", "make steps at their own pace"),
                             ("topology.device_copies='none'", "topology.device_copies: each worker's device updates all"),
                             ("train.reproducible=true", "train.reproducible: sums are made in blocks"),
                             ("topology.machines=2", "topology.machines: features go between the workers of a group")):
            self.refused_run(message, "--set", key)

    def test_layers_that_keep_state_are_not_placed(self) -> None:
        self.job.write_text(SMALL)
        self.refused_run("layer 'norm': is cut by \"none on 0\", and it keeps state from step to step")


if __name__ == "__main__":
    unittest.main()
