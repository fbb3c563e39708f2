#!/usr/bin/env python3
"""hosts_test.py HOST: endpoints of the fabric transport on several hosts, which exchange messages and share a secret.
The test cuts links for less and for more than `silence`, kills an endpoint, and lets strangers call.

DLHOST_PLUGIN_PATH names the folder of dlhost's own plugins."""
import contextlib
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cluster"))
import cluster  # noqa: E402

program = sys.argv[1]
SECRET, OTHER_SECRET = "5e" * 32, "0b" * 32
PATIENCE = 30.0


class Peer:
    """A process with an endpoint, on a host."""

    def __init__(self, host: cluster.Host, name: str, *, silence: float = 10, secret: str = SECRET) -> None:
        self.host, self.name = host, name
        self.process = host.start(program, "10.77.0.0/24", str(silence), name, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.lines: queue.Queue[str] = queue.Queue()
        self.words = ""
        self.seen: list[str] = []
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self.read_lines, self.read_words)]
        for reader in self.readers:
            reader.start()
        self.say(secret)

    def opened(self) -> "Peer":
        self.address = self.until(lambda line: line.startswith("at ")).removeprefix("at ")
        return self

    def read_lines(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def read_words(self) -> None:
        for line in self.process.stderr:
            self.words += line

    def say(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def until(self, enough, limit: float = PATIENCE) -> str:
        """The next line that `enough` accepts."""
        end = time.monotonic() + limit
        while True:
            try:
                line = self.lines.get(timeout=0.05)
            except queue.Empty:
                if time.monotonic() < end and self.process.poll() is None:
                    continue
                time.sleep(0.1)  # lets its last words arrive
                raise AssertionError(f"{self.name} said nothing more in {limit} s, last {self.seen[-3:]}; {self.words}") from None
            self.seen.append(line)
            if enough(line):
                return line

    def tells(self, pattern: str, limit: float = 10) -> None:
        """Waits for the pattern in its log."""
        end = time.monotonic() + limit
        while not re.search(pattern, self.words):
            if time.monotonic() > end:
                raise AssertionError(f"{self.name} does not tell of '{pattern}': {self.words}")
            time.sleep(0.02)

    def connect(self, other: "Peer") -> int:
        self.say(f"connect {other.address}")
        return int(self.until(lambda line: line.startswith(("is ", "refused "))).removeprefix("is "))

    def hears(self, peer: int, size: int, limit: float = PATIENCE) -> None:
        self.until(lambda line: line == f"received {peer} {size} right", limit)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()


class HostsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = cluster.Cluster(4)
        self.addCleanup(self.cluster.close)

    def peer(self, number: int, **how) -> Peer:
        made = Peer(self.cluster.hosts[number], f"seat{number}", **how)
        self.addCleanup(made.end)
        return made.opened()

    def pair(self, **how) -> tuple[Peer, Peer, int, int]:
        """Two endpoints that have met, and each one's number for the other."""
        one, other = self.peer(0, **how), self.peer(1, **how)
        to_other, to_one = one.connect(other), other.connect(one)
        self.talk(one, to_other, other, to_one, 64)
        self.talk(other, to_one, one, to_other, 64)
        return one, other, to_other, to_one

    def talk(self, one: Peer, to: int, other: Peer, back: int, size: int, limit: float = PATIENCE) -> None:
        one.say(f"send {to} {size} 1")
        other.hears(back, size, limit)

    def test_everybody_talks_to_everybody(self) -> None:
        peers = [self.peer(number) for number in range(4)]
        numbers = {(one, other): one.connect(other) for one in peers for other in peers if one is not other}
        for size in (1, 64, 5000, 100_000, 3_000_000):
            for one, other in numbers:
                one.say(f"send {numbers[one, other]} {size} 3")
            for one in peers:
                wanted = {f"received {numbers[one, other]} {size} right": 3 for other in peers if other is not one}
                while any(wanted.values()):
                    line = one.until(lambda line: line.startswith("received"))
                    self.assertIn(line, wanted)
                    wanted[line] -= 1

    def test_a_cut_shorter_than_the_silence_is_only_late(self) -> None:
        one, other, to_other, to_one = self.pair(silence=12)
        hosts = self.cluster.hosts
        self.cluster.cut(hosts[0], hosts[1])
        one.say(f"send {to_other} 100 1")
        other.say(f"send {to_one} 500000 1")
        time.sleep(5)
        self.cluster.heal(hosts[0], hosts[1])
        other.hears(to_one, 100)
        one.hears(to_other, 500000)
        self.talk(one, to_other, other, to_one, 70)
        self.assertFalse([line for line in one.seen + other.seen if line.startswith(("gone", "refused"))])

    def test_a_cut_longer_than_the_silence_is_an_end_that_is_named(self) -> None:
        one, other, to_other, to_one = self.pair(silence=2)
        third = self.peer(2, silence=2)
        to_third, from_one = one.connect(third), third.connect(one)
        begin = time.monotonic()
        self.cluster.cut(self.cluster.hosts[0], self.cluster.hosts[1])
        one.say(f"send {to_other} 100 1")
        for peer, gone in ((one, to_other), (other, to_one)):
            peer.until(lambda line: line == f"gone {gone}", 15)
            took = time.monotonic() - begin
            print(f"silence 2 s: {peer.name} tells of the end after {took:.1f} s", file=sys.stderr)
            self.assertGreater(took, 0.9)  # its last message may be up to a second older
        self.assertLess(time.monotonic() - begin, 8)
        self.talk(one, to_third, third, from_one, 3000)  # other links go on
        self.talk(third, from_one, one, to_third, 200_000)
        one.tells(r"the peer 'seat1' at 10\.77\.0\.2:\d+, from fabric:seat0: nothing has come from its machine")
        one.say(f"send {to_other} 100 1")
        self.assertIn("'seat1' at 10.77.0.2", one.until(lambda line: line.startswith("refused")))
        # Over the healed link a new endpoint can meet `one`.
        self.cluster.heal(self.cluster.hosts[0], self.cluster.hosts[1])
        again = self.peer(1, silence=2)
        self.talk(again, again.connect(one), one, one.connect(again), 3000)

    def test_the_end_of_one_that_is_killed_is_seen_at_once(self) -> None:
        one, other, to_other, _ = self.pair()
        begin = time.monotonic()
        other.process.kill()
        one.until(lambda line: line == f"gone {to_other}", 5)
        self.assertLess(time.monotonic() - begin, 2)

    def test_strangers_from_elsewhere_get_nowhere(self) -> None:
        one, other, to_other, to_one = self.pair()
        stranger = self.peer(2, secret=OTHER_SECRET)
        to_one_of_stranger = stranger.connect(one)
        stranger.say(f"send {to_one_of_stranger} 64 1")
        stranger.until(lambda line: line == f"gone {to_one_of_stranger}", 15)
        stranger.tells("it does not know this job's secret")
        place = re.search(r"/([\d.]+):(\d+)/", one.address)
        noise = f"import os, socket; s = socket.create_connection(('{place[1]}', {place[2]})); s.sendall(os.urandom(5000)); s.recv(9)"
        for _ in range(3):
            self.cluster.hosts[3].start(sys.executable, "-c", noise, stderr=subprocess.DEVNULL).wait(20)
        for size in (64, 300_000):
            self.talk(one, to_other, other, to_one, size)
            self.talk(other, to_one, one, to_other, size)
        one.tells(r"fabric: a caller from 10\.77\.0\.3 was turned away")
        self.assertFalse([line for line in one.seen if line.startswith(("gone", "refused"))])
        # The endpoint listens only at its named address.
        elsewhere = f"import socket; s = socket.create_connection(('127.0.0.1', {place[2]}), 2)"
        with self.assertRaisesRegex(RuntimeError, "refused"):
            self.cluster.hosts[0].run(sys.executable, "-c", elsewhere)

    def test_the_secret_is_nowhere_to_be_seen(self) -> None:
        one, *_ = self.pair()
        seen = one.words + "".join(one.seen)
        for what in ("cmdline", "environ"):
            seen += pathlib.Path(f"/proc/{one.process.pid}/{what}").read_text()
        self.assertIn("seat0", seen)
        self.assertNotIn(SECRET, seen)
        self.assertNotIn(SECRET[:16], one.address)

    def test_a_secret_that_is_none_is_refused(self) -> None:
        with self.assertRaisesRegex(AssertionError, "a job's secret has at least 16 bytes, and this one 3"):
            self.peer(0, secret="010203")


if __name__ == "__main__":
    cluster.enter()
    program = sys.argv.pop(1)
    unittest.main(verbosity=1)
