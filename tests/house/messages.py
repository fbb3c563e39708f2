#!/usr/bin/env python3
"""messages.py: the table of messages in docs/architecture.md has a row for each type of message, and no others."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = [ROOT / "core/param/message" / name for name in ("table_messages.h", "run_messages.h")]
DOCS = "docs/architecture.md"


def types_of(header: str) -> set[str]:
    """The structs with a list of fields."""
    return set(re.findall(r"^struct (\w+) {(?:(?!^};).)*? fields{", header, re.MULTILINE | re.DOTALL))


def types_of_docs(text: str) -> set[str]:
    table = text[text.index("| sender | message | receiver | effect |"):].split("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[2])}


def main() -> int:
    types = set().union(*(types_of(header.read_text()) for header in HEADERS))
    told = types_of_docs((ROOT / DOCS).read_text())
    for name in sorted(types - told):
        print(f"the table of {DOCS} lacks the row of '{name}'")
    for name in sorted(told - types):
        print(f"the table of {DOCS} has a row of '{name}', which is no type of message: take it out, or correct it")
    faults = len(types ^ told)
    print(f"{len(types)} types of messages looked at, {faults} faults")
    return 1 if faults or not types else 0


sys.exit(main())
