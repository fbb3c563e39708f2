#!/usr/bin/env python3
"""between_hosts.py [--rate RATE] [--delay SECONDS] PROGRAM ARGUMENT...: a benchmark between two hosts of a cluster on
this machine. Runs `PROGRAM --listen ADDRESS` on one and `PROGRAM ARGUMENT... --connect ADDRESS` on the other; exits
with the latter's status.

  tests/cluster/between_hosts.py --rate 1gbit build/bench/transport --turns 3"""
import argparse
import sys

import cluster


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="", help="of the links, as tc writes it: 1gbit; left out, as fast as they are")
    parser.add_argument("--delay", type=float, default=0, help="seconds from one host to the other")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    wanted = parser.parse_args()
    with cluster.Cluster(2, rate=wanted.rate, delay=wanted.delay) as made:
        one, other = made.hosts
        listener = one.start(wanted.program, "--listen", one.address)
        try:
            return other.start(wanted.program, *wanted.arguments, "--connect", one.address).wait()
        finally:
            listener.kill()
            listener.wait()


if __name__ == "__main__":
    cluster.enter()
    sys.exit(main())
