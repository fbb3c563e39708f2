#!/usr/bin/env python3
"""in_sight_test.py SOURCES: tree.sh reports a build folder that it cannot hide, as it then notices less.

The tree is empty: tree.sh finds that fault later."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCES = os.path.realpath(sys.argv.pop(1))
# No namespace at all; and a namespace that refuses mounts.
REFUSES = {"unshare": "exit 1"}
MOUNTS_NOTHING = {"unshare": 'shift 3; exec "$@"', "mount": "exit 32"}
# A mount that succeeds, as on a system with namespaces.
HIDES = {"unshare": 'shift 3; exec "$@"', "mount": "exit 0"}


class InSight(unittest.TestCase):
    def told(self, tools: dict[str, str]) -> list[str]:
        """The lines about the build folder."""
        with tempfile.TemporaryDirectory() as work:
            root = pathlib.Path(work)
            for name in "tools", "tree", "build":
                (root / name).mkdir()
            for name, does in tools.items():
                (root / "tools" / name).write_text(f"#!/bin/sh\n{does}\n")
                (root / "tools" / name).chmod(0o755)
            environment = {name: value for name, value in os.environ.items() if name != "DLHOST_HIDDEN"}
            done = subprocess.run(["bash", f"{SOURCES}/tests/install/tree.sh", root / "tree", SOURCES, root / "build"],
                                  env=environment | {"PATH": f"{root}/tools:{os.environ['PATH']}"},
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("FAILED: there are no examples", done.stderr)  # tree.sh went on nevertheless
            return [line for line in done.stderr.splitlines() if f"{root.resolve()}/build" in line]

    def test_a_build_folder_that_stays_in_sight_is_told(self) -> None:
        for tools in REFUSES, MOUNTS_NOTHING:
            said, = self.told(tools)
            self.assertRegex(said, "^the build folder .* stays in sight: this system gives no mount namespace")

    def test_one_that_is_hidden_is_not(self) -> None:
        self.assertEqual(self.told(HIDES), [])


if __name__ == "__main__":
    unittest.main()
