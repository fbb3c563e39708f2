#!/usr/bin/env python3
"""one_unit.py BUILD: core's sources compile as one unit. Unity builds combine different sources, and a new source moves
the others: two files with the same local name would fail in one build and pass in another. Where the build
uses ccache, it keeps the result; it needs a file of the same name as the last time, in the build folder."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
sources, command = [], []
for entry in json.loads((build / "compile_commands.json").read_text()):
    if not entry.get("output", "").startswith("core/libdlhost.so"):
        continue
    command = shlex.split(entry["command"])
    file = pathlib.Path(entry["directory"], entry["file"])
    together = re.findall(r'^#include ?["<](.*)[">]', file.read_text(), re.MULTILINE) if "unity" in file.name else [file]
    sources += [pathlib.Path(entry["directory"], one).resolve() for one in together]
if not sources:
    sys.exit(f"one_unit: {build}/compile_commands.json tells of no source of core")
flags, words = [], iter(command)
for word in words:
    if word in ("-o", "-MF", "-MQ", "-c"):
        next(words)
    elif word != "-MD":
        flags.append(word)
name = "all_of_core.cpp"
(build / name).write_text("".join(f'#include "{os.path.relpath(source, build.resolve())}"\n' for source in sources))
sys.exit(subprocess.run([*flags, "-fsyntax-only", "-w", name], cwd=build).returncode)
