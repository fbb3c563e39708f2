#!/usr/bin/env python3
"""machines_test.py DLHOST: one run of several hosts, each a namespace with its own address and shared memory. A link is
cut for a while, and a host dies."""
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cluster"))
import cluster  # noqa: E402
from members import Members  # noqa: E402
from several import PROCESSES  # noqa: E402

Members.dlhost = os.path.realpath(sys.argv[1])

LONG = ("--set=train.stop.steps=3000", "--set=recovery.every.steps=50", "--set=record.every.steps=100",
        "--set=checkpoint.every.steps=1000")


class Hosts(Members):
    network = "{ type = 'fabric', listen = '10.77.0.0/24', silence = 5.0 }"
    patient = network.replace("5.0", "15.0")

    def start_in(self, host: cluster.Host, *words: str) -> subprocess.Popen:
        process = host.start("sh", "-c", f"cd {self.root} && exec \"$0\" \"$@\"", self.dlhost, *words,
                             env=os.environ | {"TMPDIR": str(self.root / "tmp")}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def start_on(self, hosts: list[cluster.Host], *words: str) -> list[subprocess.Popen]:
        place = f"{hosts[0].address}:4242"
        return [self.start_in(host, "run", "job.toml", *self.words_of(rank, len(hosts), place, *words))
                for rank, host in enumerate(hosts)]

    def test_four_hosts_train_as_one_does(self) -> None:
        alone = self.run_job(PROCESSES, "--set=topology.workers=4")
        with cluster.Cluster(4) as together:
            summary = self.ended_well(self.start_on(together.hosts, "--set=topology.workers=4"))
        self.assertEqual(summary["params"], alone["params"])

    def test_four_hosts_train_as_one_worker_does(self) -> None:
        to_the_bit = ("--set=train.reproducible=true", "--set=train.batch=16", "--set=topology.framework=allreduce")
        alone = self.run_job("--set=topology.workers=1", *to_the_bit)
        with cluster.Cluster(4) as together:
            summary = self.ended_well(self.start_on(together.hosts, "--set=topology.workers=4", *to_the_bit))
        self.assertEqual(summary["params"], alone["params"])

    def test_they_are_launched_from_one_of_them(self) -> None:
        with cluster.Cluster(3) as together:
            process = self.start_in(together.hosts[0], "launch", "--hosts=host0,host1,host2", f"--shell={together.shell(self.root)}",
                                    "--listen=10.77.0.1", "job.toml", f"--set=topology.network={self.network}")
            summary = self.ended_well([process])
        self.assertEqual(summary["params"], self.run_job(PROCESSES)["params"])

    def test_a_link_that_is_cut_for_a_while_delays(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        with cluster.Cluster(3) as together:
            processes = self.start_on(together.hosts, *LONG, f"--set=topology.network={self.patient}")
            self.until(self.has_point)
            together.cut(together.hosts[1])
            time.sleep(5)
            together.heal(together.hosts[1])
            summary = self.ended_well(processes)
        self.assertEqual(summary["params"], alone["params"])
        self.assertEqual(summary["recoveries"], 0)

    def test_a_host_that_is_lost_is_done_without(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        with cluster.Cluster(3) as together:
            processes = self.start_on(together.hosts, *LONG)
            self.until(self.has_point)
            together.cut(together.hosts[2])  # the others get no more messages from it
            for process in processes[:2]:
                out, err = process.communicate(timeout=90)
                self.assertEqual(process.returncode, 0, f"{out}\n{err}")
            summary = self.outcome()
        self.assertEqual(summary["params"], alone["params"])
        self.assertGreaterEqual(summary["recoveries"], 1)


if __name__ == "__main__":
    cluster.enter()
    del sys.argv[1]
    unittest.main()
