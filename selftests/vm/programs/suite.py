#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run a module of CPython's own tests and print the result and the name of each test.

Usage: suite.py MODULE

The lines are sorted, so that those of two runs can be compared. What failed is reported on stderr.
"""

import faulthandler
import sys
import unittest

from test import support

LIMIT = 300	# seconds, then the threads' stacks are printed


class Results(unittest.TestResult):
    """A result for each test. That of a subtest counts for its test if it failed."""

    def __init__(self):
        super().__init__()
        self.of = {}

    def keep(self, test, result, why=""):
        self.of[test.id()] = result
        if why:
            print(f"{result} {test.id()}: {why}", file=sys.stderr)

    def addSuccess(self, test):
        self.of.setdefault(test.id(), "ok")

    def addSkip(self, test, reason):
        self.keep(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.keep(test, "expected")

    def addUnexpectedSuccess(self, test):
        self.keep(test, "unexpected")

    def addFailure(self, test, err):
        self.keep(test, "failed", self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.keep(test, "failed", self._exc_info_to_string(err, subtest))


def main():
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    # none that takes minutes or much memory; those that need the Internet end without a name server
    support.use_resources = ["network"]
    results = Results()
    unittest.defaultTestLoader.loadTestsFromName(sys.argv[1]).run(results)
    for name, result in sorted(results.of.items()):
        print(result, name)


main()
