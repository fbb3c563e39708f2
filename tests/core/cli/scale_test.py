#!/usr/bin/env python3
"""scale_test.py DLHOST: workers and servers join and leave a running run."""
import json
import os
import signal
import subprocess
import sys
import unittest

from several import FOR_EVER, PATIENCE, PROCESSES, Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))
THREADS = "--set=topology.run_as=threads"
STEPS = 6000


class Scale(Workers):
    def begin(self, *words: str) -> None:
        """Starts a run and stops its processes after the first steps, until it is scaled or continued."""
        before = set(self.root.glob("runs/*/summary.json"))
        self.process = self.start(*words, "--set=record.every.steps=100")
        self.until(lambda: set(self.root.glob("runs/*/summary.json")) - before)
        os.kill(self.process.pid, signal.SIGSTOP)
        (summary,) = set(self.root.glob("runs/*/summary.json")) - before
        self.folder = summary.parent

    def scale(self, *words: str, code: int = 0) -> str:
        """The run is stopped before and afterwards, because a small run would soon be over."""
        os.kill(self.process.pid, signal.SIGSTOP)
        asks = subprocess.Popen([self.dlhost, "scale", str(self.folder), *words], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, cwd=self.root)
        self.until(lambda: (self.folder / "scale.toml").exists() or asks.poll() is not None, PATIENCE)
        os.kill(self.process.pid, signal.SIGCONT)
        said, _ = asks.communicate(timeout=PATIENCE)
        os.kill(self.process.pid, signal.SIGSTOP)
        self.assertEqual(asks.returncode, code, said)
        return said

    def let_go(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def end_of_it(self) -> dict:
        self.let_go()
        out, err = self.process.communicate(timeout=PATIENCE)
        self.assertEqual(self.process.returncode, 0, f"{out}\n{err}")
        self.nothing_is_left()
        return self.outcome()

    def test_a_strict_run_ends_where_it_would_have(self) -> None:
        job = ("--set=train.reproducible=true", "--set=train.batch=16", "--set=topology.workers=2",
               f"--set=train.stop.steps={STEPS}")
        whole = self.run_job(*job, PROCESSES)
        for run_as in (PROCESSES, THREADS):
            with self.subTest(run_as=run_as):
                self.begin(*job, run_as)
                self.assertRegex(self.scale("--workers-per-group", "4", "--servers-per-group", "2"),
                                 "1 worker group of 4, 1 server group of 2, since step [0-9]+")
                self.assertRegex(self.scale("--workers-per-group", "1", "--servers-per-group", "1"), "of 1, 1 server")
                self.scale("--workers-per-group", "2")
                scaled = self.end_of_it()
                self.assertEqual(scaled["steps"], STEPS)
                self.assertEqual(scaled["params"], whole["params"])
                audit = self.audit()
                self.assertEqual([len(audit["workers"]), *(len(before["workers"]) for before in audit["before"])], [2, 2, 4])
                steps = [line["step"] for line in map(json.loads, (self.folder / "metrics.jsonl").read_text().splitlines())
                         if line.get("phase") == "train"]
                self.assertEqual(sorted(set(steps)), steps, "each step once")

    def test_groups_join_and_leave(self) -> None:
        self.begin(PROCESSES, "--set=topology.framework=downpour", "--set=topology.workers=2",
                   "--set=topology.consistency=eventual", "--set=updater.rate=0.005", "--set=train.stop={ epochs = 2000 }")
        self.assertIn("4 worker groups of 1", self.scale("--worker-groups", "4"))
        self.scale("--worker-groups", "3")
        summary = self.end_of_it()
        self.assertAlmostEqual(summary["epochs"], 2000, delta=1)
        self.assertEqual(len(summary["workers"]), 3)
        self.assertLess(summary["test"]["loss"], 1.0)
        audit = self.audit()
        self.assertEqual([len(before["workers"]) for before in audit["before"]], [2, 4])
        versions = [slice["version"] for slice in audit["before"][0]["slices"]]
        # Earlier contributions keep their numbers of that time.
        made = self.audit("--param", "fc.bias", "--version", str(min(versions)))
        self.assertLess(made[0]["group"], 2)

    def test_the_first_group_warms_up_alone(self) -> None:
        for run_as in (PROCESSES, THREADS):
            with self.subTest(run_as=run_as):
                summary = self.run_job(run_as, "--set=topology.framework=hogwild", "--set=topology.warmup_steps=20",
                                       '--set=topology.sync={ type = "ring", every = 5 }', "--set=updater.rate=0.01")
                self.assertEqual((summary["steps"], len(summary["workers"])), (60, 3))
                audit = self.audit()
                self.assertEqual(len(audit["slices"]), 6, "three server groups have two params each")
                self.assertEqual({slice["begun"] for slice in audit["slices"]}, {20})
                self.assertEqual([worker["contributions"] for worker in audit["workers"]], [[40, 40]] * 3)
                made = self.audit("--param", "fc.bias", "--version", "60")
                others = [(row["server_group"], row["through"]) for row in made if "server_group" in row]
                self.assertEqual(len(others), 6, "each of the three knows of two others")
                self.assertTrue(all(20 <= through <= 60 for _, through in others), others)

    def test_a_warm_up_goes_on_where_it_was(self) -> None:
        job = ("--set=topology.framework=downpour", "--set=topology.consistency=strict", "--set=topology.warmup_steps=20")
        whole = self.run_job(*job)
        self.run_job(*job, "--set=train.stop.steps=10")
        resumed = self.start(*job, f"--resume={self.newest_run()}", "--set=train.stop.steps=60")
        out, err = resumed.communicate(timeout=PATIENCE)
        self.assertEqual(resumed.returncode, 0, f"{out}\n{err}")
        self.assertIn("3 worker groups of 1 from step 20 on", out)
        self.assertEqual(self.outcome()["params"], whole["params"])

    def test_what_cannot_be_changes_nothing(self) -> None:
        self.begin(*FOR_EVER)
        self.assertIn("nothing to change:", self.scale(code=1))
        self.assertIn("workers_per_group", self.scale("--workers-per-group", "13", code=1))  # a batch has 12 rows
        self.assertIn("is not running", subprocess.run([self.dlhost, "scale", str(self.root), "--worker-groups", "2"],
                                                       capture_output=True, text=True, timeout=60).stderr)
        self.let_go()
        before = self.workers()
        self.assertEqual(len(before), 2)
        told = self.folder / "workers.jsonl"  # written after summary.json
        self.until(lambda: told.exists() and "steps" in told.read_text())
        self.assertEqual(self.workers(), before)

    def test_who_takes_over_has_the_newest_arrangement(self) -> None:
        self.begin(*FOR_EVER, "--set=recovery.every.steps=500")
        self.scale("--workers-per-group", "4")
        self.let_go()
        self.until(lambda: len(self.workers()) == 3)
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

        def leader() -> dict:
            return json.loads((self.folder / "leader.json").read_text())

        self.until(lambda: leader()["process"] != self.process.pid and len(leader()["workers"]) == 3, PATIENCE)
        os.kill(leader()["process"], signal.SIGINT)
        self.until(lambda: json.loads((self.folder / "summary.json").read_text())["status"] == "interrupted", PATIENCE)


if __name__ == "__main__":
    unittest.main(verbosity=1)
