#!/usr/bin/env python3
"""workers_test.py DLHOST WILFUL: a run whose workers are processes trains like one with tasks, and names the dead."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from several import FOR_EVER, JOB, PROCESSES, Workers

Workers.dlhost, wilful = map(os.path.realpath, sys.argv[1:3])
Workers.options = ("--plugin-dir", os.path.dirname(wilful))
del sys.argv[1:3]


class Processes(Workers):
    def test_processes_train_as_tasks_do(self) -> None:
        tasks, processes = self.run_job(), self.run_job(PROCESSES)
        self.assertEqual(tasks["params"], processes["params"])
        self.assertEqual(tasks["train"], processes["train"])
        self.nothing_is_left()

    def test_data_lies_beside_the_job_for_all_of_them(self) -> None:
        rows = "".join(f"{row % 7},{row % 5},{row % 3}\n" for row in range(50))
        (self.root / "rows.csv").write_text(rows)
        job = (self.root / "job.toml").read_text()
        synthetic = job[job.index('type = "synthetic"'):job.index('[[layer]]\nname = "fc"')]
        (self.root / "job.toml").write_text(job.replace(synthetic, 'type = "csv"\ntrain = "rows.csv"\ntest_every = 5\n'))
        self.assertEqual(self.run_job(PROCESSES)["params"], self.run_job()["params"])
        self.nothing_is_left()

    def test_the_ledger_says_who_made_what(self) -> None:
        self.run_job(PROCESSES)
        audit = self.audit()
        self.assertEqual([worker["contributions"] for worker in audit["workers"]], [[60, 60]] * 3)
        self.assertEqual({slice["version"] for slice in audit["slices"]}, {60})
        self.assertEqual(audit["begun"], 1)
        # The versions of an epoch together contain each sample once: 48 of 50 in the first four steps of 12.
        samples = [sample for version in range(1, 5) for part in self.audit("--param", "fc.bias", "--version", str(version))
                   for sample in part["samples"]]
        self.assertEqual((len(samples), len(set(samples))), (48, 48))

        self.run_job(PROCESSES, "--set=topology.framework=downpour",
                     '--set=topology.consistency={ type = "first_t", t = 2 }', "--set=updater.rate=0.01")
        audit = self.audit()
        versions = {slice["version"] for slice in audit["slices"]}
        self.assertEqual(len(versions), 1, "the same steps make the versions of all slices")
        sent = [worker["contributions"][0] + worker["dropped"][0] for worker in audit["workers"]]
        self.assertEqual(sent[0], 60, "the run is over when the leader's group has made its steps")
        self.assertLessEqual(max(sent), 60)
        in_versions = sum(worker["contributions"][0] for worker in audit["workers"])
        self.assertLess(versions.pop(), in_versions, "two groups make a version, or one when the others have left")
        dropped = [row for row in self.audit("--param", "fc.bias", "--dropped") if "dropped" in row]
        self.assertEqual(len(dropped), sum(worker["dropped"][0] for worker in audit["workers"]))
        self.assertTrue(dropped and all(row["samples"] for row in dropped), "of three, one comes too late")

        for run_as in (PROCESSES, "--set=topology.run_as=threads"):
            self.run_job(run_as, "--set=topology.framework=downpour", "--set=train.stop.steps=9",
                         '--set=topology.consistency={ type = "first_t", t = 3 }', "--set=updater.rate=0.01")
            leader = self.audit()["workers"][0]
            self.assertEqual((leader["contributions"], leader["dropped"]), ([9, 9], [0, 0]), "its last step waits for nobody")

    def test_each_step_is_that_of_one_worker(self) -> None:
        def losses() -> dict[int, float]:
            lines = (self.newest_run() / "metrics.jsonl").read_text().splitlines()
            return {line["step"]: line["metrics"]["loss"] for line in map(json.loads, lines) if line["phase"] == "train"}

        (self.root / "job.toml").write_text(JOB.replace('framework = "allreduce"\nworkers = 3\n', "").replace("train = 50", "train = 500"))
        every = "DLHOST_EVERY_STEP" in os.environ  # all steps if time allows: each needs new processes
        self.run_job("--set=train.batch=48", "--set=train.stop.steps=200", f"--set=checkpoint.every.steps={1 if every else 50}",
                     "--set=checkpoint.keep=200")
        expected, checkpoints = losses(), self.newest_run() / "checkpoints"
        for groups, workers in ((1, 2), (1, 3), (1, 4), (1, 8), (2, 1), (2, 2), (2, 3), (2, 4), (2, 8)):
            for at in range(1, 200) if every else (50, 150):
                with self.subTest(groups=groups, workers=workers, at=at):
                    self.run_job(PROCESSES, f"--resume={checkpoints}/step-{at:09}", f"--set=train.batch={48 // groups}",
                                 f"--set=topology.worker_groups={groups}", f"--set=topology.workers_per_group={workers}",
                                 f"--set=train.stop.steps={at + 1}")
                    self.assertAlmostEqual(losses()[at + 1] / expected[at + 1], 1, delta=1e-5)
        self.nothing_is_left()

    def test_servers_that_are_processes_agree_on_a_norm(self) -> None:
        clip = "--set=updater.clip_norm=0.05"
        tasks, processes = self.run_job(clip), self.run_job(clip, PROCESSES)
        self.assertEqual(tasks["params"], processes["params"])
        self.assertNotEqual(tasks["params"], self.run_job()["params"])
        self.nothing_is_left()

    def test_every_handler_trains_in_processes(self) -> None:
        for handler in ("eventual", "{ type = 'eventual', push = 3, fetch = 2 }", "elastic", "bounded", "hogwild"):
            summary = self.run_job(PROCESSES, f"--set=topology.consistency={handler}", "--set=topology.framework=downpour",
                                   "--set=updater.rate=0.01")
            self.assertEqual(summary["steps"], 60)
            self.assertLess(summary["test"]["loss"], 1.0)
        self.nothing_is_left()

    def test_server_groups_that_are_processes_exchange(self) -> None:
        groups = ("--set=topology.framework=hogwild", "--set=topology.sync={ type = 'ring', every = 7 }",
                  "--set=test.every={ steps = 25 }")
        tasks, processes = self.run_job(*groups), self.run_job(PROCESSES, *groups)
        self.assertEqual(tasks["params"], processes["params"])
        self.assertEqual([worker["contributions"] for worker in self.audit()["workers"]], [[60, 60]] * 3)
        freely = self.run_job(PROCESSES, *groups, "--set=topology.consistency=hogwild", "--set=updater.rate=0.01")
        self.assertLess(freely["test"]["loss"], 1.0)
        self.nothing_is_left()

    def test_shared_memory_grows_with_the_groups_and_no_faster(self) -> None:
        shared = []
        for workers in 2, 4:
            summary = self.run_job(f"--set=topology.workers={workers}", PROCESSES, "--set=topology.framework=hogwild",
                                   "--set=topology.consistency=eventual", '--set=topology.sync={type="all_to_all",every=4}')
            shared.append(summary["shared_bytes"] / workers)
            own = [worker["own_bytes"] for worker in summary["workers"]]
            self.assertEqual(sum(worker["lent_bytes"] for worker in summary["workers"]), summary["shared_bytes"])
            self.assertTrue(all(own), own)
            self.assertGreater(summary["peak_rss_bytes"], sum(own[1:]) + summary["shared_bytes"])
        self.assertAlmostEqual(shared[1] / shared[0], 1, delta=0.02)

    def test_what_server_groups_share_is_at_most_four_and_a_half_times_their_params(self) -> None:
        job = (self.root / "job.toml").read_text()
        (self.root / "job.toml").write_text(job.replace('[[layer]]\nname = "fc"\ntype = "dense"\nsrc = "data"\n', """
[[layer]]
name = "first"
type = "dense"
src = "data"
units = 2400
[[layer]]
name = "wide"
type = "dense"
src = "first"
units = 2400
[[layer]]
name = "fc"
type = "dense"
src = "wide"
"""))
        params = 4 * (8 * 2400 + 2401 * 2400 + 2401 * 3)
        for workers, sync in (2, "all_to_all"), (3, "ring"):
            summary = self.run_job(
                f"--set=topology.workers={workers}", PROCESSES, "--set=topology.framework=hogwild", "--set=train.batch=1",
                "--set=topology.consistency=eventual", f"--set=topology.sync={sync}", "--set=train.stop.steps=3",
                "--set=checkpoint.every={}", "--set=updater.momentum=0.0")
            self.assertLess(summary["shared_bytes"] / workers, 4.5 * params)
            self.assertEqual([worker["dropped"] for worker in self.audit()["workers"]], [[0, 0]] * workers)
        self.nothing_is_left()

    def test_elastic_averaging_learns_digits(self) -> None:
        digits = pathlib.Path(__file__).parents[3] / "examples/digits"
        for name in ("job.toml", "digits.csv.gz"):
            shutil.copy(digits / name, self.root)
        summary = self.run_job(PROCESSES, "--set=topology.framework=downpour", "--set=topology.workers=2",
                               "--set=topology.group_data=shared", "--set=topology.consistency=elastic", "--set=train.threads=1",
                               "--set=train.device=ref", "--set=layer.hidden.units=32", "--set=train.stop.epochs=20",
                               "--set=layer.data.augment=[]")
        self.assertGreater(summary["test"]["accuracy"], 0.94)  # one worker: 0.967
        saved = sorted(self.root.glob("runs/*/checkpoints/step-*"))[-1]
        self.assertEqual(sorted(p.name for p in saved.glob("worker-*")), ["worker-0.safetensors", "worker-1.safetensors"])
        self.nothing_is_left()

    def test_what_a_handler_plans_and_no_table_does_is_refused(self) -> None:
        for wants, told in (("no_push", "push = false"), ("local_updates", "update_locally = true"),
                            ("deltas", "send_delta = true"), ("part_of_deltas", "a delta_factor")):
            for step in (5,) if wants == "local_updates" else (0, 5):
                handler = f"--set=topology.consistency={{ type = 'wilful', wants = '{wants}', from = {step} }}"
                process = self.start(PROCESSES if step else "--set=topology.run_as=threads", handler,
                                     "--set=topology.framework=downpour")
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1, err)
                self.assertIn(f"consistency handler 'wilful' plans {told} for step {step}: not in this version", err)
        process = self.start("--set=topology.consistency={ type = 'wilful', wants = 'time' }")
        _, err = process.communicate(timeout=60)
        self.assertIn("consistency handler 'wilful', which asks to be called later, with several workers", err)
        self.run_job(PROCESSES, "--set=topology.consistency=wilful", "--set=updater.rate=0.01")
        self.nothing_is_left()

    def test_what_does_not_fit_is_refused_before_it_starts(self) -> None:
        check = subprocess.run([self.dlhost, "check", "job.toml", "--json"], cwd=self.root, capture_output=True, text=True, timeout=60)
        # Params of a sixth of the memory: enough for one worker with their history and gradients.
        units = json.loads(check.stdout)["available_bytes"] // 6 // 4 // 1000
        big = ("--set=layer.data.shape=[1000]", f"--set=layer.fc.units={units}",
               PROCESSES, "--set=topology.framework=downpour", "--set=topology.consistency=eventual")
        _, err = (process := self.start(*big)).communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertRegex(err, r"(the job needs|workers share) .* of memory, and .* are (available|free in /dev/shm); ")
        self.assertIn("params in shared memory, in all versions that exist at once", err)
        self.assertIn("gradients, running state and values of their own, in shared memory, of 3 workers", err)
        self.nothing_is_left()

    def test_an_interrupt_saves_and_ends_all(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.begun)
        self.assertEqual(sorted(self.workers()), [1, 2])
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the whole process group
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        summary = json.loads(next(self.root.glob("runs/*/summary.json")).read_text())
        self.assertEqual(summary["status"], "interrupted")
        self.nothing_is_left()

    def test_who_dies_is_named_and_nothing_is_lost(self) -> None:
        process = self.start(*FOR_EVER, "--set=recovery.restarts=0")
        self.until(lambda: any(self.root.glob("runs/*/checkpoints/step-*/manifest.json")))
        victim = self.workers()[2]
        os.kill(victim, signal.SIGKILL)
        out, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn(f"worker 2 is gone: process {victim} was killed by SIGKILL (if no person did, the kernel did because memory had run out", err)
        self.assertEqual(json.loads(next(self.root.glob("runs/*/summary.json")).read_text())["status"], "failed")
        self.nothing_is_left()
        saved = max(int(p.parent.name[5:]) for p in self.root.glob("runs/*/checkpoints/step-*/manifest.json"))
        run = next((self.root / "runs").iterdir())
        again = self.start(PROCESSES, f"--resume={run}", f"--set=train.stop.steps={saved + 5}")
        out, err = again.communicate(timeout=60)
        self.assertEqual(again.returncode, 0, err)

    def test_when_the_leader_dies_the_others_end(self) -> None:
        process = self.start(*FOR_EVER, "--set=recovery.restarts=0")
        self.until(self.begun)
        process.kill()
        process.communicate()
        self.nothing_is_left()

    def test_when_the_leader_dies_before_they_begin_the_others_end(self) -> None:
        process = self.start(*FOR_EVER)
        self.until(self.workers)
        process.kill()
        process.communicate()
        self.nothing_is_left()


if __name__ == "__main__":
    unittest.main(verbosity=1)
