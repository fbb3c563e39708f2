#!/usr/bin/env python3
"""prose.py: comments name their subject. Turns of phrase that hide it, and that were taken out, do not come back."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "layers", "plugins", "transports")
PHRASES = [
    r"\b([Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody|[Ww]hoever|[Ww]hom)\b",
    r"^(Who|Whose|Whom) ",
    r"^What (is|are|was|has|had|it|they|a|the|of|no) ",
    r"^Where (it|there|they|that|this|one|none|no|a|the) ",
    r"\bNot ok\b",
    r"\b(is|are) told\b|\btold of\b",
    r"\bas (it lies|they lie)\b",
    r"\bwhat (there is|is there)\b",
    r"\b(comes?|stands?) behind\b",
    r"\b(whence|thereby|manieth)\b",
]


def comments(path: pathlib.Path):
    """Each comment's first line, and the number of that line: lines that follow one another are one comment."""
    text = ""
    for number, line in enumerate(path.read_text().splitlines() + [""], 1):
        found = re.search(r"(?:^|\s)// ?(.*)$", line)
        if found and (not text or line.strip().startswith("//")):
            begun = begun if text else number
            text += " " * bool(text) + found.group(1)
        elif text:
            yield begun, text
            text = ""


def main() -> int:
    faults, looked_at = [], 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".cu"):
                continue
            for number, text in comments(path):
                looked_at += 1
                for phrase in PHRASES:
                    for found in re.finditer(phrase, text):
                        faults.append(f"{path.relative_to(ROOT)}:{number}: '{found.group(0)}' hides the subject: name it")
    print("\n".join(faults + [f"{looked_at} comments looked at, {len(faults)} faults"]))
    return 1 if faults or not looked_at else 0


sys.exit(main())
