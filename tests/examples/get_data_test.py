#!/usr/bin/env python3
"""get_data_test.py SOURCES: examples/get-data installs the published files or none, and uses the network last.

The data sets and the script's sums are synthetic. The test's own download programs come first in PATH."""
import gzip
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

SCRIPT = pathlib.Path(sys.argv.pop(1)).resolve() / "examples/get-data"
# Writes down its arguments, and copies the file if the folder PUBLISHED exists.
FETCHER = """#!/bin/sh
echo "$0 $*" >>"$ASKED"
while [ $# -gt 1 ]; do [ "$1" != -o ] || into=$2; shift; done
[ -d "$PUBLISHED" ] && cp "$PUBLISHED/${1##*/}" "$into"
"""


class GetData(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(os.path.realpath(folder.name))
        for name in "examples", "tools", "have/mnist", "have/cifar10":
            (self.root / name).mkdir(parents=True)
        for name in "curl", "wget", "python3":
            (self.root / "tools" / name).write_text(FETCHER)
            (self.root / "tools" / name).chmod(0o755)
        draw = random.Random(1)
        text = SCRIPT.read_text()
        self.files: dict[str, list[str]] = {"mnist": [], "cifar10": []}
        for sum_, name in re.findall(r"^([0-9a-f]{40,64}) ([\w.-]+)", text, re.MULTILINE):
            data = draw.randbytes(100)
            kind = hashlib.sha1 if len(sum_) == 40 else hashlib.sha256  # the sum of a packed file is of its content
            text = text.replace(sum_, kind(data).hexdigest())
            packed = name.endswith(".gz")
            of = "mnist" if packed else "cifar10"
            self.files[of].append(name)
            (self.root / "have" / of / name).write_bytes(gzip.compress(data) if packed else data)
        self.assertEqual([len(names) for names in self.files.values()], [4, 6])
        self.script = self.root / "examples/get-data"
        self.script.write_text(text)

    def get(self, *words: str, code: int = 0, script: pathlib.Path | None = None, **environment: str) -> str:
        known = {name: value for name, value in os.environ.items() if name != "DLHOST_DATA"}
        known |= {"PATH": f"{self.root}/tools:{os.environ['PATH']}", "ASKED": f"{self.root}/asked", "PUBLISHED": ""}
        done = subprocess.run(["sh", script or self.script, *words], cwd=self.root, env=known | environment,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, f"{done.stdout}\n{done.stderr}")
        return done.stderr if code else done.stdout

    def asked(self) -> list[str]:
        """The downloads that the script asked for."""
        path = self.root / "asked"
        return path.read_text().splitlines() if path.exists() else []

    def have(self) -> dict[str, str]:
        return {"DLHOST_DATA": str(self.root / "have")}

    def test_what_is_there_is_linked_without_the_network(self) -> None:
        for name, files in self.files.items():
            for words, into in ([], f"examples/data/{name}"), (["elsewhere"], f"elsewhere/{name}"):
                with self.subTest(name, into=into):
                    self.assertIn(f"{name}: ", self.get(name, *words, **self.have()))
                    found = sorted((self.root / into).iterdir())
                    self.assertEqual([path.name for path in found], sorted(files))
                    for path in found:
                        self.assertTrue(path.is_symlink(), path)
                        self.assertEqual(path.resolve(), self.root / "have" / name / path.name)
                    self.get(name, *words)  # files in place need no DLHOST_DATA
        self.assertEqual(self.asked(), [])

    def test_what_is_not_the_published_file_is_refused_and_named(self) -> None:
        for name, files in self.files.items():
            for file in files[0], files[-1]:
                with self.subTest(file):
                    path = self.root / "have" / name / file
                    good = path.read_bytes()
                    path.write_bytes(gzip.compress(b"other") if name == "mnist" else b"other")
                    said = self.get(name, f"with-{file}", code=1, **self.have())
                    self.assertRegex(said, rf"\Aget-data: with-{file}/{name}/{file} is not the published file")
                    path.write_bytes(good[:50])  # a download that broke off
                    said = self.get(name, f"with-half-of-{file}", code=1, **self.have())
                    self.assertIn(f"get-data: with-half-of-{file}/{name}/{file} is not the published file", said)
                    path.write_bytes(good)
        self.assertEqual(self.asked(), [])

    def test_the_published_files_are_those_of_the_script(self) -> None:
        """The unchanged script of examples/ refuses the synthetic files."""
        for name, files in self.files.items():
            said = self.get(name, "here", code=1, script=SCRIPT, **self.have())
            self.assertRegex(said, rf"\Aget-data: here/{name}/{files[0]} is not the published file")
        self.assertEqual(self.asked(), [])

    def test_it_says_which_data_sets_it_knows(self) -> None:
        for words in [], ["svhn"], ["MNIST"]:
            said = self.get(*words, code=1, **self.have())
            self.assertEqual(said, "get-data: usage: get-data mnist | cifar10 | imagenet [FOLDER]\n")
        self.assertFalse((self.root / "examples/data").exists())
        self.assertEqual(self.asked(), [])

    def test_only_what_is_missing_is_fetched(self) -> None:
        published = self.root / "published"
        published.mkdir()
        missing = self.files["mnist"][2]
        (self.root / "have/mnist" / missing).rename(published / missing)
        with tarfile.open(published / "cifar-10-binary.tar.gz", "w:gz") as packed:
            packed.add(self.root / "have/cifar10", "cifar-10-batches-bin")
        self.get("mnist", **self.have(), PUBLISHED=str(published))
        self.get("cifar10", PUBLISHED=str(published))
        for name, files in self.files.items():
            found = sorted(path.name for path in (self.root / "examples/data" / name).iterdir())
            self.assertEqual(found, sorted(files))
        self.assertEqual([line.rsplit("/", 1)[1] for line in self.asked()], [missing, "cifar-10-binary.tar.gz"])

    def test_what_was_fetched_is_checked_too(self) -> None:
        published = self.root / "published"
        published.mkdir()
        for file in self.files["mnist"]:
            (published / file).write_bytes(gzip.compress(b"a page that says no"))
        said = self.get("mnist", "here", code=1, PUBLISHED=str(published))
        self.assertIn(f"get-data: here/mnist/{self.files['mnist'][0]} is not the published file", said)

    def test_where_nothing_can_be_fetched_it_says_so(self) -> None:
        (self.root / "have/mnist" / self.files["mnist"][0]).unlink()
        said = self.get("mnist", code=1, **self.have())
        self.assertRegex(said, rf"get-data: https://\S+/{self.files['mnist'][0]} cannot be fetched; "
                               rf"put the files into {self.root}/examples/data/mnist yourself\n\Z")
        self.assertEqual(len(self.asked()), 1)


if __name__ == "__main__":
    unittest.main()
