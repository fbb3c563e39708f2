#!/usr/bin/env python3
"""abi.py: a change of the SDK's headers requires a new entry in abi_log (core/sdk/meson.build), and so a new epoch.

An entry's key is the headers' hash without comments and white space: one epoch for each shape.
"""
import hashlib
import pathlib
import re
import sys

SDK = pathlib.Path(__file__).resolve().parents[2] / "core/sdk"
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)


def shape(header: pathlib.Path) -> str:
    return " ".join(COMMENT_OR_STRING.sub(lambda match: match[1] or " ", header.read_text()).split())


def main() -> int:
    digest = hashlib.sha256()
    for header in sorted((SDK / "dlhost").rglob("*.h")):
        digest.update(f"{header.relative_to(SDK)}\n{shape(header)}\n".encode())
    now = digest.hexdigest()[:12]
    log = re.search(r"abi_log = \{(.*?)\n\}", (SDK / "meson.build").read_text(), re.DOTALL)
    keys = re.findall(r"^\s*'(\w+)':", log[1], re.MULTILINE) if log else []
    if keys and keys[-1] == now:
        return 0
    print("The SDK's headers changed, and abi_log in core/sdk/meson.build does not say how. Plugins built before this")
    print(f"change must not load: add this as its last entry, with what changed in its words:\n  '{now}': '...',")
    return 1


sys.exit(main())
