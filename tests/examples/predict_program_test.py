#!/usr/bin/env python3
"""predict_program_test.py DLHOST SOURCES BUILD: follows the README of examples/predict with its program."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

dlhost, sources, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
for tool in os.environ.get("CXX", "c++").split()[-1], "meson", "ninja", "pkg-config":
    if not shutil.which(tool):
        print(f"skipped: {tool} is missing")
        sys.exit(77)  # Meson counts 77 as skipped
os.environ["PKG_CONFIG_PATH"] = f"{build}/meson-uninstalled"


def run(*words: str | pathlib.Path, expected: int = 0) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    assert done.returncode == expected, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as work:
    example = sources / "examples/predict"
    built, runs = (pathlib.Path(work) / name for name in ("build", "runs"))
    run("meson", "setup", built, example)
    run("meson", "compile", "-C", built)
    trained = run(dlhost, "run", sources / "examples/digits/job.toml", f"--set=record.folder={runs}", "--set=train.stop.epochs=30")
    assert "done" in trained, trained
    kept, = runs.iterdir()
    said = run(built / "digits", kept, example / "seven.txt", example / "two.txt")
    for word, digit in ("seven", 7), ("two", 2):
        assert f"{word}.txt: {digit}, probability" in said, said
    short = pathlib.Path(work) / "short.txt"
    short.write_text("1 2 3\n")
    said = run(built / "digits", kept, short, expected=1)
    assert "takes samples of 1x8x8 f32, but 3 values are given" in said, said
    params = pathlib.Path(work) / "digits.safetensors"
    run(dlhost, "export", kept, "-o", params)
    assert "name the job of its net (Options::job)" in run(built / "digits", params, example / "two.txt", expected=1)
