#!/usr/bin/env python3
"""transport_test.py PROGRAM yes|no BETWEEN_HOSTS: the benchmark of transports, in all its forms, here and between two
hosts. `yes`: the build has libfabric."""
import csv
import ctypes
import io
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

program, has_fabric, between_hosts = sys.argv[1], sys.argv[2] == "yes", sys.argv[3]
del sys.argv[1:4]
QUICK = ("--seconds", "0.05")
ONLY_BY_NAME = {"sockets", "udp"}
SKIPPED = 77


class TransportTest(unittest.TestCase):
    def output(self, *words: str) -> str:
        done = subprocess.run(words, capture_output=True, text=True, timeout=180)
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self, *words: str) -> list[dict]:
        return [json.loads(line) for line in self.output(*words).splitlines()]

    def providers(self) -> set[str]:
        """Returns the libfabric providers of the help; checks them against the library's version."""
        named = set(re.findall(r"\blibfabric-([a-z0-9]+)\b", self.output(program, "--help")))
        if has_fabric:
            self.assertLessEqual({"shm", "tcp"}, named)
            # libfabric 1.16 and 1.17 have `net` beside `tcp`; 1.18 merges it into `tcp`.
            self.assertEqual("net" in named, ctypes.CDLL("libfabric.so.1").fi_version() in (1 << 16 | 16, 1 << 16 | 17))
        return named

    def test_every_transport_and_size_has_a_row(self) -> None:
        rows = self.rows(program, *QUICK, "--size", "64", "--size", "100000", "--json", "--turns", "2")
        providers = self.providers() - ONLY_BY_NAME
        self.assertEqual(sorted((row["transport"], row["provider"]) for row in rows if row["bytes"] == 64),
                         sorted([("shm", ""), ("boost-message-queue", "")] +
                                [(of, provider) for provider in providers for of in ("fabric", f"libfabric-{provider}")]))
        self.assertEqual(len(rows), 2 * (2 + 2 * len(providers)))
        for row in rows:
            self.assertLessEqual(row["latency_us_50"], row["latency_us_99"], row)
            self.assertGreater(row["latency_us"], 0.02, row)
            self.assertGreater(row["gigabytes_per_second"], 0, row)
        for row in rows:
            if row["transport"] == "fabric":
                peer, = (other for other in rows if other["transport"] == f"libfabric-{row['provider']}" and other["bytes"] == row["bytes"])
                self.assertAlmostEqual(row["latency_ratio"], row["latency_us"] / peer["latency_us"], places=3)
                self.assertAlmostEqual(row["bandwidth_ratio"], row["gigabytes_per_second"] / peer["gigabytes_per_second"], places=3)

    def test_its_other_forms(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "speed.svg")
            text = self.output(program, *QUICK, "--size", "64", "--size", "4096", "--csv", "--transport", "shm", "--svg", str(picture))
            rows = list(csv.DictReader(io.StringIO(text)))
            self.assertEqual([(row["transport"], row["bytes"]) for row in rows], [("shm", "64"), ("shm", "4096")])
            self.assertTrue(all(float(row["latency_us_99"]) > 0 and float(row["gigabytes_per_second"]) > 0 for row in rows))
            drawn = xml.etree.ElementTree.parse(picture).getroot()
            words = {element.text for element in drawn.iter() if element.tag.endswith("text")}
            self.assertTrue({"one way, microseconds", "GB/s", "shm", "64", "4 KiB"} <= words, words)
        table = self.output(program, *QUICK, "--size", "64", "--transport", "shm")
        self.assertRegex(table, r"\nshm +64 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+")

    def test_who_is_ended_leaves_nothing_behind(self) -> None:
        for transport in "shm", "boost-message-queue":
            bench = subprocess.Popen([program, "--seconds", "30", "--transport", transport], stdout=subprocess.DEVNULL)

            def made() -> list[str]:
                works = pathlib.Path(f"/proc/{bench.pid}/task/{bench.pid}/children").read_text().split()
                return [path.name for process in works for path in pathlib.Path("/dev/shm").glob(f"dlhost-*-{process}-*")]

            end = time.monotonic() + 30
            while not (names := made()) and time.monotonic() < end:
                time.sleep(0.05)
            self.assertTrue(names, transport)
            bench.terminate()
            self.assertEqual(bench.wait(30), -signal.SIGTERM)
            self.assertEqual([name for name in names if pathlib.Path("/dev/shm", name).exists()], [])

    def test_between_two_hosts(self) -> None:
        if not has_fabric:
            self.skipTest("built without libfabric")
        rows = self.rows(sys.executable, between_hosts, "--rate", "200mbit", program, "--seconds", "0.3", "--size", "64", "--size", "1000000",
                         "--json")
        providers = sorted(self.providers() - ONLY_BY_NAME - {"shm"})
        self.assertEqual([(row["transport"], row["bytes"]) for row in rows],
                         [(of, size) for provider in providers for of in ("fabric", f"libfabric-{provider}") for size in (64, 1000000)])
        for row in rows[1::2]:
            self.assertLess(row["gigabytes_per_second"], 0.0255, "the links are of 200 Mb/s")
            self.assertGreater(row["gigabytes_per_second"], 0.005)

    def test_who_calls_and_wants_something_else_ends_nothing(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        listener = subprocess.Popen([program, "--listen", f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(listener.stderr.close)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        noise = ("import socket, time\n"
                 "for _ in range(50):\n"
                 "    try:\n"
                 f"        s = socket.create_connection(('127.0.0.1', {port}), 5)\n"
                 "        s.sendall(b'\\xff' * 5000)\n"
                 "        break\n"
                 "    except ConnectionRefusedError:\n"
                 "        time.sleep(0.1)\n")
        subprocess.run([sys.executable, "-c", noise], check=True, timeout=30)
        self.assertIn("the other side speaks of something else", listener.stderr.readline())
        if has_fabric:
            rows = self.rows(program, *QUICK, "--size", "64", "--transport", "fabric-tcp", "--json", "--connect", f"127.0.0.1:{port}")
            self.assertEqual(len(rows), 1)
            self.assertEqual(listener.wait(20), 0, "it ends when all has been measured")


if __name__ == "__main__":
    unittest.main(verbosity=1)
