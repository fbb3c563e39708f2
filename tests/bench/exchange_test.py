#!/usr/bin/env python3
"""exchange_test.py PROGRAM: the benchmark of exchanges, in all its forms. The benchmark checks the sums itself."""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

program = sys.argv.pop(1)
QUICK = ("--seconds", "0.02", "--turns", "1", "--provider", "tcp")


class ExchangeTest(unittest.TestCase):
    def output(self, *words: str) -> str:
        done = subprocess.run([program, *QUICK, *words], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_sync_size_and_number_of_nodes_has_a_row(self) -> None:
        sizes, syncs = ("1024", "100000", "3000000"), ("all_to_all", "chain", "halving", "hierarchical", "ring", "shares", "star", "table", "twin_master")
        words = [word for size in sizes for word in ("--size", size)] + [word for sync in syncs for word in ("--sync", sync)]
        rows = [json.loads(line) for line in self.output("--json", "--nodes", "2", "--nodes", "3", *words).splitlines()]
        self.assertEqual(len(rows), len(sizes) * len(syncs) * 2)
        for row in rows:
            self.assertIn(row["sync"], syncs)
            self.assertGreater(row["us"], 1, row)
            self.assertLessEqual(row["us_50"], row["us_99"], row)
            bytes_each = 2 * (row["nodes"] - 1) / row["nodes"] * row["bytes"]
            self.assertAlmostEqual(row["gigabytes_per_second"], bytes_each / row["us"] * 1e-3, delta=1e-6)

    def test_some_nodes_of_a_host(self) -> None:
        rows = self.output("--json", "--nodes", "4", "--per-host", "2", "--size", "200000", "--sync", "hierarchical", "--sync", "ring", "--sync", "table")
        self.assertEqual(len(rows.splitlines()), 3)

    def test_through_codecs(self) -> None:
        """All nodes get the same bits, for codecs of whole matrices and for sliced params."""
        for codec in ("int8", "one_bit", "power_sgd"):
            words = ("--json", "--codec", codec, "--nodes", "3", "--size", "2000", "--size", "1200000")
            rows = [json.loads(line) for line in self.output(*words, "--sync", "halving", "--sync", "shares", "--sync", "table").splitlines()]
            self.assertEqual(len(rows), 6, codec)

    def test_its_other_forms(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            picture = pathlib.Path(folder, "speed.svg")
            words = ("--nodes", "2", "--size", "64", "--size", "4096", "--sync", "ring", "--svg", str(picture))
            rows = list(csv.DictReader(io.StringIO(self.output("--csv", *words))))
            self.assertEqual([(row["sync"], row["nodes"], row["bytes"]) for row in rows], [("ring", "2", "64"), ("ring", "2", "4096")])
            drawn = xml.etree.ElementTree.parse(picture).getroot()
            text = {element.text for element in drawn.iter() if element.tag.endswith("text")}
            self.assertTrue({"2 nodes, microseconds", "ring", "64", "4 KiB"} <= text, text)
        self.assertRegex(self.output("--nodes", "2", "--size", "64", "--sync", "ring"), r"\nring +2 +64 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+")

    def test_what_it_does_not_know_is_told(self) -> None:
        done = subprocess.run([program, *QUICK, "--nodes", "2", "--size", "64", "--sync", "rign"], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("did you mean 'ring'", done.stderr)
        done = subprocess.run([program, *QUICK, "--nodes", "2", "--size", "64", "--sync", "gossip"], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("makes no exchange", done.stderr)


if __name__ == "__main__":
    unittest.main()
