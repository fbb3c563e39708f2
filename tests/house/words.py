#!/usr/bin/env python3
"""words.py: each word of the parameter table stands in its header's table and in docs/architecture.md's, and no other."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def words_of_enum(header: str) -> set[str]:
    body = re.search(r"enum class Word[^{]*{([^}]*)}", header).group(1)
    return set(re.findall(r"^\s*(\w+)", body, re.MULTILINE))


def words_of_header_table(header: str) -> set[str]:
    """The second column of the comment, from its head on; a row may go on in the next line."""
    lines = header[: header.index("#pragma once")].splitlines()
    head = next(number for number, line in enumerate(lines) if re.match(r"//\s+sender\s+word\s+receiver", line))
    first, last = lines[head].index("word"), lines[head].index("receiver")
    table = []
    for line in lines[head + 1:]:
        if line.strip() == "//":
            break
        if line[first - 1:first] == " ":  # else a sender's name goes on
            table.append(line[first:last])
    return set(re.findall(r"\w+", " ".join(table)))


def words_of_docs(text: str) -> set[str]:
    table = text[text.index("| sender | word | receiver | effect |"):].split("\n\n")[0]
    return {word for row in table.splitlines()[2:] for word in re.findall(r"`(\w+)`", row.split("|")[2])}


def main() -> int:
    header = (ROOT / "core/param/message/protocol.h").read_text()
    words = words_of_enum(header)
    told = {"the table of core/param/message/protocol.h": words_of_header_table(header),
            "the table of docs/architecture.md": words_of_docs((ROOT / "docs/architecture.md").read_text())}
    faults = 0
    for place, those in told.items():
        for word in sorted(words - those):
            print(f"{place} lacks the row of '{word}'")
        for word in sorted(those - words):
            print(f"{place} has a row of '{word}', which is no Word: take it out, or correct it")
        faults += len(words ^ those)
    print(f"{len(words)} words looked at, {faults} faults")
    return 1 if faults or not words else 0


sys.exit(main())
