#!/usr/bin/env python3
"""runs_test.py DLHOST PLUGIN: runs that are stopped, killed, tampered with or given bad plugins resume with the same
results. DLHOST_SEED chooses the jobs and the moments; DLHOST_SOAK the number of each."""
import hashlib
import json
import os
import pathlib
import signal
import sys
import time

from runs import STEPS, Runs

import unittest

Runs.dlhost, plugin = map(os.path.realpath, sys.argv[1:3])
del sys.argv[1:3]
ROUNDS = int(os.environ.get("DLHOST_SOAK", "10"))
MISBEHAVING_SOURCE = '[[layer]]\nname = "data"\ntype = "misbehaving_source"\n'


class Stopped(Runs):
    """Runs end at random moments, and resume until the end is reached."""

    def ended_by(self, number: int) -> None:
        for round_ in range(ROUNDS):
            with self.subTest(round=round_, job=self.new_job()):
                begin = time.monotonic()
                self.run_job(f"whole{round_}")
                whole = time.monotonic() - begin
                runs, resume, ends = f"cut{round_}", [], 0
                while True:
                    process = self.start(runs, *resume)
                    time.sleep(self.draw.uniform(0.02, whole if ends < 6 else 10 * whole))
                    process.send_signal(number)
                    said, _ = process.communicate(timeout=120)
                    self.assertIn(process.returncode, (0, 130, -number), said)
                    if process.returncode == 0:
                        break
                    ends += 1
                    good = (self.root / runs).exists() and self.checkpoints_in(runs)
                    resume = ["--resume", str(self.folder(runs))] if good else []
                    if not good:
                        runs += "+"  # no checkpoint yet: a new run
                self.same_end(runs, f"whole{round_}")

    def checkpoints_in(self, runs: str) -> bool:
        return any((self.root / runs).glob("*/checkpoints/step-*/manifest.json"))

    def test_killed(self) -> None:
        self.ended_by(signal.SIGKILL)

    def test_interrupted(self) -> None:
        self.ended_by(signal.SIGINT)


class Tampered(Runs):
    """A changed checkpoint is refused; the run resumes from the one before it."""

    def spoil(self, checkpoint: pathlib.Path) -> str:
        file = self.draw.choice(sorted(checkpoint.iterdir()))
        data = bytearray(file.read_bytes())
        how = self.draw.choice(("flip", "cut", "longer", "gone", "empty", "nonsense"))
        if how == "nonsense":
            file = checkpoint / "manifest.json"
            data = bytearray(self.forged(file.read_text()))
        if how == "flip":
            data[self.draw.randrange(len(data))] ^= 1 << self.draw.randrange(8)
        elif how == "cut":
            del data[self.draw.randrange(len(data)) :]
        elif how == "longer":
            data += b"x"
        elif how == "empty":
            data.clear()
        if how == "gone":
            file.unlink()
        else:
            file.write_bytes(data)
        return f"{how} {file.name}"

    def forged(self, text: str) -> bytes:
        """A manifest with one impossible value, and a hash that fits."""
        told = json.loads(text)

        def values(inside, *keys):
            pairs = inside.items() if isinstance(inside, dict) else enumerate(inside) if isinstance(inside, list) else ()
            for key, value in pairs:
                yield from values(value, *keys, key)
                if not isinstance(value, (dict, list)) and keys:
                    yield inside, key

        inside, key = self.draw.choice(list(values(told)))
        inside[key] = 7 if isinstance(inside[key], str) else self.draw.choice(("x", [[]], {"x": 1}))
        told["blake2b"] = ""
        text = json.dumps(told, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
        digest = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
        return text.replace('"blake2b": ""', f'"blake2b": "{digest}"', 1).encode()

    def test_any_file(self) -> None:
        self.new_job()
        self.run_job("whole")
        for round_ in range(5 * ROUNDS):
            runs = f"spoilt{round_}"
            self.run_job(runs)
            newest = self.checkpoints(runs)[-1]
            with self.subTest(how=self.spoil(newest)):
                said = self.run_job(runs, "--resume", str(newest), code=1)
                self.assertIn(newest.name, said)
                self.assertIn("the newest good one is", said)
                self.run_job(runs, "--resume", str(self.folder(runs)))
                self.same_end(runs, "whole")


class BadPlugins(Runs):
    """A plugin that throws, crashes or hangs in any call of any step is named, and costs no more than the last steps."""

    def test_any_call(self) -> None:
        calls = (("layer.odd", "layer 'odd'", "compute_feature"), ("layer.odd", "layer 'odd'", "compute_gradient"),
                 ("layer.data", "layer 'data'", "read"))
        ends = {"throws": (1, "threw an exception in"), "crashes": (-signal.SIGSEGV, "crashed with SIGSEGV in"), "hangs": (70, "hangs in")}
        for round_ in range(ROUNDS):
            (owner, instance, call), (how, (code, words)) = self.draw.choice(calls), self.draw.choice(sorted(ends.items()))
            step = self.draw.randrange(8) if call == "read" else self.draw.randrange(STEPS)
            with self.subTest(call=call, how=how, step=step, job=self.new_job(source=MISBEHAVING_SOURCE, last_layer="misbehaving")):
                plugins = f"--plugin-dir={os.path.dirname(plugin)}"
                self.run_job(f"whole{round_}", plugins)
                trouble = (f"--set={owner}.{key}={value}" for key, value in (("how", how), ("where", call), ("step", step)))
                said = self.run_job(f"bad{round_}", plugins, *trouble, code=code)
                self.assertIn(f"plugin 'misbehaving' ({plugin}) {words} {instance}, {call}, step ", said)
                if self.checkpoints_of(f"bad{round_}"):
                    self.run_job(f"bad{round_}", plugins, "--resume", str(self.folder(f"bad{round_}")))
                    self.same_end(f"bad{round_}", f"whole{round_}")

    def checkpoints_of(self, runs: str) -> bool:
        return any((self.root / runs).glob("*/checkpoints/step-*/manifest.json"))


unittest.main()
