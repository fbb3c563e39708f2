#!/usr/bin/env python3
"""mnist_hosts_test.py DLHOST: Downpour and distributed Hogwild on four hosts, each a namespace of this machine, learn
MNIST as well as one worker."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cluster"))
import cluster  # noqa: E402

DLHOST = os.path.realpath(sys.argv[1])
DATA = pathlib.Path(os.environ.get("DLHOST_DATA", "/nowhere"), "mnist")
HOSTS = 4
JOB = """name = "mnist"
seed = 7
layer = [
  {{ name = "data", type = "idx", train = ["{train}-images-idx3-ubyte.gz", "{train}-labels-idx1-ubyte.gz"], test = ["{test}-images-idx3-ubyte.gz", "{test}-labels-idx1-ubyte.gz"], augment = [{{ type = "normalize", mean = 33.3, deviation = 78.6 }}] }},
  {{ name = "hidden", type = "dense", src = "data", units = 100 }},
  {{ name = "act", type = "relu", src = "hidden" }},
  {{ name = "out", type = "dense", src = "act", units = 10 }},
  {{ name = "loss", type = "softmax_loss", src = ["out", "data:label"] }},
  {{ name = "accuracy", type = "accuracy", src = ["out", "data:label"] }},
]
[train]
batch = 32
threads = 1
stop = {{ epochs = 1 }}
[updater]
type = "sgd"
momentum = 0.5
rate = {{ type = "cosine", base = 0.02 }}
[checkpoint]
keep = 0
[topology]
group_data = "disjoint"
"""
GROUPS = ("--set=topology.run_as=processes", f"--set=topology.workers={HOSTS}", "--set=topology.consistency=eventual",
          "--set=topology.network={ type = 'fabric', listen = '10.77.0.0/24', provider = 'tcp' }")
# 50 of the 10,000 test digits.
LOST = 0.005


@unittest.skipUnless(DATA.exists(), "MNIST is not there: DLHOST_DATA names no folder that has it")
class MnistOnHosts(unittest.TestCase):
    alone: float  # accuracy of one worker

    @classmethod
    def setUpClass(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = cls.prepared(folder)
            cls.alone = cls.accuracy(root, subprocess.Popen([DLHOST, "run", "job.toml"], cwd=root, stdout=subprocess.PIPE,
                                                            stderr=subprocess.STDOUT, text=True))

    @staticmethod
    def prepared(folder: str) -> pathlib.Path:
        root = pathlib.Path(folder)
        (root / "job.toml").write_text(JOB.format(train=DATA / "train", test=DATA / "t10k"))
        return root

    @staticmethod
    def accuracy(root: pathlib.Path, process: subprocess.Popen) -> float:
        out, _ = process.communicate(timeout=200)
        assert process.returncode == 0, out
        (run,) = (root / "runs").iterdir()
        (last,) = [line for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()) if line["phase"] == "test"][-1:]
        return last["metrics"]["accuracy"]

    def together(self, *words: str) -> float:
        with cluster.Cluster(HOSTS) as hosts, tempfile.TemporaryDirectory() as folder:
            root = self.prepared(folder)
            names = ",".join(host.name for host in hosts.hosts)
            launch = hosts.hosts[0].start(
                "sh", "-c", f"cd {root} && exec \"$0\" \"$@\"", DLHOST, "launch", f"--hosts={names}", f"--shell={hosts.shell(root)}",
                f"--listen={hosts.hosts[0].address}", "job.toml", *GROUPS, *words, env=os.environ, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            return self.accuracy(root, launch)

    def learns(self, *words: str) -> None:
        reached = self.together(*words)
        print(f"{' '.join(words)}: {reached:.4f}, one worker {self.alone:.4f}", file=sys.stderr)
        self.assertGreater(reached, self.alone - LOST)

    def test_downpour(self) -> None:
        self.learns("--set=topology.framework=downpour")

    def test_distributed_hogwild(self) -> None:
        """The groups' values are averaged: each group makes as many steps as the one worker, on its own samples."""
        self.learns("--set=topology.framework=hogwild", "--set=topology.sync={ type = 'ring', every = 10 }",
                    f"--set=train.stop.epochs={HOSTS}")


if __name__ == "__main__":
    cluster.enter()
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
