#!/usr/bin/env python3
"""recovery_test.py DLHOST: a run goes on when its workers are killed, and ends as if nothing had happened.

DLHOST_SEED chooses who is killed and when; DLHOST_KILLS how often in each test (7)."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import typing
import unittest

from several import FOR_EVER, PATIENCE, PROCESSES, Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))
KILLS = int(os.environ.get("DLHOST_KILLS", "7"))
# Kills may follow one another sooner than a machine that is busy makes a step.
AGAIN_AND_AGAIN = "--set=recovery.restarts=1000"
LONG = (PROCESSES, AGAIN_AND_AGAIN, "--set=checkpoint.every.steps=1500", "--set=recovery.every.steps=50",
        "--set=record.every.steps=10")
# Five times what is promised of a machine that does nothing else; and more where all is slower (tests/meson.build).
SLOWER = int(os.environ.get("DLHOST_PATIENCE", "60")) / 60
MOST_UNTIL_DETECTED, MOST_UNTIL_TRAINING = 5 * 1 * SLOWER, 5 * 3 * SLOWER


class Took(typing.NamedTuple):
    """Seconds from a kill on."""

    detected: float  # and all whom the run had then are ended, which is a little later
    training: float  # steps are made again, or the run is over


class Recovery(Workers):
    def setUp(self) -> None:
        super().setUp()
        self.draw = random.Random(f"{os.environ.get('DLHOST_SEED', '1')} {self.id()}")
        self.took: list[Took] = []
        self.killed = 0  # the last one

    def kill_one(self, *, leader: bool = False, alone: bool = False, within: float = 0.3) -> None:
        """At some moment of its life; returns when steps are made again. `alone`: the others go on."""
        self.until(lambda: len(self.workers()) == 2 and self.begun() or self.over())
        time.sleep(self.draw.uniform(0, within))
        victims = set(self.workers().values())
        if self.over() or not victims:
            return
        begin = time.monotonic()
        victim = self.leader() if leader else self.draw.choice(sorted(victims))
        os.kill(victim, signal.SIGKILL)
        self.killed = victim
        if alone:
            victims = {victim}
        self.until(lambda: not victims & set(self.workers().values()))
        detected = time.monotonic() - begin
        before = self.recorded()
        self.until(lambda: self.recorded() != before or self.over())
        self.took.append(Took(detected, time.monotonic() - begin))

    def nothing_is_left(self) -> None:
        """A leader that is killed after its run's end was the last process: the next one removes its folder."""
        if self.killed and self.killed == self.leader():
            self.run_job(PROCESSES, "--set=record.folder=next")
        super().nothing_is_left()

    def were_in_time(self, what: str) -> None:
        """All kills so far."""
        self.assertTrue(self.took, "nobody was killed: this shows nothing")
        longest = Took(*map(max, zip(*self.took)))
        print(f"{len(self.took)} {what}; detected after {longest.detected:.2f} s, "
              f"training again after {longest.training:.2f} s at most", file=sys.stderr)
        self.assertLess(longest.detected, MOST_UNTIL_DETECTED)
        self.assertLess(longest.training, MOST_UNTIL_TRAINING)

    def recorded(self) -> bytes:
        return b"".join(p.read_bytes() for p in self.root.glob("runs/*/metrics.jsonl"))

    def with_kills(self, *words: str) -> dict:
        """The summary of a run during which some were killed."""
        process = self.start(*words)
        for _ in range(KILLS):
            self.kill_one()
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        self.were_in_time("kills")
        self.nothing_is_left()
        return self.outcome()

    def test_the_end_is_as_if_nobody_had_died(self) -> None:
        steps = f"--set=train.stop.steps={600 * KILLS}"
        cut = self.with_kills(*LONG, steps)
        for worker in self.audit()["workers"]:
            self.assertEqual(worker["contributions"], [600 * KILLS] * 2)
        whole = self.run_job(*LONG, steps)
        self.assertGreater(cut["recoveries"], 0)
        self.assertEqual(whole["recoveries"], 0)
        for key in ("params", "train", "test", "steps"):
            self.assertEqual(cut[key], whole[key], key)

    def test_who_survives_the_leader_takes_its_place(self) -> None:
        steps = f"--set=train.stop.steps={600 * KILLS}"
        process = self.start(*LONG, steps)
        for _ in range(KILLS):
            self.kill_one(leader=True)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.until(lambda: self.over(), PATIENCE)
        self.were_in_time("leaders killed")
        self.nothing_is_left()
        cut = self.outcome()
        for worker in self.audit()["workers"]:
            self.assertEqual(worker["contributions"], [600 * KILLS] * 2)
        said = next(self.root.glob("runs/*/output.log")).read_text()
        self.assertIn("the run's leader is gone, and process", said)
        self.assertIn("small: done", said)
        whole = self.run_job(*LONG, steps)
        for key in ("params", "train", "test", "steps"):
            self.assertEqual(cut[key], whole[key], key)

    def test_what_servers_made_outlives_them(self) -> None:
        """Nothing is made again but the step that was under way, whoever dies, under handlers that are exact; where
        contributions are folded in, what had made no version."""
        gossip = ("--set=topology.framework=hogwild", "--set=topology.sync={type=\"gossip\",every=3}")
        codec = ("--set=topology.codec_elements=1", "--set=topology.codec={type=\"top_k\",share=0.1}")
        downpour = ("--set=topology.framework=downpour",)
        folds = "{type=\"first_t\",choose=\"slice\",late=\"fold\"}"
        for handler, who, more, again in (("strict", "leader", (), 1), ("eventual", "worker", (), 1),
                                          ("eventual", "leader", gossip, 1), ("bounded", "worker", gossip, 1),
                                          ("strict", "worker", codec, 1), (folds, "leader", downpour, 8)):
            with self.subTest(handler=handler, who=who, more=more):
                for steps in (300 * KILLS, 1500 * KILLS):  # the few may all be made before anybody is killed
                    shutil.rmtree(self.root / "runs", ignore_errors=True)
                    words = (PROCESSES, AGAIN_AND_AGAIN, f"--set=topology.consistency={handler}", "--set=topology.replicas=2", *more,
                             "--set=checkpoint.every={}", "--set=recovery.every={}", "--set=record.every.steps=1",
                             "--set=validate.every.steps=100",  # each writes a point, and an epoch is a step
                             f"--set=train.stop.steps={steps}")
                    process = self.start(*words)
                    for _ in range(KILLS):
                        self.kill_one(leader=who == "leader", alone=who == "worker" and more == gossip)
                    process.communicate(timeout=PATIENCE)
                    self.until(self.over, PATIENCE)
                    self.nothing_is_left()
                    cut = self.outcome()
                    if cut["recoveries"] > 0:
                        break
                self.assertEqual((cut["steps"], cut["recoveries"] > 0), (steps, True))
                made = [json.loads(line)["step"] for line in self.recorded().splitlines() if b'"train"' in line]
                self.assertEqual(sorted(set(made)), list(range(1, steps + 1)))
                self.assertLessEqual(len(made), steps + again * cut["recoveries"])
                for worker in self.audit()["workers"]:
                    self.assertEqual(worker["contributions"], [steps] * 2)
                if handler == "strict":
                    self.remove_runs()
                    whole = self.run_job(*words, "--set=topology.replicas=1")
                    for key in ("params", "train", "test"):
                        self.assertEqual(cut[key], whole[key], key)

    def remove_runs(self) -> None:
        """The process that took a run over removes its own file after the end of the run."""
        self.until(lambda: not list(self.root.glob("runs/*/may-be-taken-over")), PATIENCE)
        shutil.rmtree(self.root / "runs")

    def test_who_loses_its_device_is_replaced(self) -> None:
        """It goes as a process that dies does, and so does the leader."""
        lost = self.root / "lost"
        words = (*LONG, "--set=topology.device=ref", f"--set=train.device={{type=\"ref\",far=true,lost_with=\"{lost}\"}}")
        for who in ("worker", "leader"):
            with self.subTest(who):
                for steps in (2000, 20000, 200000):  # the few may all be made before the device is lost
                    shutil.rmtree(self.root / "runs", ignore_errors=True)
                    lost.unlink(missing_ok=True)
                    process = self.start(*words, f"--set=train.stop.steps={steps}")
                    self.until(self.begun)
                    loser = self.leader() if who == "leader" else self.workers()[1]
                    lost.write_text(str(loser))
                    out, err = process.communicate(timeout=PATIENCE)
                    self.until(self.over, PATIENCE)
                    self.nothing_is_left()
                    cut = self.outcome()
                    if cut["recoveries"] > 0:
                        break
                self.assertEqual((cut["steps"], cut["recoveries"]), (steps, 1), f"{out}\n{err}")
                self.assertEqual(process.returncode, -signal.SIGKILL if who == "leader" else 0, f"{out}\n{err}")
                self.assertIn("ref: the device is lost", err)
                self.remove_runs()
                lost.unlink()
                whole = self.run_job(*words, f"--set=train.stop.steps={steps}")
                for key in ("params", "train", "test", "steps"):
                    self.assertEqual(cut[key], whole[key], key)
                self.remove_runs()

    def test_whose_devices_sum_go_on_from_the_last_point(self) -> None:
        """Nothing outlives a worker there, and sums that wait for who is gone are abandoned."""
        words = (*LONG, "--set=topology.device_copies=none", "--set=train.device={type=\"ref\",far=true}")
        steps = f"--set=train.stop.steps={400 * KILLS}"
        process = self.start(*words, steps)
        for kill in range(KILLS):
            self.kill_one(leader=kill % 2 == 1)
        process.communicate(timeout=PATIENCE)
        self.until(self.over, PATIENCE)
        self.were_in_time("kills")
        self.nothing_is_left()
        cut = self.outcome()
        self.remove_runs()
        whole = self.run_job(*words, steps)
        self.assertGreater(cut["recoveries"], 0)
        for key in ("params", "train", "test", "steps"):
            self.assertEqual(cut[key], whole[key], key)

    def test_who_dies_while_they_join_is_missed_at_once(self) -> None:
        """A worker that has come so far that it notices this hears from the leader why they do not begin."""

        def has_joined(seat: int) -> bool:
            return any((folder / f"met-{seat}-0").exists() for folder in (self.root / "tmp").iterdir())

        self.start(*FOR_EVER, AGAIN_AND_AGAIN)
        longest = 0.0
        for _ in range(2 * KILLS):
            self.until(lambda: len(self.workers()) == 2)
            seat, workers = self.draw.choice((1, 2)), self.workers()
            end = time.monotonic() + 1
            while not has_joined(seat) and time.monotonic() < end:
                pass
            begin = time.monotonic()
            os.kill(workers[seat], signal.SIGKILL)
            self.until(lambda: not set(workers.values()) & set(self.workers().values()))
            longest = max(longest, time.monotonic() - begin)
        print(f"{2 * KILLS} kills while they joined; detected after {longest:.2f} s at most", file=sys.stderr)
        self.assertLess(longest, MOST_UNTIL_DETECTED)

    def test_a_run_has_one_leader(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.begun)
        run = next((self.root / "runs").iterdir())
        other = self.start(f"--resume={run}")
        self.assertIn(f"process {process.pid} of {os.uname().nodename} leads it", other.communicate(timeout=30)[1])
        self.assertEqual(other.returncode, 1)

    def test_who_is_interrupted_twice_has_no_heirs(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.begun)
        workers = self.workers()
        os.kill(workers[1], signal.SIGSTOP)  # so that there is something to wait for
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)  # asking again is no more than asking
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        os.kill(workers[1], signal.SIGCONT)
        self.nothing_is_left()

    def test_what_began_with_another_runs_checkpoint_goes_on_from_there(self) -> None:
        self.run_job(PROCESSES)
        checkpoint = next(self.root.glob("runs/*/checkpoints/step-*40"))
        words = (PROCESSES, f"--resume={checkpoint}", "--set=checkpoint.every={}", "--set=recovery.every={}",
                 "--set=train.stop.steps=8000", "--set=record.every.steps=10")
        process = self.start(*words, "--set=record.folder=cut")
        self.until(lambda: any(p.stat().st_size > 500 for p in self.root.glob("cut/*/metrics.jsonl")))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        run = next((self.root / "cut").iterdir())
        self.until(lambda: json.loads((run / "summary.json").read_text())["status"] != "running", PATIENCE)
        whole = self.start(*words, "--set=record.folder=whole")
        self.assertEqual(whole.wait(PATIENCE), 0)
        cut, whole = (next(self.root.glob(f"{runs}/*/checkpoints/*8000/params.safetensors")).read_bytes()
                      for runs in ("cut", "whole"))
        self.assertEqual(cut, whole)

    def hung(self, *words: str) -> tuple[subprocess.Popen, dict[int, int]]:
        process = self.start(*words, "--set=recovery.timeout=1", "--set=recovery.every.steps=5000")
        self.until(self.begun)
        return process, self.workers()

    def test_who_hangs_is_named_and_replaced(self) -> None:
        steps = "--set=train.stop.steps=8000"
        process, workers = self.hung(*LONG, steps)
        os.kill(workers[2], signal.SIGSTOP)
        out, err = process.communicate(timeout=2 * PATIENCE)
        self.assertEqual(process.returncode, 0, err)
        self.assertRegex(err, "worker 2 hangs: it has shown no life for [0-9.]+ s in step [0-9]+, where it "
                              "(computes|waits for (its input|.* on worker [0-2], .*)); a longer recovery.timeout")
        self.assertIn(f"worker 2 is gone: process {workers[2]} was killed", err)
        self.assertEqual(self.outcome()["recoveries"], 1)
        cut, whole = self.outcome(), self.run_job(*LONG, steps)
        self.assertEqual(cut["params"], whole["params"])

    def test_whom_a_process_waited_for_that_hangs_is_named(self) -> None:
        """Worker 2 waits for the second server, which stands beside worker 1; and hangs there, while that one goes on."""
        job = (self.root / "job.toml").read_text()
        groups = 'worker_groups = 3\nservers_per_group = 2\nconsistency = "eventual"'
        (self.root / "job.toml").write_text(job.replace('framework = "allreduce"\nworkers = 3', groups))
        never_pauses = ("--set=checkpoint.every={}", "--set=recovery.every={}", "--set=validate.every={}")
        process = self.start(PROCESSES, *never_pauses, "--set=record.every.steps=10", "--set=updater.rate=0.001",
                             "--set=train.stop.steps=8000", "--set=recovery.timeout=4")
        self.until(self.begun)
        workers = self.workers()
        os.kill(workers[1], signal.SIGSTOP)
        time.sleep(1)
        os.kill(workers[2], signal.SIGSTOP)
        os.kill(workers[1], signal.SIGCONT)
        out, err = process.communicate(timeout=2 * PATIENCE)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        self.assertRegex(err, r"worker 2 hangs: .*, where it waits for param 'fc\.(weight|bias)' on worker 1, its server; ")
        self.assertNotIn("worker 1 hangs", err)

    def test_a_leader_that_hangs_loses_its_place(self) -> None:
        process, _ = self.hung(*LONG, "--set=train.stop.steps=8000")
        os.kill(process.pid, signal.SIGSTOP)
        process.communicate(timeout=2 * PATIENCE)  # longer where it evaluated or saved just then
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.until(lambda: self.over(), PATIENCE)
        self.assertEqual(self.outcome()["steps"], 8000)

    def test_a_run_that_stands_still_as_a_whole_goes_on(self) -> None:
        process, workers = self.hung(*FOR_EVER)
        for number in (*workers.values(), process.pid):
            os.kill(number, signal.SIGSTOP)
        time.sleep(2)
        for number in (process.pid, *workers.values()):
            os.kill(number, signal.SIGCONT)
        before = self.recorded()
        self.until(lambda: self.recorded() != before)
        self.assertEqual(self.workers(), workers)

    def test_groups_go_on_where_each_was(self) -> None:
        summary = self.with_kills(*LONG, "--set=topology.framework=downpour", "--set=topology.consistency=eventual",
                                  "--set=updater.rate=0.01", f"--set=train.stop.steps={600 * KILLS}")
        self.assertGreater(summary["recoveries"], 0)
        self.assertEqual(summary["steps"], 600 * KILLS)
        for worker in self.audit()["workers"]:
            self.assertEqual(worker["contributions"], [600 * KILLS] * 2)
        # Not the summary's: whose leader died behind the last step makes none any more.
        losses = [json.loads(line)["metrics"]["loss"] for line in self.recorded().splitlines() if b'"train"' in line]
        self.assertLess(losses[-1], 0.3)

    def test_who_dies_again_and_again_is_not_replaced_for_ever(self) -> None:
        process = self.start(*FOR_EVER, "--set=recovery.restarts=2", "--set=recovery.every={}", "--set=checkpoint.every={}")
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            for number in self.workers().values():
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("is gone", err.splitlines()[-1])
        self.nothing_is_left()

    def test_leaders_that_die_again_and_again_are_not_followed_for_ever(self) -> None:
        process = self.start(*FOR_EVER, "--set=recovery.restarts=1", "--set=recovery.every={}", "--set=checkpoint.every={}",
                             "--set=record.every.steps=10")
        for _ in range(2):
            self.kill_one(leader=True)
        process.communicate(timeout=PATIENCE)
        self.until(self.over)
        reason = json.loads(next(self.root.glob("runs/*/summary.json")).read_text())["reason"]
        self.assertIn("1 that took its place came no further than step 0 (recovery.restarts", reason)
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main(verbosity=1)
