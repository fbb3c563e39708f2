#!/usr/bin/env python3
"""steering_test.py DLHOST: runs are listed, stopped and hurt from elsewhere."""
import json
import os
import signal
import subprocess
import sys
import unittest

from several import FOR_EVER, Workers

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
        self.assertEqual(run["workers"], [number for _, number in sorted(self.workers().items())])
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
        workers = seen()["workers"]
        self.assertEqual([worker["process"] for worker in workers],
                         [self.process.pid, *(number for _, number in sorted(self.workers().items()))])
        for worker in workers:
            self.assertLessEqual(worker["behind"], 1)  # strict: nobody is
            self.assertLessEqual(worker["waiting"], 1)

    def test_stop_saves_and_ends(self) -> None:
        self.assertIn("has saved and ended", self.say("stop", self.folder))
        self.process.communicate(timeout=30)
        self.assertEqual(json.loads((self.root / self.folder / "summary.json").read_text())["status"], "interrupted")
        self.nothing_is_left()
        self.assertIn("does not go on", self.say("stop", self.folder, code=1))
        self.assertIn("does not go on", self.say("kill", self.folder, "0", code=1))

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


if __name__ == "__main__":
    unittest.main(verbosity=1)
