#!/usr/bin/env python3
"""links.py SOURCES: each link of the documentation leads to an existing file and heading, and each path exists. The code of the example in
plugin-authors.md is the example's."""
import pathlib
import re
import sys

sources = pathlib.Path(sys.argv[1]).resolve()
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
faults = []


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M):
        word = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        word = re.sub(r"[^\w\- ]", "", word).replace(" ", "-")
        found.add(word if word not in found else f"{word}-1")
    return found


pages = [*sources.glob("*.md"), *sources.glob("docs/**/*.md"), *sources.glob("examples/**/*.md")]
for page in pages:
    text = FENCE.sub("", page.read_text())
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            faults.append(f"{page.relative_to(sources)}: there is no {link}")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
            faults.append(f"{page.relative_to(sources)}: {link} is no heading there")
    for named in re.findall(r"`((?:core|plugins|layers|transports|tests|bench)/[\w/.-]+)`", text):
        if not any((sources / (named + ending)).exists() for ending in ("", ".h", ".cpp", ".md")):
            faults.append(f"{page.relative_to(sources)}: there is no {named}")

# Compares line by line: the page may indent a piece differently, and skip lines.
shown = (sources / "docs/plugin-authors.md").read_text()
example = {line.strip() for file in ("prelu.cpp", "conform.toml") for line in
           (sources / "examples/custom-layer" / file).read_text().splitlines()}
walk = shown.partition("## A layer with a param")[2].partition("### Build it")[0]
pieces = re.findall(r"^```cpp\n(.*?)^```$|^```toml\n(\[\[case.*?)^```$", walk, re.M | re.S)
assert pieces, "docs/plugin-authors.md shows no code of prelu"
for code, case in pieces:
    for line in (code or case).splitlines():
        if line.strip() and line.strip() not in example and not line.strip().startswith(("//", "#", "...")):
            faults.append(f"docs/plugin-authors.md: prelu has no line '{line.strip()}'")

print("\n".join(faults) or f"{len(pages)} pages lead where they say")
sys.exit(bool(faults))
