#!/usr/bin/env python3
"""imports.py: imports point down only. A plugin includes only its own files, the SDK, plugins/vectors and
plugins/meeting."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A folder of core may include its own level's folders and those below it.
LEVELS = [{"env", "sdk"}, {"plugin", "config", "record"}, {"net", "param"}, {"plan"}, {"program"}, {"run"}, {"predict"}, {"cli"}, {"tools"}]
LEVEL = {folder: height for height, folders in enumerate(LEVELS) for folder in folders}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(folder: str):
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".h", ".cpp", ".cu"):
            for match in INCLUDE.finditer(path.read_text()):
                yield path, match[1] == '"', match[2]


def main() -> int:
    breaches = []
    for path, quoted, name in includes("core"):
        own = path.relative_to(ROOT / "core").parts[0]
        other = name.split("/")[0]
        if quoted and "/" in name and other in LEVEL and LEVEL[other] > LEVEL.get(own, len(LEVELS)):
            breaches.append(f"{path.relative_to(ROOT)}: includes \"{name}\", which stands above core/{own}")
        if own == "sdk" and quoted and (ROOT / "core" / name).exists():
            breaches.append(f"{path.relative_to(ROOT)}: the SDK includes \"{name}\" of core")
    for folder in ("layers", "plugins", "transports"):
        for path, quoted, name in includes(folder):
            shared = name.startswith(("vectors/", "meeting/")) and (ROOT / "plugins" / name).exists()
            if quoted and not shared and not (path.parent / name).exists():
                breaches.append(f"{path.relative_to(ROOT)}: includes \"{name}\"; a plugin includes <dlhost/...>, files beside "
                                "it, plugins/vectors and plugins/meeting")
    print("\n".join(breaches + [f"{len(breaches)} breaches"]))
    return 1 if breaches else 0


sys.exit(main())
