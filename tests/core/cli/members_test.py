#!/usr/bin/env python3
"""members_test.py DLHOST: processes started by hand, on one machine that simulates several, form one run."""
import os
import signal
import sys
import time
import unittest

from members import Members
from several import PATIENCE, PROCESSES

Members.dlhost = os.path.realpath(sys.argv[1])
del sys.argv[1]

LONG = ("--set=train.stop.steps=4000", "--set=recovery.every.steps=50", "--set=record.every.steps=100",
        "--set=checkpoint.every.steps=1000")


class ByHand(Members):
    def test_they_train_as_the_workers_of_one_machine_do(self) -> None:
        alone = self.run_job(PROCESSES)
        for hosts in (["a", "b", "c"], ["a", "a", "b"], ["a", "b"]):
            with self.subTest(hosts=hosts):
                together = self.ended_well(self.start_all(hosts))
                self.assertEqual(together["params"], alone["params"])
                self.assertEqual(together["train"], alone["train"])

    def test_groups_of_several_machines_learn(self) -> None:
        for handler in ("eventual", "bounded", "elastic"):
            summary = self.ended_well(self.start_all(
                ["a", "b", "c"], f"--set=topology.consistency={handler}", "--set=topology.framework=downpour",
                "--set=updater.rate=0.01"))
            self.assertEqual(summary["steps"], 60)
            self.assertLess(summary["test"]["loss"], 1.0)

    def test_hosts_may_interleave(self) -> None:
        """As with `srun --distribution=cyclic` and `mpirun --map-by node`: ranks of a host still exchange directly."""
        groups = "--set=topology={worker_groups=4,server_groups=4,slice_elements=20,sync={type='hierarchical',of='gradients'}}"
        beside = self.ended_well(self.start_all(["a", "a", "b", "b"], groups))
        among = self.ended_well(self.start_all(["a", "b", "a", "b"], groups))
        self.assertEqual(among["params"], beside["params"])

    def test_a_rendezvous_that_is_named_has_the_jobs_options(self) -> None:
        meets = f"--set=topology.rendezvous={{type='embedded',at='{self.place()}'}}"
        processes = [self.start("--rendezvous=embedded", f"--rank={rank}", "--members=2", "--secret=secret", f"--host={host}", meets)
                     for rank, host in enumerate("ab")]
        self.assertEqual(self.ended_well(processes)["steps"], 60)

    def test_a_wait_for_members_ends_at_the_first_signal(self) -> None:
        for number in signal.SIGTERM, signal.SIGINT:
            process = self.start(*self.words_of(0, 2, self.place()))
            time.sleep(1)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            err = process.communicate(timeout=10)[1]
            self.assertEqual(process.returncode, 130, err)
            self.assertIn("waits for the other processes of the run, which are 2 in all,", err)

    def test_a_secret_that_others_may_read_is_none(self) -> None:
        (self.root / "secret").chmod(0o644)
        process = self.start(*self.words_of(0, 2, self.place()))
        err = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("every user of this machine may read this file, and it holds a job's secret: chmod 600 secret", err)

    @unittest.skipUnless(os.getuid() == 0, "only root can give a file to a foreign group")
    def test_a_secret_that_a_foreign_group_may_read_is_none(self) -> None:
        os.chown(self.root / "secret", 0, 12345)
        (self.root / "secret").chmod(0o640)
        process = self.start(*self.words_of(0, 2, self.place()))
        err = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("secret: the group 12345 may read this file, and it holds a job's secret: chmod 600 secret, or run "
                      "dlhost in this group", err)

    def test_a_worker_that_is_killed_is_replaced(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        processes = self.start_all(["a", "b", "c"], *LONG)
        self.until(self.has_point)
        os.kill(self.workers()[2], signal.SIGKILL)
        summary = self.ended_well(processes)
        self.assertRegex(self.warned[0], r"worker 2 on c is (gone|out of reach)")
        self.assertEqual(summary["recoveries"], 1)
        self.assertEqual(summary["params"], alone["params"])

    def test_without_a_member_the_others_do_its_work(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        processes = self.start_all(["a", "b", "c"], *LONG)
        self.until(self.has_point)
        self.end(processes[2])
        summary = self.ended_well(processes[:2])
        # If all were paused at that moment, nothing was lost, and they continue without a recovery.
        self.assertTrue(summary["recoveries"] >= 1 or "of 2 processes" in self.said[0], self.said[0])
        self.assertEqual(summary["params"], alone["params"])

    def test_pods_of_a_job_are_members_and_go_on_when_all_begin_again(self) -> None:
        """As in examples/kubernetes: started twice, because the first pod was lost, and the rendezvous with it."""
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        words = ["--continue", "--members=2", "--secret=secret", *LONG]

        def start(place: str) -> list:
            return [self.start(f"--rendezvous={place}", f"--host=pod-{index}", *words, JOB_COMPLETION_INDEX=str(index))
                    for index in range(2)]

        pods = start(self.place())
        self.until(self.has_point)
        self.end(pods[0])
        _, err = pods[1].communicate(timeout=PATIENCE)
        self.assertNotEqual(pods[1].returncode, 0, err)
        self.assertIn("process 1 of the run, on pod-1: ", err)
        again = self.ended_well(start(self.place()))
        self.assertEqual(again["params"], alone["params"])
        self.assertEqual(len(list((self.root / "runs").iterdir())), 1)
        self.assertEqual(self.ended_well(start(self.place()))["params"], alone["params"])  # that one is done: a new run
        self.assertEqual(len(list((self.root / "runs").iterdir())), 2)

    def test_who_does_not_know_the_secret_gets_nowhere(self) -> None:
        (self.root / "other").write_text("0b" * 32)
        place = self.place()
        leader = self.start(*self.words_of(0, 2, place, "--host=a"))
        stranger = self.start(*self.words_of(1, 2, place, "--host=b", "--secret=other"))
        _, err = stranger.communicate(timeout=60)
        self.assertNotEqual(stranger.returncode, 0)
        self.assertIn("secret", err)
        self.assertIsNone(leader.poll())
        member = self.start(*self.words_of(1, 2, place, "--host=b"))
        self.assertEqual(self.ended_well([leader, member])["steps"], 60)

    def test_what_is_said_wrongly_is_told(self) -> None:
        (self.root / "words").write_text("open sesame")
        (self.root / "words").chmod(0o600)
        for words, told in (((f"--rendezvous={self.place()}", "--rank=0", "--secret=words"), "64 hexadecimal digits"),
                            (("--rank=1",), "need --rendezvous"),
                            (("--rendezvous=nowhere",), "unknown rendezvous 'nowhere'")):
            process = self.start(*words)
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(told, err)


if __name__ == "__main__":
    unittest.main()
