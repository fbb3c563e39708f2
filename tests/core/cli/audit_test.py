#!/usr/bin/env python3
"""audit_test.py DLHOST WILFUL: the output of `dlhost audit` for a run's ledgers, intact and tampered with."""
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import unittest

from several import FOR_EVER, PROCESSES, Workers

Workers.dlhost, wilful = map(os.path.realpath, sys.argv[1:3])
Workers.options = ("--plugin-dir", os.path.dirname(wilful))
del sys.argv[1:3]

# Each way of tampering so many times, drawn from the soak's seed.
TIMES, SEED = int(os.environ.get("DLHOST_TAMPERINGS", "4")), int(os.environ.get("DLHOST_SEED", "0"))

GROUPS = ("--set=topology.framework=hogwild", "--set=topology.sync={ type = 'ring', every = 7 }",
          "--set=topology.consistency=hogwild", "--set=updater.rate=0.01")


def lines_of(file: pathlib.Path) -> list[str]:
    return file.read_text().splitlines(keepends=True)


class Tampering:
    """Each method makes one random change and returns the place for the audit to print: a file, often with a line."""

    def __init__(self, run: pathlib.Path, drawn: random.Random):
        self.run, self.drawn = run, drawn
        files = sorted(run.glob("ledger*/begun-*/server-*.jsonl"))
        self.file = drawn.choice([file for file in files if len(lines_of(file)) > 2])  # it owns slices
        self.lines = lines_of(self.file)

    def write(self, lines: list[str]) -> str:
        self.file.write_text("".join(lines))
        return str(self.file)

    def below(self, end: int, start: int = 0) -> int:
        return self.drawn.randrange(start, end)

    def removes_a_file(self) -> str:
        self.file.unlink()
        return str(self.file)

    def leaves_the_first_line(self) -> str:
        return self.write(self.lines[:1])

    def removes_a_line(self) -> str:
        at = self.below(len(self.lines) - 1)
        return self.write(self.lines[:at] + self.lines[at + 1:]) + f":{at + 1}:"

    def cuts_the_tail(self) -> str:
        return self.write(self.lines[:self.below(len(self.lines), 1)])

    def cuts_within_a_line(self) -> str:
        text = "".join(self.lines)
        return self.write([text[:self.below(len(text))]])

    def changes_a_digit(self) -> str:
        text = "".join(self.lines)
        at = self.drawn.choice([digit.start() for digit in re.finditer(r"\d", text)])
        other = self.drawn.choice([digit for digit in "0123456789" if digit != text[at]])
        return self.write([text[:at] + other + text[at + 1:]]) + f":{text.count(chr(10), 0, at) + 1}:"

    def changes_how_often(self) -> str:
        """Changes the repeat count of a sample range, such as *29 to *20."""
        often = [number for number, line in enumerate(self.lines) if "*" in line]
        if not often:
            return self.changes_a_digit()
        at = self.drawn.choice(often)
        self.lines[at] = re.sub(r"\*(\d+)", lambda times: f"*{int(times[1]) // 10 * 10 + (int(times[1]) + 1) % 10}", self.lines[at])
        return self.write(self.lines) + f":{at + 1}:"

    def swaps_lines(self) -> str:
        one, other = sorted(self.drawn.sample(range(len(self.lines)), 2))
        self.lines[one], self.lines[other] = self.lines[other], self.lines[one]
        return self.write(self.lines) + f":{one + 1}:"

    def doubles_a_line(self) -> str:
        at = self.below(len(self.lines))
        return self.write(self.lines[:at + 1] + self.lines[at:]) + f":{at + 2}:"

    def adds_another_servers(self) -> str:
        others = [other for other in self.run.glob("ledger*/begun-*/server-*.jsonl") if other != self.file]
        shutil.copy(self.drawn.choice(sorted(others)), self.file)
        return f"{self.file}:1:"

    def removes_an_attempt(self) -> str:
        shutil.rmtree(self.file.parent)
        return str(self.file.parent)

    def leaves_out_a_host(self) -> str:
        for file in self.run.glob(f"ledger*/begun-*/{self.file.name}"):
            file.unlink()
        return self.file.name

    def removes_what_names_the_run(self) -> str:
        (self.file.parent.parent / "arrangement.json").unlink()
        return str(self.file.parent.parent)

    def removes_an_arrangement(self) -> str:
        shutil.rmtree(self.file.parent.parent)
        return str(self.run)

    def removes_all_of_them(self) -> str:
        for ledger in self.run.glob("ledger*"):
            shutil.rmtree(ledger)
        return str(self.run)

    def digit(self, pattern: str) -> str:
        """Changes a digit in one of these files."""
        file = self.drawn.choice(sorted(self.run.glob(pattern)))
        text = file.read_text()
        at = self.drawn.choice([digit.start() for digit in re.finditer(r"\d", text)])
        file.write_text(text[:at] + str((int(text[at]) + self.below(10, 1)) % 10) + text[at + 1:])
        return str(file)

    def damages_a_checkpoint(self) -> str:
        return self.digit("checkpoints/*/manifest.json")

    def changes_a_digit_of_the_arrangement(self) -> str:
        return self.digit("ledger*/arrangement.json")

    def changes_a_digit_of_a_kept_job(self) -> str:
        return self.digit("ledger*/job-*.toml")

    def job(self) -> pathlib.Path:
        """The newest."""
        return max(self.run.glob("job*.toml"), key=lambda job: (len(job.name), job.name))

    def changes_a_digit_of_the_job(self) -> str:
        return self.digit(self.job().name)

    def edits_the_job(self) -> str:
        job = self.job()
        text = job.read_text()
        edits = (("train = 50", "train = 40"), ("shuffle = true", "shuffle = false"), ("batch = 12", "batch = 6"), ("seed = 3", "seed = 31"),
                 ("servers_per_group = ", "servers_per_group = 1"))
        was, now = self.drawn.choice(edits)
        job.write_text(text.replace(was, now, 1))
        return str(job)

    def removes_the_job(self) -> str:
        for job in self.run.glob("job*.toml"):
            job.unlink()
        return str(self.run / "job.toml")

    def changes_the_steps_in_the_summary(self) -> str:
        file = self.run / "summary.json"
        summary = json.loads(file.read_text())
        steps = summary["steps"]
        summary["steps"] = self.drawn.choice((-1, 0, steps - 1, steps + 1, 100 * steps, 2**64 - 1, 1e308, None, str(steps)))
        file.write_text(json.dumps(summary))
        return str(file)

    def unnamed(self) -> pathlib.Path:
        """Removes checkpoints and the summary. Returns a file of the newest attempt."""
        shutil.rmtree(self.run / "checkpoints")
        (self.run / "summary.json").unlink()
        newest = max(self.run.glob("ledger/begun-*"), key=lambda begun: int(begun.name[6:]))
        return self.drawn.choice([file for file in sorted(newest.iterdir()) if len(lines_of(file)) > 2])

    def leaves_nothing_that_names_a_file(self) -> str:
        file = self.unnamed()
        file.unlink()
        return str(file)

    def leaves_nothing_that_names_a_tail(self) -> str:
        file = self.unnamed()
        lines = lines_of(file)
        last = max(number for number, line in enumerate(lines) if "made_of" in line)  # exchanges may follow
        file.write_text("".join(lines[:self.below(last + 1, 1)]))
        return str(file)

    def removes_the_summary(self) -> str:
        (self.run / "summary.json").unlink()
        return str(self.run / "summary.json")

    @classmethod
    def ways(cls) -> list[str]:
        return sorted(name for name, what in vars(cls).items() if callable(what) and "_" in name.strip("_"))


class Audits(Workers):
    def told(self, run: pathlib.Path) -> tuple[int, str]:
        audit = subprocess.run([self.dlhost, *self.options, "audit", str(run)], capture_output=True, text=True, timeout=60)
        return audit.returncode, audit.stdout + audit.stderr

    def passes(self, run: pathlib.Path) -> str:
        status, text = self.told(run)
        self.assertEqual(status, 0, text)
        return text

    def fails_for_whatever_is_changed(self, run: pathlib.Path, seed: int, times: int) -> None:
        copy = self.root / "copy"
        for number, way in enumerate(Tampering.ways() * times):
            shutil.copytree(run, copy)
            named = getattr(Tampering(copy, random.Random(1000 * seed + number)), way)()
            with self.subTest(way=way, seed=seed, number=number):
                status, text = self.told(copy)
                self.assertNotEqual(status, 0, text)
                self.assertIn(named, text)
                self.assertNotIn("json.exception", text)
                self.assertNotIn(str(2**64 - 1) + " to 0", text)
            shutil.rmtree(copy)

    def test_whatever_is_changed_in_a_strict_run_is_named(self) -> None:
        self.run_job(PROCESSES, "--set=train.stop.steps=40")
        run = self.newest_run()
        self.assertIn("certain up to the run's end at step 40, which ", self.passes(run))
        self.run_job(PROCESSES, f"--resume={run}")
        self.assertEqual(sorted(path.name for path in run.glob("ledger/begun-*")), ["begun-1", "begun-2"])
        self.assertIn("certain up to the run's end at step 60, which ", self.passes(run))
        self.run_job(PROCESSES, f"--resume={run}", "--set=train.stop.steps=80", "--set=topology.workers=2")
        self.assertEqual(sorted(path.name for path in run.glob("ledger*/begun-*")), ["begun-1", "begun-1", "begun-2"])
        self.assertIn("certain up to the run's end at step 80, which ", self.passes(run))
        self.fails_for_whatever_is_changed(run, SEED + 1, TIMES)
        moved = self.root / "moved"
        run.rename(moved)
        self.passes(moved)

    def test_whatever_is_changed_where_groups_go_at_their_own_pace_is_named(self) -> None:
        self.run_job(PROCESSES, *GROUPS)
        self.passes(self.newest_run())
        self.fails_for_whatever_is_changed(self.newest_run(), SEED + 2, TIMES // 2)

    def test_what_a_checkpoint_names_is_certain_after_a_kill(self) -> None:
        process = self.start(*FOR_EVER, "--set=recovery.restarts=0")
        self.until(lambda: any(self.root.glob("runs/*/checkpoints/step-000000060/manifest.json")))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.until(lambda: not self.workers())
        run = self.newest_run()
        text = self.passes(run)
        certain = re.search(r"certain up to step (\d+), which (\S+) names; an audit cannot see whether later lines are missing", text)
        self.assertTrue(certain, text)
        self.assertGreaterEqual(int(certain[1]), 60)
        file = run / "ledger/begun-1/server-1.jsonl"
        with file.open("a") as torn:
            torn.write('{"slice":1,"ver')
        self.assertIn("its last line is torn", self.passes(run))
        for manifest in run.glob("checkpoints/*/manifest.json"):
            if str(manifest) == certain[2]:
                lines = {head[2]: head[3] for head in json.loads(manifest.read_text())["run"]["training"]["ledgers"]["heads"]}
        written = lines_of(file)
        file.write_text("".join(written[:lines[1]]))
        self.passes(run)
        file.write_text("".join(written[:lines[1] - 1]))
        status, text = self.told(run)
        self.assertNotEqual(status, 0, text)
        self.assertIn(f"{file}: it ends with line {lines[1] - 1}, and {certain[2]} names its first {lines[1]}: lines are missing", text)

    def test_what_a_handler_keeps_is_named(self) -> None:
        groups = ("--set=topology.framework=downpour", "--set=updater.rate=0.01")
        self.run_job(PROCESSES, "--set=topology.consistency={ type = 'wilful', wants = 'to_keep', from = 59 }", *groups)
        status, text = self.told(self.newest_run())
        self.assertNotEqual(status, 0, text)
        self.assertRegex(text, r"step 59 of worker \d is in no version of slice 0 \(fc.\w+\), and was not dropped")
        self.run_job(PROCESSES, "--set=topology.consistency=wilful", *groups)
        self.passes(self.newest_run())

    def test_checkpoints_that_lie_elsewhere_are_of_several_runs(self) -> None:
        elsewhere = f"--set=checkpoint.folder={self.root}/kept"
        for steps in (20, 25):
            process = self.start(PROCESSES, elsewhere, f"--set=train.stop.steps={steps}", "--set=checkpoint.every.steps=10",
                                 "--set=checkpoint.keep=9")
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, err)
            summary = self.newest_run() / "summary.json"  # as if the run had been killed
            summary.write_text(json.dumps(json.loads(summary.read_text()) | {"status": "running", "ledgers": None}))
        for run in (self.root / "runs").iterdir():
            self.passes(run)
        self.assertIn(f"certain up to step 25, which {self.root}/kept/", self.passes(self.newest_run()))

    def test_a_difference_of_the_job_is_named(self) -> None:
        self.run_job(PROCESSES, "--set=train.stop.steps=20")
        job = self.newest_run() / "job.toml"
        self.passes(job.parent)
        whole = job.read_text()
        for was, now in (("seed = 3", "seed = 4"), ("train = 50", "train = 40"), ("shuffle = true", "shuffle = false"),
                         ("batch = 12", "batch = 6"), ("steps = 20", "steps = 30"), ("workers_per_group = 3", "workers_per_group = 2")):
            self.assertIn(was, whole)
            job.write_text(whole.replace(was, now, 1))
            for words in ((), ("--param=fc.weight", "--version=5")):
                audit = subprocess.run([self.dlhost, *self.options, "audit", str(job.parent), *words], capture_output=True,
                                       text=True, timeout=60)
                self.assertNotEqual(audit.returncode, 0, audit.stdout)
                self.assertRegex(audit.stderr, rf"{job} is not the job of the run, which is in \S+/job-\w{{16}}.toml: line \d+ is "
                                 f"'{now}', and was '{was}'")
                self.assertNotIn("samples", audit.stdout)

    def test_a_job_that_came_to_no_attempt_is_not_the_runs(self) -> None:
        self.run_job(PROCESSES, "--set=train.stop.steps=20")
        run = self.newest_run()
        (run / "job-2.toml").write_text((run / "job.toml").read_text().replace("train = 50", "train = 40"))
        made = self.audit("--param=fc.weight", "--version=5")
        (run / "job-2.toml").unlink()
        self.assertEqual(self.audit("--param=fc.weight", "--version=5"), made)

    def test_a_change_of_the_arrangement_is_named(self) -> None:
        self.run_job(PROCESSES, *GROUPS, "--set=train.stop.steps=20")
        file = self.newest_run() / "ledger/arrangement.json"
        whole = json.loads(file.read_text())
        for key, value in (("train.batch", 24), ("topology.slice_elements", 21), ("topology.server_groups", 1),
                           ("topology.servers_per_group", 3), ("topology.worker_groups", 1), ("topology.copy", "none")):
            file.write_text(json.dumps(whole | {key: value}, indent=2) + "\n")
            status, text = self.told(file.parent.parent)
            self.assertNotEqual(status, 0, text)
            self.assertIn(f"{file} was changed: ", text)
        for value in (0, -1, 2**63, "3", None):
            file.write_text(json.dumps(whole | {"topology.servers_per_group": value}))
            status, text = self.told(file.parent.parent)
            self.assertEqual(status, 1, text)
            self.assertIn(str(file), text)


if __name__ == "__main__":
    unittest.main(verbosity=1)
