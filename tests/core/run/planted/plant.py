#!/usr/bin/env python3
"""plant.py FAULTS.TOML NAME SOURCE.CPP OUT.CPP: writes a source file of core with a fault in it."""
import pathlib
import sys
import tomllib

faults, name, path, out = sys.argv[1:]
fault = tomllib.loads(pathlib.Path(faults).read_text())[name]
source = pathlib.Path(path).read_text()
if source.count(fault["piece"]) != 1:
    sys.exit(f"{path} has {source.count(fault['piece'])} times, and not once: {fault['piece']}\n"
             f"({faults} plants the fault '{name}' there: {fault['says']})")
pathlib.Path(out).write_text(source.replace(fault["piece"], fault["fault"]))
