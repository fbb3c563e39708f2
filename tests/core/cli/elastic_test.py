#!/usr/bin/env python3
"""elastic_test.py DLHOST ETCD: processes that meet by etcd: each may be lost, and others may join."""
import os
import signal
import subprocess
import sys
import unittest

from members import Members
from several import PATIENCE, PROCESSES

Members.dlhost = os.path.realpath(sys.argv[1])
ETCD = sys.argv[2]
del sys.argv[1:3]

LONG = ("--set=train.stop.steps=4000", "--set=recovery.every.steps=50", "--set=record.every.steps=100",
        "--set=checkpoint.every.steps=1000")


LEASE = 5  # seconds; a process without processor time for that long counts as lost


class Elastic(Members):
    def setUp(self) -> None:
        super().setUp()
        self.started: list[subprocess.Popen] = []

    def start_at(self, host: str, *words: str, members: int = 3) -> subprocess.Popen:
        etcd = f'{{type="etcd",endpoints=["{ETCD}"],job="{self.id()}",lease={LEASE}}}'
        self.started.append(self.start(f"--set=topology.rendezvous={etcd}", f"--members={members}", f"--host={host}", *words))
        return self.started[-1]

    def until_recorded(self, more: int = 1) -> None:
        """Waits until the records have grown by that much."""
        before = self.recorded()
        self.until(lambda: self.recorded() >= before + more, PATIENCE, what_is=self.said)

    def said(self) -> str:
        """Kills all processes; returns their output."""
        for process in self.started:
            process.kill()
        return "\n".join(f"{process.pid}: {process.communicate()}" for process in self.started)

    def test_they_train_as_one_machine_does(self) -> None:
        alone = self.run_job(PROCESSES)
        together = self.ended_well([self.start_at(host) for host in "abc"])
        self.assertEqual(together["params"], alone["params"])

    def test_who_comes_while_it_goes_on_gets_its_share(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        processes = [self.start_at(host, *LONG, members=2) for host in "ab"]
        self.until(self.has_point)
        processes.append(self.start_at("c", *LONG, members=2))
        self.until(lambda: self.takes_part(processes[2]) or processes[0].poll() is not None)
        self.assertIsNone(processes[0].poll(), "it was over before")
        summary = self.ended_well(processes)
        self.assertEqual((summary["params"], summary["recoveries"]), (alone["params"], 0))

    def test_members_come_to_an_asynchronous_run_and_leave_it(self) -> None:
        """--rendezvous names a plugin whose options are in the job."""
        words = ("--rendezvous=etcd", "--set=topology.framework=downpour", "--set=topology.consistency=eventual",
                 "--set=updater.rate=0.01", "--set=train.stop.steps=1000000000", "--set=recovery.every.steps=50",
                 "--set=record.every.steps=100", "--set=checkpoint.every.steps=1000000000")
        processes = {process.pid: process for process in (self.start_at(host, *words, members=2) for host in "ab")}
        self.until(self.has_point, PATIENCE, what_is=self.said)
        late = self.start_at("c", *words, members=2)
        processes[late.pid] = late
        self.until(lambda: self.takes_part(late), PATIENCE, what_is=self.said)
        self.until_recorded()
        (leaving,) = (process for process in processes.values() if process.pid not in (self.leader(), late.pid))
        leaving.send_signal(signal.SIGTERM)
        out, err = leaving.communicate(timeout=PATIENCE)
        self.assertEqual(leaving.returncode, 0, f"{out}\n{err}")
        del processes[leaving.pid]
        self.until_recorded()
        stopped = subprocess.run([self.dlhost, "stop", str(self.newest_run()), f"--wait={PATIENCE}"], capture_output=True,
                                 text=True, timeout=2 * PATIENCE, check=False)
        self.assertEqual(stopped.returncode, 0, stopped.stdout + stopped.stderr)
        for process in processes.values():
            process.communicate(timeout=PATIENCE)
        self.assertEqual(len(list(self.root.glob("runs/*"))), 1)
        self.assertEqual(self.audit()["faults"], [])

    def test_whoever_leads_may_be_lost(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        processes = {process.pid: process for process in (self.start_at(host, *LONG) for host in "abc")}
        for _ in range(2):
            self.until(self.has_point)
            leader = self.leader()
            os.kill(leader, signal.SIGKILL)
            processes.pop(leader).communicate()
            self.until(lambda: self.leader() != leader, PATIENCE)
            self.until_recorded()
        (last,) = processes.values()
        out, err = last.communicate(timeout=PATIENCE)
        self.assertEqual(last.returncode, 0, f"{out}\n{err}")
        self.assertIn("the run's leader is gone, and process", err)
        summary = self.outcome()
        self.assertEqual((summary["params"], summary["recoveries"]), (alone["params"], 2))

    def test_who_comes_in_the_place_of_one_that_was_lost_takes_part(self) -> None:
        """The new process joins with the old rank, does not restart the run, and leads when the others are lost."""
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        processes = {process.pid: process for process in (self.start_at(host, *LONG) for host in "abc")}
        self.until(self.has_point)
        first = self.leader()
        os.kill(first, signal.SIGKILL)
        processes.pop(first).communicate()
        late = self.start_at("d", *LONG)
        processes[late.pid] = late
        self.until(lambda: self.leader() != first, PATIENCE)
        self.until_recorded()
        second = self.leader()  # possibly the late process
        os.kill(second, signal.SIGKILL)
        processes.pop(second).communicate()
        for process in processes.values():
            out, err = process.communicate(timeout=PATIENCE)
            self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        self.assertEqual(len(list(self.root.glob("runs/*"))), 1)
        self.assertEqual(self.outcome()["params"], alone["params"])

    def test_who_comes_when_all_are_gone_that_knew_the_run_goes_on_with_it(self) -> None:
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        processes = [self.start_at(host, *LONG) for host in "abc"]
        self.until(self.has_point)
        for process in processes:
            process.kill()
        for process in processes:
            process.communicate()
        summary = self.ended_well([self.start_at(host, *LONG) for host in "abc"])
        self.assertEqual(len(list(self.root.glob("runs/*"))), 1)
        self.assertEqual(summary["params"], alone["params"])
        self.assertGreaterEqual(summary["recoveries"], 1)  # one more if the run resumed before the dead were excluded

    def test_a_run_that_was_stopped_is_not_gone_on_with(self) -> None:
        processes = [self.start_at(host, *LONG) for host in "abc"]
        self.until(self.has_point)
        self.assertEqual(subprocess.run([self.dlhost, "stop", str(self.newest_run())], timeout=PATIENCE, check=False).returncode, 0)
        for process in processes:
            process.communicate(timeout=PATIENCE)
        self.ended_well([self.start_at(host) for host in "abc"])
        self.assertEqual(len(list(self.root.glob("runs/*"))), 2)


if __name__ == "__main__":
    unittest.main()
