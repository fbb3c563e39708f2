#!/usr/bin/env python3
"""running_job.py [--check]: draws running_job.svg, the objects of a running job, for ../architecture.md."""
import html
import pathlib
import sys

FILE = pathlib.Path(__file__).with_suffix(".svg")
BOX, GAP, LINE, COLUMN, LEFT = 46, 14, 14, 400, 20
INK, PAPER, EDGE = "#1f2933", "#ffffff", "#52606d"
FILL = {"run": "#e3f0ff", "program": "#fff3d6", "param": "#e6f6e6", "memory": "#f3e8ff"}

# Of each process, from top to bottom: what a box is called, its file below core/, and its colour. A row may have two.
LEADER = [
    [("Coordinator: attempts of a run", "run/coordinator/coordinator", "run")],
    [("Training: the loop of steps", "run/coordinator/training", "run")],
    [("Workers: all of them", "run/coordinator/workers", "run"), ("WorkerPool", "run/coordinator/worker_pool", "run")],
    [("Session: device, sources, store", "run/session/session", "run")],
    [("Program: one step", "program/program", "program"), ("TableUpdates", "program/table_updates", "program")],
    [("Worker: its part in the run", "run/worker/worker", "run")],
    [("Table: client", "param/table/table", "param"), ("Shard: server", "param/server/shard", "param")],
    [("Post: messages", "param/message/post", "param")],
]
WORKER = [
    [],
    [("Follower: the loop of steps", "run/worker/follower", "run")],
    [],
    *LEADER[3:],
]
SHARED = [
    ("masters and histories of a server group", "param/table/table_memory"),
    ("each worker's gradients, vitals and words", "run/memory/worker_layout"),
]


def box(x: int, y: int, width: int, name: str, path: str, fill: str) -> list[str]:
    middle = x + width / 2
    return [f'<rect x="{x}" y="{y}" width="{width}" height="{BOX}" rx="4" fill="{FILL[fill]}" stroke="{EDGE}"/>',
            f'<text x="{middle}" y="{y + 19}" text-anchor="middle">{html.escape(name)}</text>',
            f'<text x="{middle}" y="{y + 19 + LINE}" text-anchor="middle" class="path">{html.escape(path)}</text>']


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{EDGE}" marker-end="url(#end)"/>'


def process(x: int, title: str, rows: list) -> tuple[list[str], int]:
    """Its boxes with arrows from each to the next one down, and where they end."""
    parts = [f'<text x="{x + 10}" y="34" class="title">{html.escape(title)}</text>']
    y, before = 50, None
    for row in rows:
        if row:
            width = (COLUMN - 20 - (len(row) - 1) * 10) // len(row)
            for number, (name, path, fill) in enumerate(row):
                parts += box(x + 10 + number * (width + 10), y, width, name, path, fill)
            if before:
                parts.append(arrow(x + COLUMN / 2, before, x + COLUMN / 2, y))
            before = y + BOX
        y += BOX + GAP
    parts.insert(0, f'<rect x="{x}" y="14" width="{COLUMN}" height="{y - 14}" rx="8" fill="{PAPER}" stroke="{EDGE}"/>')
    return parts, y


def picture() -> str:
    other = LEFT + COLUMN + 80
    leader, end = process(LEFT, "dlhost run: the leader, worker 0", LEADER)
    worker, _ = process(other, "dlhost worker: worker 1", WORKER)
    parts = leader + worker
    post = end - GAP - BOX / 2
    parts.append(arrow(LEFT + COLUMN - 10, post - 4, other + 10, post - 4))
    parts.append(arrow(other + 10, post + 4, LEFT + COLUMN - 10, post + 4))
    width = other + COLUMN + LEFT
    for number, (name, path) in enumerate(SHARED):
        parts += box(LEFT + number * (width // 2 - LEFT + 5), end + 40, width // 2 - LEFT - 5, name, path, "memory")
    for x in (LEFT + COLUMN / 2, other + COLUMN / 2):
        parts.append(arrow(x, end, x, end + 40))
    parts.append(f'<text x="{LEFT}" y="{end + 30}" class="path">shared memory of the machine, read and written in place</text>')
    height = end + 40 + BOX + LEFT
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
            f'<style>text {{ font: 12px sans-serif; fill: {INK}; }} .title {{ font-weight: bold; }} '
            '.path { font: 10.5px monospace; }</style>',
            f'<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{EDGE}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>']
    return "\n".join(head + parts + ["</svg>"]) + "\n"


def main() -> int:
    root = FILE.parents[2] / "core"
    missing = [path for rows in (LEADER, WORKER) for row in rows for _, path, _ in row if not (root / f"{path}.cpp").exists()]
    missing += [path for _, path in SHARED if not (root / f"{path}.cpp").exists()]
    if missing:
        print("core has no", ", ".join(f"{path}.cpp" for path in missing))
    if "--check" not in sys.argv:
        FILE.write_text(picture())
    elif FILE.read_text() != picture():
        print(f"{FILE} is not what {sys.argv[0]} draws: run it")
        return 1
    return 1 if missing else 0


sys.exit(main())
