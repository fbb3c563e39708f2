#!/usr/bin/env python3
"""cluster_test.py: tests the cluster that other tests use: its links have the stated rate, loss and cuts, and after its
end no process or namespace of it is left."""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import cluster

# On a host: answers each datagram and each connection. Reads a connection to its end, then sends its length.
ANSWERS = """
import socket, threading
address = __import__("sys").argv[1]
near, stream = socket.socket(type=socket.SOCK_DGRAM), socket.create_server((address, 7))
near.bind((address, 7))
def datagrams():
    while True:
        packet, back = near.recvfrom(2000)
        near.sendto(packet, back)
threading.Thread(target=datagrams, daemon=True).start()
print("ready", flush=True)
while True:
    caller, _ = stream.accept()
    size = 0
    while more := caller.recv(1 << 16):
        size += len(more)
    caller.sendall(str(size).encode())
    caller.close()
"""
# ADDRESS BYTES: sends that many bytes over a connection; prints the seconds until the other side has them all.
SENDS = """
import socket, sys, time
begin = time.monotonic()
with socket.create_connection((sys.argv[1], 7), timeout=20) as to:
    to.sendall(b"x" * int(sys.argv[2]))
    to.shutdown(socket.SHUT_WR)
    assert to.recv(100) == sys.argv[2].encode()
print(time.monotonic() - begin)
"""
# ADDRESS COUNT SECONDS: sends datagrams one by one; prints the number of answers and the seconds of the quickest.
ASKS = """
import socket, sys, time
near = socket.socket(type=socket.SOCK_DGRAM)
near.settimeout(float(sys.argv[3]))
came, least = 0, 1e9
for number in range(int(sys.argv[2])):
    begin = time.monotonic()
    near.sendto(str(number).encode(), (sys.argv[1], 7))
    try:
        while near.recv(2000) != str(number).encode(): pass
    except TimeoutError:
        continue
    came, least = came + 1, min(least, time.monotonic() - begin)
print(came, least)
"""


class ClusterTest(unittest.TestCase):
    def hosts(self, hosts: int, **links) -> cluster.Cluster:
        made = cluster.Cluster(hosts, **links)
        self.addCleanup(made.close)
        for host in made.hosts:
            server = host.start(sys.executable, "-c", ANSWERS, host.address, stdout=subprocess.PIPE, text=True)
            self.addCleanup(server.stdout.close)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            self.assertEqual(server.stdout.readline(), "ready\n")
        return made

    def ask(self, one: cluster.Host, other: cluster.Host, count: int = 1, patience: float = 1) -> tuple[int, float]:
        came, least = one.run(sys.executable, "-c", ASKS, other.address, str(count), str(patience)).split()
        return int(came), float(least)

    def test_everybody_reaches_everybody_and_is_somebody_else(self) -> None:
        made = self.hosts(8)
        for one in made.hosts:
            self.assertEqual(one.run("hostname").strip(), one.name)
        for number, one in enumerate(made.hosts):
            for other in (made.hosts[number - 1], made.hosts[number - 3]):
                self.assertEqual(self.ask(one, other)[0], 1, f"{one.name} to {other.name}")
        made.hosts[0].run("touch", "/dev/shm/mine")
        self.assertEqual(made.hosts[1].run("ls", "/dev/shm"), "", "another machine's memory")

    def test_a_rate_holds(self) -> None:
        made = self.hosts(4, rate="40mbit")
        size = 4_000_000
        seconds = float(made.hosts[0].run(sys.executable, "-c", SENDS, made.hosts[1].address, str(size)))
        rate = size * 8 / seconds / 1e6
        print(f"40 Mb/s asked for, {rate:.1f} measured", file=sys.stderr)
        self.assertGreater(rate, 15)
        self.assertLess(rate, 42)
        free = self.hosts(2) if made.close() is None else made
        seconds = float(free.hosts[0].run(sys.executable, "-c", SENDS, free.hosts[1].address, str(size)))
        self.assertGreater(size * 8 / seconds / 1e6, 60, "what is not slowed down is not slow")

    def test_a_cut_cuts_and_heals(self) -> None:
        made = self.hosts(4)
        one, other, third, _ = made.hosts
        made.cut(one, other)
        self.assertEqual(self.ask(one, other, 3, 0.1)[0], 0)
        self.assertEqual(self.ask(other, one, 3, 0.1)[0], 0)
        self.assertEqual(self.ask(one, third)[0], 1, "only that link")
        made.heal(one, other)
        self.assertEqual(self.ask(one, other)[0], 1)
        made.cut(third)
        for host in (one, other):
            self.assertEqual(self.ask(third, host, 2, 0.1)[0], 0)
        made.heal(third)
        self.assertEqual(self.ask(third, one)[0], 1)

    def test_what_is_to_be_lost_is_lost(self) -> None:
        made = self.hosts(4)
        one, other, *_ = made.hosts
        made.lose(other, 40)
        came, _ = self.ask(one, other, 150, 0.02)
        self.assertGreater(came, 40)
        self.assertLess(came, 140)
        made.lose(other, 0)
        self.assertEqual(self.ask(one, other, 20)[0], 20)

    def test_a_delay_is_there_both_ways(self) -> None:
        made = self.hosts(4, delay=0.02)
        came, least = self.ask(made.hosts[0], made.hosts[3], 10)
        print(f"20 ms each way: {least * 1e3:.1f} ms there and back, by {'a relay' if made.relay else 'netem'}", file=sys.stderr)
        self.assertEqual(came, 10)
        self.assertGreaterEqual(least, 0.04)
        self.assertLess(least, 0.2)
        made.cut(made.hosts[0])
        self.assertEqual(self.ask(made.hosts[0], made.hosts[3], 2, 0.2)[0], 0)

    def test_one_that_is_killed_leaves_nothing(self) -> None:
        held = subprocess.Popen([sys.executable, __file__, "--hold"], stdout=subprocess.PIPE, text=True)
        namespaces = held.stdout.readline().split()
        self.assertEqual(len(namespaces), 5, "four hosts and what joins them")
        self.assertTrue(set(namespaces) <= set(live()), "they are there")
        held.send_signal(signal.SIGKILL)
        held.wait()
        held.stdout.close()
        end = time.monotonic() + 10
        while set(namespaces) & set(live()):
            self.assertLess(time.monotonic(), end, "processes or namespaces are left")
            time.sleep(0.05)
        links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(len(links.splitlines()), 1, links)


def live() -> list[str]:
    """The network namespaces of all processes."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.append(os.readlink(process))
        except OSError:
            continue
    return found


def hold() -> None:
    """Holds a cluster with a running process until it is killed."""
    made = cluster.Cluster(4)
    made.hosts[0].start("sleep", "600")
    spaces = [os.readlink("/proc/self/ns/net")]
    spaces += [os.readlink(f"/proc/{host.holder.pid}/ns/net") for host in made.hosts]
    print(*spaces, flush=True)
    time.sleep(600)


if __name__ == "__main__":
    cluster.enter()
    if sys.argv[1:] == ["--hold"]:
        hold()
    unittest.main(verbosity=1)
