#!/usr/bin/env python3
"""losses_test.py DLHOST: server groups that gossip go on while processes of others are killed and replaced.

DLHOST_SEED chooses who is killed and when; DLHOST_KILLS how often in each test (7)."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

from several import PATIENCE, PROCESSES, Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))
KILLS = int(os.environ.get("DLHOST_KILLS", "7"))
GOSSIP = (PROCESSES, "--set=recovery.restarts=1000", "--set=topology.sync={type='gossip'}", "--set=record.every.steps=1",
          "--set=recovery.every={}", "--set=test.every={}", "--set=validate.every={}")


class Losses(Workers):
    def setUp(self) -> None:
        super().setUp()
        self.draw = random.Random(f"{os.environ.get('DLHOST_SEED', '1')} {self.id()}")
        job = (self.root / "job.toml").read_text()
        job = job.replace('framework = "allreduce"\nworkers = 3\n', "").replace("train = 50", "train = 500")
        (self.root / "job.toml").write_text(job)

    def groups(self, groups: int, workers: int = 1, servers: int = 1) -> tuple[str, ...]:
        return (f"--set=topology.worker_groups={groups}", f"--set=topology.server_groups={groups}",
                f"--set=topology.workers_per_group={workers}", f"--set=topology.servers_per_group={servers}")

    def kill(self, victim: int) -> bool:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:  # it was about to end
            return False
        return True

    def kill_some(self, process: subprocess.Popen, seats: range, at_once: int = 1) -> set[int]:
        """At drawn moments; those that are left are the processes that they were."""
        killed: set[int] = set()
        for _ in range(KILLS):
            self.until(lambda: len(self.workers()) >= len(seats) and self.begun() or process.poll() is not None, PATIENCE)
            time.sleep(self.draw.uniform(0, 0.4))
            before = self.workers()
            there = [seat for seat in seats if seat in before]
            some = self.draw.sample(there, k=min(at_once, len(there)))
            if process.poll() is None:
                killed |= {seat for seat in some if self.kill(before[seat])}
        return killed

    def went_on(self, process: subprocess.Popen, steps: int, workers: int, killed: set[int]) -> dict:
        """The summary of a run that is whole, and in which only those that were killed began again."""
        out, err = process.communicate(timeout=2 * PATIENCE)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        self.nothing_is_left()
        summary = self.outcome()
        self.assertTrue(killed, "nothing was killed: this shows nothing")
        self.assertGreater(len(summary["replacements"]), 0, err)
        self.assertGreaterEqual(summary["recoveries"], len(summary["replacements"]))
        for replaced in summary["replacements"]:
            self.assertIn("was killed by SIGKILL", replaced["why"])
            self.assertGreater(replaced["seconds"], 0)
            self.assertLess(replaced["others_made_steps"], steps * workers)
        self.assertIn("the others go on, and worker", err)
        self.assertRegex(err, "replaced after [0-9.]+ s, at step [0-9]+; the others made [0-9]+ steps meanwhile, "
                              "and stood still for 0")
        run = self.newest_run()
        self.assertEqual([p.name for p in (run / "ledger").glob("begun-*")], ["begun-1"], f"the whole run began again: {err}")
        made = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines() if '"train"' in line]
        self.assertEqual(made, list(range(1, steps + 1)), "the leader's steps")
        audit = self.audit()
        self.assertEqual([worker["contributions"][0] for worker in audit["workers"]], [steps] * workers)
        return summary

    def begins(self, server: int) -> int:
        file = self.newest_run() / "ledger" / "begun-1" / f"server-{server}.jsonl"
        return sum('"begin"' in line for line in file.read_text().splitlines())

    def test_the_others_go_on(self) -> None:
        """Alone and two at once, in a tree and a chain, under handlers whose versions are whole and under one whose are
        not; with evaluations and checkpoints that the deaths fall together with."""
        for handler, more, at_once in (("eventual", (), 1), ("hogwild", ("--set=validate.every.steps=20",), 2),
                                       ("bounded", ("--set=topology.sync={type='gossip',children=1,every=3}",), 2),
                                       ("eventual", ("--set=topology.replicas=2",), 1)):
            with self.subTest(handler=handler, more=more):
                shutil.rmtree(self.root / "runs", ignore_errors=True)  # whose first step is not this run's
                steps = 3000 * KILLS
                process = self.start(*GOSSIP, *self.groups(5), f"--set=topology.consistency={handler}",
                                     "--set=checkpoint.every.steps=700", f"--set=train.stop.steps={steps}", *more)
                killed = self.kill_some(process, range(1, 5), at_once)
                summary = self.went_on(process, steps, 5, killed)
                self.assertGreater(sum(one["others_made_steps"] for one in summary["replacements"]), 0)
                for server in set(range(5)) - killed:
                    self.assertEqual(self.begins(server), 1, f"server {server} was not killed")

    def test_a_group_is_replaced_as_a_whole(self) -> None:
        steps = 1000 * KILLS
        process = self.start(*GOSSIP, *self.groups(3, workers=2, servers=2), "--set=topology.consistency=eventual",
                             "--set=checkpoint.every.steps=300", f"--set=train.stop.steps={steps}")
        killed = self.kill_some(process, range(2, 6))
        summary = self.went_on(process, steps, 6, killed)
        for one in summary["replacements"]:
            self.assertIn(one["workers"], ([2, 3], [4, 5]))

    def test_a_replacement_that_dies_is_replaced(self) -> None:
        steps = 150000  # on a busy machine, processes begin several times as slowly, and the others go on meanwhile
        process = self.start(*GOSSIP, *self.groups(3), "--set=topology.consistency=eventual",
                             "--set=checkpoint.every={}", f"--set=train.stop.steps={steps}")
        self.until(lambda: self.begun() and len(self.workers()) == 2)
        killed = {1}
        before = self.workers()
        self.kill(before[1])
        for delay in (0, 0.02, 0.05, 0.1, 0.2):
            self.until(lambda before=before: self.workers().get(1, before[1]) != before[1], what_is=self.state)
            before = self.workers()
            time.sleep(delay)
            self.kill(before[1])
        summary = self.went_on(process, steps, 3, killed)
        self.assertGreater(summary["recoveries"], len(summary["replacements"]))

    def test_what_a_group_lost_behind_its_last_step_is_made_again(self) -> None:
        """The run ends when all groups have made all steps, whichever dies meanwhile."""
        for delay in (0, 0.02, 0.1):
            with self.subTest(delay=delay):
                shutil.rmtree(self.root / "runs", ignore_errors=True)
                steps = 3000
                process = self.start(*GOSSIP, *self.groups(4), "--set=topology.consistency=eventual",
                                     "--set=checkpoint.every={}", f"--set=train.stop.steps={steps}")
                self.until(lambda: self.steps_made_by_leader() >= steps - 200, PATIENCE)
                time.sleep(delay)
                some = self.workers()
                for seat in (1, 2):
                    self.kill(some.get(seat, 0) or process.pid + (1 << 22))
                out, err = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 0, f"{out}\n{err}")
                self.nothing_is_left()
                self.assertEqual(self.outcome()["steps"], steps)
                for worker in self.audit()["workers"]:
                    self.assertEqual(worker["contributions"], [steps] * len(worker["contributions"]))

    def state(self) -> str:
        records = (self.newest_run() / "metrics.jsonl").read_text().splitlines()
        return f"{self.workers()}, {records[-1:]}, {self.outcome()['status']}"

    def steps_made_by_leader(self) -> int:
        return sum(file.read_bytes().count(b'"train"') for file in self.root.glob("runs/*/metrics.jsonl"))

    def test_without_restarts_a_death_ends_the_run(self) -> None:
        process = self.start(*GOSSIP, *self.groups(3), "--set=topology.consistency=eventual", "--set=recovery.restarts=0",
                             "--set=checkpoint.every={}", "--set=train.stop.steps=1000000000", "--set=record.every.steps=100")
        self.until(lambda: self.begun() and len(self.workers()) == 2)
        self.kill(self.workers()[1])
        out, err = process.communicate(timeout=PATIENCE)
        self.assertNotEqual(process.returncode, 0, out)
        self.assertIn("worker 1 is gone", err)
        self.nothing_is_left()

    def first_group_was_replaced(self, steps: int, workers: int, log: str) -> list[dict]:
        """The run is whole, and the other groups did not begin again."""
        self.until(self.over, 2 * PATIENCE, self.state)
        self.nothing_is_left()
        summary = self.outcome()
        self.assertEqual([p.name for p in (self.newest_run() / "ledger").glob("begun-*")], ["begun-1"], log)
        self.assertIn("the other server groups go on, and the first one begins anew", log)
        for worker in self.audit()["workers"]:
            self.assertEqual(worker["contributions"][0], steps)
        self.assertEqual(len(self.audit()["workers"]), workers)
        for server in range(1, 2):
            self.assertEqual(self.begins(server), 1, f"server {server} was not killed")
        return summary["replacements"]

    def test_the_first_group_is_replaced_too(self) -> None:
        """Whether its leader dies, or another of its processes: then the leader stays and begins anew."""
        steps = 2000
        for who in ("leader", "other"):
            with self.subTest(who):
                shutil.rmtree(self.root / "runs", ignore_errors=True)
                process = self.start(*GOSSIP, *self.groups(2, workers=2), "--set=topology.consistency=eventual",
                                     "--set=checkpoint.every={}", f"--set=train.stop.steps={steps}",
                                     # slow steps: the steps of the last second are not recorded yet
                                     "--set=layer.fc.units=1500", "--set=topology.slice_elements=100000")
                self.until(lambda: self.steps_made_by_leader() > 50 and len(self.workers()) == 3, PATIENCE)
                self.kill(process.pid if who == "leader" else self.workers()[1])
                _, err = process.communicate(timeout=2 * PATIENCE)
                self.until(self.over, 2 * PATIENCE, self.state)
                said = self.newest_run() / "output.log"
                replaced, = self.first_group_was_replaced(steps, 4, err + (said.read_text() if said.exists() else ""))
                self.assertEqual(replaced["workers"], [0, 1])
                self.assertGreater(replaced["others_made_steps"], 0)
                self.assertEqual(replaced["others_stood_still_seconds"], 0)
                self.assertEqual(process.returncode, -signal.SIGKILL if who == "leader" else 0, err)

    def test_leader_after_leader_is_replaced(self) -> None:
        """Also while it begins anew; and with evaluations and checkpoints that the deaths fall together with."""
        steps = 4000 * KILLS
        self.start(*GOSSIP, *self.groups(3), "--set=topology.consistency=eventual", "--set=validate.every.steps=50",
                   "--set=checkpoint.every.steps=700", f"--set=train.stop.steps={steps}")
        killed: set[int] = set()
        while len(killed) < KILLS and not (self.begun() and self.over()):
            self.until(lambda: self.begun() and self.leader() not in killed, PATIENCE, self.state)
            leader = self.leader()
            time.sleep(self.draw.uniform(0, 0.6))
            if self.kill(leader):
                killed.add(leader)
        self.until(self.over, 2 * PATIENCE, self.state)
        for replaced in self.first_group_was_replaced(steps, 3, (self.newest_run() / "output.log").read_text()):
            self.assertEqual(replaced["others_stood_still_seconds"], 0, "nor does an evaluation hold them that a death ends")


if __name__ == "__main__":
    unittest.main()
