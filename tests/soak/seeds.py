#!/usr/bin/env python3
"""seeds.py COUNT COMMAND...: runs a command with --seed, once for each of COUNT seeds, which DLHOST_SEED chooses."""
import os
import random
import subprocess
import sys

draw = random.Random(os.environ.get("DLHOST_SEED", "1"))
for _ in range(int(sys.argv[1])):
    command = [*sys.argv[2:], f"--seed={draw.randrange(1 << 32)}"]
    code = subprocess.run(command).returncode
    if code == 77:  # skipped: the command printed the reason
        sys.exit(code)
    if code:
        sys.exit(f"{command[-1]}: exit code {code}")
