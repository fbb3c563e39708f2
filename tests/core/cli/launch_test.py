#!/usr/bin/env python3
"""launch_test.py DLHOST: dlhost launch starts a run on several hosts, simulated on one machine, and ends all of it."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from members import Members
from several import PATIENCE, PROCESSES

Members.dlhost = os.path.realpath(sys.argv[1])
del sys.argv[1]

LONG = ("--set=train.stop.steps=4000", "--set=recovery.every.steps=50", "--set=record.every.steps=100",
        "--set=checkpoint.every.steps=1000")
# Like ssh: runs a line in a shell of that host, or fails.
NEAR = """#!/bin/sh
host=$1
shift
[ ! -e "$host.down" ] || { echo "no route to $host" >&2; exit 255; }
exec sh -c "$*"
"""


class Launched(Members):
    def setUp(self) -> None:
        super().setUp()
        near = self.root / "near"
        near.write_text(NEAR)
        near.chmod(0o700)
        self.addCleanup(self.until, lambda: not self.members())

    def launch(self, hosts: str, *words: str, shell: bool = True) -> subprocess.Popen:
        process = subprocess.Popen(
            [self.dlhost, "launch", "--hosts", hosts, *([f"--shell={self.root}/near", "--listen=127.0.0.1"] if shell else []), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.root,
            env=os.environ | {"TMPDIR": str(self.root / "tmp")}, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def members(self) -> dict[str, int]:
        """Process ids by host."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode().split("\0")
                here = os.readlink(process / "cwd") == str(self.root)
            except OSError:  # it has just ended
                continue
            if here and "--launched" in words and words[0] != "sh":
                found[words[words.index("--host") + 1]] = int(process.name)
        return found

    def launch_what_ran_alone(self) -> tuple[dict, subprocess.Popen]:
        """The outcome of a long run on one machine, and the same run on three hosts, once it has a recovery point."""
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        process = self.launch("a,b,c", "job.toml", *LONG)
        self.until(self.has_point)
        return alone, process

    def test_hosts_train_as_one_machine_does(self) -> None:
        alone = self.run_job(PROCESSES)
        together = self.ended_well([self.launch("a,b,c", "job.toml")])
        self.assertEqual(together["params"], alone["params"])

    def test_several_processes_of_this_machine_need_no_shell(self) -> None:
        self.assertEqual(self.ended_well([self.launch("localhost:2", "job.toml", shell=False)])["steps"], 60)

    def test_a_host_that_cannot_be_reached_ends_all_at_once(self) -> None:
        (self.root / "b.down").touch()
        process = self.launch("a,b,c", "job.toml")
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("b: no route to b", err)
        self.assertIn("the run has not begun: the process on host 'b' ended with exit status 255", err)
        self.nothing_is_left()

    def test_where_there_is_no_such_program_the_remedy_is_told(self) -> None:
        process = self.launch("a,b", "job.toml", "--program=/nowhere/dlhost")
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        self.assertIn("--program", err)

    def test_ctrl_c_saves_and_ends_all_and_the_run_goes_on_later(self) -> None:
        alone, process = self.launch_what_ran_alone()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, f"{out}\n{err}")
        self.nothing_is_left()
        again = self.ended_well([self.launch("a,b,c", f"--resume={self.newest_run()}")])
        self.assertEqual(again["params"], alone["params"])

    def test_without_a_host_the_others_do_its_work(self) -> None:
        alone, process = self.launch_what_ran_alone()
        os.kill(self.members()["c"], signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        self.assertIn("launch: c was killed by SIGKILL (if no person did, the kernel did because memory had run out: see `dmesg | grep -i oom`); the others go on without it", err)
        self.assertEqual(self.outcome()["params"], alone["params"])

    def test_when_who_leads_is_lost_another_goes_on(self) -> None:
        """Twice: the last host does all the work."""
        alone, process = self.launch_what_ran_alone()
        for left in (2, 1):
            leader = self.leader()
            self.assertIn(leader, self.members().values())
            os.kill(leader, signal.SIGKILL)
            before = self.recorded()
            self.until(lambda: self.leader() != leader and self.recorded() > before, PATIENCE)
            self.assertEqual(len(self.members()), left)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, f"{out}\n{err}")
        self.assertIn("launch: a was killed by SIGKILL (if no person did, the kernel did because memory had run out: see `dmesg | grep -i oom`); the others go on if they see the run's folder", err)
        self.assertIn("the run's leader is gone, and process", err)
        summary = self.outcome()
        self.assertEqual((summary["params"], summary["recoveries"]), (alone["params"], 2))
        self.nothing_is_left()

    def test_a_leader_that_ends_with_0_before_its_run_has_not_led_it_well(self) -> None:
        """As a plugin that makes the system call itself, which no guard of the process sees."""
        alone = self.run_job(PROCESSES, *LONG)
        self.newest_run().rename(self.root / "alone")
        for hosts in ("a,b", "a"):
            with self.subTest(hosts=hosts):
                program = self.root / "early"
                program.write_text(f"""#!/bin/sh
case "$*" in
*"--rank 0 "*)
  exec 3<&0
  {self.dlhost} "$@" <&3 &
  until [ -e end ]; do sleep 0.05; done
  kill -9 $!
  exit 0 ;;
esac
exec {self.dlhost} "$@"
""")
                program.chmod(0o700)
                process = self.launch(hosts, "job.toml", *LONG, f"--program={program}")
                self.until(self.has_point)
                (self.root / "end").touch()
                out, err = process.communicate(timeout=PATIENCE)
                self.assertIn("launch: a ended with exit status 0, before its run had ended", err)
                if hosts == "a":
                    self.assertEqual(process.returncode, 1, f"{out}\n{err}")
                else:
                    self.assertEqual(process.returncode, 0, f"{out}\n{err}")
                    self.assertEqual(self.outcome()["params"], alone["params"])
                (self.root / "end").unlink()
                self.newest_run().rename(self.root / f"of-{hosts}")

    def test_where_nobody_sees_the_run_the_remedy_is_told(self) -> None:
        """As if the folder were on the lost machine's disk."""
        process = self.launch("a,b,c", "job.toml", *LONG, "--set=train.stop.steps=1000000000")
        self.until(self.has_point)
        time.sleep(1)  # for the launcher to learn that folder
        leader = self.leader()
        self.newest_run().rename(self.root / "elsewhere")
        os.kill(leader, signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1, f"{out}\n{err}")
        self.assertRegex(err, r"no other process sees the run's folder /.*/runs/small-.*dlhost run --resume")
        self.until(lambda: not self.members() and not self.workers())

    def test_when_the_launcher_dies_nothing_is_left(self) -> None:
        process = self.launch("a,b,c", "job.toml", *LONG, "--set=train.stop.steps=1000000000")
        self.until(self.has_point)
        process.kill()
        process.communicate()
        self.until(lambda: not self.members(), what_is=self.members)
        self.nothing_is_left()

    def test_what_is_said_wrongly_is_told(self) -> None:
        for hosts, told in (("a,a", "host 'a' is named twice"), ("a:0", "from 1 to"), ("a,,b", "is not a host"),
                            ("-oProxyCommand=x", "is not a host")):
            process = self.launch(hosts, "job.toml")
            _, err = process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, 0)
            self.assertIn(told, err)
        process = self.launch("no-such-host.invalid", "job.toml", shell=False)
        _, err = process.communicate(timeout=60)
        self.assertIn("--listen", err)


if __name__ == "__main__":
    unittest.main()
