"""./dev bench papers: the figures of the papers that these ideas come from, measured on this machine and drawn.

  iteration  time of a step against workers and threads of each (SINGA)
  breakdown  where the time of a step goes: computing, params, serving, waiting (SINGA)
  groups     accuracy against time, Downpour and Hogwild by their number of groups (SINGA)
  bagging    loss of an auto-encoder against time, by the T of Bagging-Down, with uneven workers
  reproducible  what it costs that params have the same bits for any number of workers
  recovery   time until a run trains again after a kill, against servers and the size of slices
  links      accuracy against time over links of 100 Mb/s, dense and by each codec (hosts are namespaces)
  nodes      samples a second against nodes over links of 1 Gb/s (hosts are namespaces)

Each is a picture, NAME.svg, and its numbers, NAME.json. What this machine has no cores for is simulated: its time is
operations over the rate that one core was measured at, and its caption says so."""

import argparse
import json
import pathlib
import sys
import tempfile

import bagging
import breakdown
import groups
import iteration
import links
import nodes
import recovery
import reproducible
from runs import say

FIGURES = {"iteration": iteration, "breakdown": breakdown, "reproducible": reproducible, "groups": groups,
           "bagging": bagging, "recovery": recovery, "links": links, "nodes": nodes}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench papers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", nargs="*", default=list(FIGURES), help="which of them (all, about half an hour)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path("papers"), metavar="FOLDER",
                        help="where they go (papers)")
    parser.add_argument("--quick", action="store_true", help="fewer steps: to see that it works, not what it shows")
    options = parser.parse_args()
    if unknown := [name for name in options.figure if name not in FIGURES]:
        parser.error(f"no figure {', '.join(unknown)}; known: {', '.join(FIGURES)}")
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.figure:
        say(f"{name}:")
        with tempfile.TemporaryDirectory(prefix="dlhost-papers-") as folder:
            numbers = FIGURES[name].measure(pathlib.Path(folder), options.quick)
        (options.output / f"{name}.json").write_text(json.dumps(numbers, indent=1) + "\n")
        picture = options.output / f"{name}.svg"
        FIGURES[name].draw(numbers).savefig(picture)
        print(picture, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
