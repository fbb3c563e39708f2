#!/usr/bin/env python3
"""steering_test.py DLHOST: other processes list, stop and kill runs."""
import json
import os
import signal
import subprocess
import sys
import unittest

from members import Members
from several import FOR_EVER, PATIENCE, Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))


class Steering(Workers):
    def setUp(self) -> None:
        super().setUp()
        self.process = self.start(*FOR_EVER, "--set=recovery.every.steps=1000")
        self.until(self.begun)
        self.folder = str(next((self.root / "runs").iterdir()))

    def say(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([self.dlhost, *words], capture_output=True, text=True, timeout=60, cwd=self.root)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def listed(self) -> dict | None:
        runs = json.loads(self.say("ps", "--json"))
        return next((run for run in runs if os.path.realpath(run["run"]) == os.path.realpath(self.folder)), None)

    def test_a_run_is_listed_while_it_goes_on(self) -> None:
        run = self.listed()
        self.assertEqual(run["leader"], self.process.pid)
        self.assertEqual([worker["process"] for worker in run["workers"]],
                         [number for _, number in sorted(self.workers().items())])
        self.assertEqual({worker["host"] for worker in run["workers"]}, {run["host"]})
        self.until(lambda: self.listed()["step"] > run["step"])
        self.assertIn(str(self.process.pid), self.say("ps"))
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.assertIsNone(self.listed())

    def test_top_says_where_each_worker_is(self) -> None:
        def seen() -> dict:
            return json.loads(self.say("top", self.folder, "--json"))

        self.until(lambda: list(self.root.glob("runs/*/workers.jsonl")) and "waits for" in self.say("top", self.folder, "--once"))
        self.until(lambda: all(worker["steps_per_second"] > 0 for worker in seen()["workers"]))
        self.until(lambda: any("on worker" in worker["awaits"] for worker in seen()["workers"]))
        workers = seen()["workers"]
        self.assertEqual([worker["process"] for worker in workers],
                         [self.process.pid, *(number for _, number in sorted(self.workers().items()))])
        for worker in workers:
            self.assertLessEqual(worker["behind"], 1)  # strict keeps workers together
            self.assertLessEqual(worker["stale"], 1)
            self.assertLessEqual(worker["waiting"], 1)

    def test_top_says_what_each_server_has_made(self) -> None:
        def seen() -> list[dict]:
            return json.loads(self.say("top", self.folder, "--json"))["servers"]

        self.until(lambda: list(self.root.glob("runs/*/workers.jsonl")) and "of worker" in self.say("top", self.folder, "--once"))
        self.until(lambda: all(server["versions_per_second"] > 0 for server in seen()))
        before = seen()
        self.assertEqual([server["worker"] for server in before], [0, 1])  # two slices: the third server has none
        self.assertLessEqual(max(server["version"] for server in before) - min(server["version"] for server in before), 1)
        self.until(lambda: all(server["version"] > then["version"] for server, then in zip(seen(), before)))

    def test_stop_saves_and_ends(self) -> None:
        self.assertIn("has saved and ended", self.say("stop", self.folder))
        self.process.communicate(timeout=30)
        self.assertEqual(json.loads((self.root / self.folder / "summary.json").read_text())["status"], "interrupted")
        self.nothing_is_left()
        self.assertIn("is not running", self.say("stop", self.folder, code=1))
        self.assertIn("is not running", self.say("kill", self.folder, "0", code=1))

    def test_who_is_killed_is_replaced(self) -> None:
        before = self.workers()[2]
        self.assertIn(f"worker 2, process {before}", self.say("kill", self.folder, "2"))
        self.until(lambda: (self.listed() or {}).get("recoveries") == 1)
        self.until(lambda: self.workers().get(2, before) != before)
        self.say("kill", self.folder, "0")
        self.process.communicate(timeout=30)
        self.until(lambda: (self.listed() or {}).get("recoveries") == 2 and len(self.listed()["workers"]) == 2)
        self.assertIn("its processes are 0 to 2", self.say("kill", self.folder, "3", code=1))
        self.say("stop", self.folder)

    def test_what_there_is_not(self) -> None:
        self.assertIn("there is no run folder", self.say("stop", "runs/none", code=1))


class Stale(Workers):
    def test_top_says_how_far_behind_its_server_a_worker_is(self) -> None:
        groups = self.start(*FOR_EVER, "--set=topology.framework=downpour", "--set=topology.consistency=eventual",
                            "--set=updater.rate=0.0001", "--set=checkpoint.every={}", "--set=recovery.every={}",
                            "--set=validate.every={}", "--set=recovery.timeout=1000")
        self.until(self.begun)
        folder = str(next((self.root / "runs").iterdir()))

        def stale() -> list[int]:
            told = subprocess.run([self.dlhost, "top", folder, "--json"], capture_output=True, text=True, timeout=60,
                                  cwd=self.root, check=False)
            return [worker["stale"] for worker in json.loads(told.stdout)["workers"]] if told.returncode == 0 else [0] * 3

        def is_far_behind(leader: int, other: int, stopped: int) -> bool:
            return stopped > 1000 + 10 * max(leader, other)

        number = self.workers()[2]
        os.kill(number, signal.SIGSTOP)  # it serves no slice, and no worker waits for it
        self.until(lambda: is_far_behind(*stale()))
        os.kill(number, signal.SIGCONT)
        self.until(lambda: not is_far_behind(*stale()))
        self.assertIsNone(groups.poll())


class FromElsewhere(Members):
    """Commands that see a run's folder but not its processes."""

    ELSEWHERE = ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc", "--")

    def setUp(self) -> None:
        super().setUp()
        if subprocess.run([*self.ELSEWHERE, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("processes cannot be hidden here: unshare --pid is not allowed")
        self.processes = self.start_all(["a", "b"], *FOR_EVER, "--set=recovery.every.steps=50",
                                        "--set=checkpoint.every.steps=1000000")
        self.until(self.has_point)

    def say(self, *words: str) -> str:
        done = subprocess.run([*self.ELSEWHERE, self.dlhost, *words], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.root, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def seen(self) -> dict:
        run, = json.loads(self.say("ps", "--json", "runs"))
        return run

    def end_well(self) -> None:
        """The current leader saves and ends."""
        self.assertIn("has saved and ended", self.say("stop", str(self.newest_run())))
        for process in self.processes:
            process.communicate(timeout=PATIENCE)
        self.assertEqual(self.outcome_of_newest()["status"], "interrupted")
        self.nothing_is_left()

    def outcome_of_newest(self) -> dict:
        return json.loads((self.newest_run() / "summary.json").read_text())

    def test_a_run_is_seen_and_stopped(self) -> None:
        self.assertEqual(json.loads(self.say("ps", "--json")), [])
        run = self.seen()
        self.assertEqual((run["host"], run["leader"]), ("a", self.processes[0].pid))
        self.assertEqual({worker["host"] for worker in run["workers"]}, {"a", "b"})
        self.assertIn("b:", self.say("ps", "runs"))
        self.until(lambda: " b " in self.say("top", str(self.newest_run()), "--once"))
        self.end_well()

    def test_a_worker_of_another_machine_is_killed_and_replaced(self) -> None:
        last = len(self.seen()["workers"])
        self.assertEqual(self.seen()["workers"][-1]["host"], "b")
        before = self.seen()["workers"][-1]["process"]
        self.assertIn(f"process {before} of b", self.say("kill", str(self.newest_run()), str(last)))
        self.until(lambda: self.seen()["recoveries"] == 1 and self.seen()["workers"]
                   and self.seen()["workers"][-1]["process"] != before, PATIENCE)
        self.end_well()

    def test_who_leads_is_killed(self) -> None:
        self.assertIn("of a", self.say("kill", str(self.newest_run()), "0"))
        self.processes[0].communicate(timeout=PATIENCE)
        self.assertEqual(self.processes[0].returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(verbosity=1)
