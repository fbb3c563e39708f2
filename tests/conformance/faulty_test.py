#!/usr/bin/env python3
"""faulty_test.py CONFORM PLUGIN COUNTS: the suites find what each product of faulty.cpp does wrong, and nothing else.

COUNTS: 1 if the suites count allocations; ThreadSanitizer has an operator new of its own."""
import re
import subprocess
import sys
import unittest

CONFORM, PLUGIN, COUNTS = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
EXCHANGES = {"all_end_with_the_sum", "makes_the_same_bits", "starts_anew_after_a_death"}
HISTORIES = {"obeys_its_traits", "keeps_its_state_in_words"}
FAULTS = {
    "Updater_unscaled": {"obeys_the_gradient_scale"},
    "Codec_private_scale": {"keeps_nothing_to_itself"},
    "Codec_finite_only": {"survives_every_value"},
    "Codec_even_only": {"takes_every_shape"},
    "Codec_two_rounds": {"traits_hold_together"},
    "Consistency_counts_itself": {"keeps_its_state_in_words"},
    "Consistency_changes_when_asked": HISTORIES,
    "Consistency_allocates": HISTORIES,
    "Consistency_restless": {"plans_what_workers_can_follow"},
    "Sync_not_reset": {"starts_anew_after_a_death"},
    "Sync_keeps_hosts": EXCHANGES,
    "Sync_crumbs": EXCHANGES,
}
if COUNTS == "0":
    del FAULTS["Consistency_allocates"]


class Faulty(unittest.TestCase):
    def test_each_fault_is_found(self) -> None:
        done = subprocess.run([CONFORM, PLUGIN, "--gtest_brief=1"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        found: dict[str, set[str]] = {}
        for suite, check in re.findall(r"^\[  FAILED  \] (\w+)\.(\w+)", done.stdout, re.MULTILINE):
            found.setdefault(suite, set()).add(check)
        for suite, checks in FAULTS.items():
            with self.subTest(suite=suite):
                self.assertEqual(found.pop(suite, set()), checks, done.stdout[-20000:])
        self.assertEqual(found, {})


unittest.main()
