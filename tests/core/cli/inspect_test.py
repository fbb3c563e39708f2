#!/usr/bin/env python3
"""inspect_test.py DLHOST GOOD_PLUGIN BAD_PLUGINS: `dlhost inspect` shows what is there, whatever is wrong with it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

dlhost, good, bad = sys.argv[1:]


def run(*words: str, expected: int = 0) -> str:
    done = subprocess.run([dlhost, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == expected, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout if expected == 0 else done.stdout + done.stderr


def expect(what: str, text: str) -> None:
    assert what in text, f"'{what}' is missing in:\n{text}"


with tempfile.TemporaryDirectory() as work:
    folder = pathlib.Path(work)
    os.environ["DLHOST_PLUGIN_PATH"] = work
    os.environ["XDG_DATA_HOME"] = work
    shutil.copy(good, folder)
    for name in ("static_crash", "static_hang", "static_throw", "no_plugin", "step", "twin_a"):
        shutil.copy(f"{bad}/{name}.so", folder)

    plugins = {pathlib.Path(p["path"]).stem: p for p in json.loads(run("inspect", "--json"))["plugins"]}
    assert plugins["ones"]["problems"] == [] and plugins["twin_a"]["problems"] == []
    ones = plugins["ones"]["products"][0]
    assert (ones["kind"], ones["name"], ones["doc"]) == ("initializer", "ones", "Every element the same.")
    assert ones["options"] == [{"name": "scale", "type": "number", "doc": "the value", "required": False, "default": "1.0"}]
    how = plugins["step"]["products"][0]["options"][0]
    assert how["choices"] == ["throws", "crashes", "hangs", "ends"]
    expect("it crashed with SIGSEGV in loading", plugins["static_crash"]["problems"][0])
    expect("it hangs in loading: not back after 5000 ms", plugins["static_hang"]["problems"][0])
    expect("an exception that nobody caught in loading", plugins["static_throw"]["problems"][0])
    expect("not a dlhost plugin", plugins["no_plugin"]["problems"][0])

    (folder / "static_hang.so").unlink()
    text = run("inspect")
    expect("Every element the same", text)
    expect(f"  {folder}/static_crash.so\n    it crashed", text)
    text = run("inspect", "step")
    expect("throws | crashes | hangs | ends", text)
    expect("default \"throws\"", text)
    expect("did you mean 'ones'", run("inspect", "onse", expected=1))
    expect("did you mean 'initializer'", run("inspect", "--kind", "initialiser", expected=1))
    assert "ones" not in run("inspect", "--kind", "layer").split("folders")[0]
    expect("refused: it crashed", run("inspect", f"{folder}/static_crash.so", expected=1))

    missing = run("inspect", f"{folder}/nowhere.so", expected=1)
    assert missing.count("nowhere.so") <= 2 and missing.count("No such file") == 1, missing

    machine = json.loads(run("inspect", "host", "--json"))
    assert machine["cpu"]["cores_usable"] >= 1 and machine["memory"]["total_bytes"] > 0
    assert all(library["found"] or any(library["file"] in piece for piece in machine["missing"])
               for library in machine["libraries"])
    expect("cores", run("inspect", "host"))
