#!/usr/bin/env python3
"""sweep_test.py DLHOST: processes of a run that are killed one soon after another: who is left goes on with it.

Each round kills a worker, the leader, and whoever leads next, or two of these, with delays of 0 to 2 s in steps of 10 ms.
DLHOST_SEED draws the rounds; DLHOST_SWEEP is how many there are for each job (8)."""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

from several import FOR_EVER, PATIENCE, Workers

Workers.dlhost = os.path.realpath(sys.argv.pop(1))
ROUNDS = int(os.environ.get("DLHOST_SWEEP", "8"))
SEED = os.environ.get("DLHOST_SEED", "1")
ENDLESS = (*FOR_EVER, "--set=recovery.restarts=1000000", "--set=recovery.every.steps=50", "--set=record.every.steps=10")
PAIRS = (("worker", "leader"), ("leader", "worker"), ("leader", "leader"), ("worker", "worker"))
TRIPLES = (("worker", "leader", "leader"), ("leader", "worker", "leader"), ("leader", "leader", "leader"),
           ("worker", "worker", "leader"))
LONGEST_DELAY = 2.0


class Sweep(Workers):
    def setUp(self) -> None:
        super().setUp()
        self.draw = random.Random(f"{SEED} {self.id()}")
        self.killed: set[int] = set()  # in this round
        self.victims: set[int] = set()

    def leader_or_none(self) -> int | None:
        try:
            return self.leader()
        except (OSError, ValueError, StopIteration):
            return None

    def kill(self, which: str) -> None:
        """One that has not been killed yet; a leader that is not there yet is waited for."""
        if which == "worker":
            alive = sorted(set(self.workers().values()) - self.killed)
            if not alive:
                return
            victim = self.draw.choice(alive)
        else:
            self.until(lambda: self.leader_or_none() not in (None, *self.killed), PATIENCE, self.state)
            victim = self.leader()
        self.killed.add(victim)
        self.victims.add(victim)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:  # it was about to end
            pass

    def state(self) -> str:
        if not (self.root / "runs").exists():
            return "it has not begun"
        run = self.newest_run()
        said = [(run / name).read_text()[-3000:] for name in ("summary.json", "leader.json", "output.log") if (run / name).exists()]
        mine = [f"{process} {' '.join(words)}" for process, words in self.command_lines().items()]
        return "\n".join([f"seed {SEED}, {self.round}, killed {sorted(self.killed)}", *mine, *said])

    def recorded(self) -> int:
        return sum(p.stat().st_size for p in self.root.glob("runs/*/metrics.jsonl"))

    def trains(self) -> bool:
        """With all its workers, none of which was killed in this round."""
        workers = set(self.workers().values())
        return len(workers) == self.others and not workers & self.killed and self.recorded() != self.before

    def sweep(self, others: int, *words: str) -> None:
        self.others, self.round, self.before = others, "at the beginning", 0
        process = self.start(*ENDLESS, *words)
        self.until(self.trains, PATIENCE, self.state)
        for number in range(ROUNDS):
            self.before, self.killed = self.recorded(), set()  # process numbers come again after a while
            victims = self.draw.choice(PAIRS if number % 2 == 0 else TRIPLES)
            delays = [self.draw.randrange(0, round(LONGEST_DELAY * 100)) / 100 * self.draw.choice((0.05, 0.2, 1)) for _ in victims]
            self.round = f"round {number}: {victims} after {delays}"
            for victim, delay in zip(victims, [0, *delays], strict=False):
                time.sleep(delay)
                self.kill(victim)
            self.before = self.recorded()
            self.until(self.trains, PATIENCE, self.state)
        stopped = subprocess.run([self.dlhost, "stop", str(self.newest_run()), f"--wait={PATIENCE}"], capture_output=True,
                                 text=True, timeout=2 * PATIENCE, check=False)
        self.assertEqual(stopped.returncode, 0, stopped.stdout + stopped.stderr + self.state())
        process.communicate(timeout=PATIENCE)
        self.nothing_is_left()
        self.until(lambda: not self.standbys(), PATIENCE, self.state)
        self.assertEqual(self.segments_of_victims(), [])

    def segments_of_victims(self) -> list[str]:
        return [name for name in os.listdir("/dev/shm") if name.startswith(tuple(f"dlhost-{os.getuid()}-{v}-" for v in self.victims))]

    def standbys(self) -> list[int]:
        return [process for process, words in self.command_lines().items() if "standby" in words]

    def test_strict(self) -> None:
        self.sweep(2)

    def test_outlived_by_what_servers_made(self) -> None:
        self.sweep(2, "--set=topology.replicas=2")

    def test_eventual(self) -> None:
        self.sweep(2, "--set=topology.framework=downpour", "--set=topology.consistency=eventual")

    def test_two_server_groups(self) -> None:
        self.sweep(3, "--set=topology={run_as='processes',worker_groups=4,server_groups=2,slice_elements=20,"
                      "consistency='eventual',sync={type='gossip'}}")


if __name__ == "__main__":
    unittest.main()
