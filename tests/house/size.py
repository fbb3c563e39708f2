#!/usr/bin/env python3
"""size.py: no folder of core has more than 40 files, and no class more than 600 lines, its functions included."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2] / "core"
MOST_FILES, MOST_LINES = 40, 600
FUNCTION = re.compile(r"^[^\s#/}].*?\b(\w+)::~?\w+\(.*", re.MULTILINE)


def lines_of_classes(files) -> collections.Counter:
    """The lines of each class: its body, and those of its functions that stand elsewhere."""
    lines = collections.Counter()
    for path in files:
        text = path.read_text().splitlines()
        begun = None
        for number, line in enumerate(text):
            if begun is None:
                found = re.match(r"class (?:DLHOST_API )?(\w+)\b[^;]*$", line) if path.suffix == ".h" else FUNCTION.match(line)
                if found and not line.rstrip().endswith((";", "}")):
                    begun = number, found.group(1)
            elif line.startswith("}"):
                lines[begun[1]] += number - begun[0] + 1
                begun = None
    return lines


def main() -> int:
    files = [path for path in sorted(ROOT.rglob("*")) if path.is_file()]
    faults = []
    for folder, count in collections.Counter(path.parent for path in files).items():
        if count > MOST_FILES:
            faults.append(f"{folder.relative_to(ROOT.parent)} has {count} files: {MOST_FILES} at most; make rooms")
    classes = lines_of_classes(path for path in files if path.suffix in (".h", ".cpp"))
    for name, count in classes.items():
        if count > MOST_LINES:
            faults.append(f"class {name} has {count} lines: {MOST_LINES} at most; take it apart")
    print("\n".join(faults + [f"{len(files)} files and {len(classes)} classes looked at, {len(faults)} faults"]))
    print("largest:", ", ".join(f"{name} {count}" for name, count in classes.most_common(5)))
    return 1 if faults or not classes else 0


sys.exit(main())
