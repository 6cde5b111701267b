# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Runs a program for the tests of documents."""

import subprocess


def run(*command):
    """Without input, with its output as text."""
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
