"""./dev bench papers: measures and draws figures of the papers behind these ideas, on this machine.

  iteration  time of a step against workers and threads of each (SINGA)
  breakdown  time of a step by part: computing, params, serving, waiting (SINGA)
  groups     accuracy against time, Downpour and Hogwild by their number of groups (SINGA)
  bagging    loss of an auto-encoder against time, by the T of Bagging-Down, with uneven workers
  reproducible  the cost of params with the same bits for any number of workers
  recovery   time until a run trains again after a kill, against servers and the size of slices
  links      accuracy against time over links of 100 Mb/s, dense and by each codec (hosts are namespaces)
  nodes      samples per second against nodes over links of 1 Gb/s (hosts are namespaces)

Each figure is a picture, NAME.svg, and its numbers, NAME.json. Runs with more workers than this machine's cores are
simulated: their time is the operations over the measured rate of one core, and the caption says so."""

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
