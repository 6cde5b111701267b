# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Another runsc in the place of the installed one. Policies name no path of a runtime, so whoever wants another has to put it where
toolcage looks; a mount namespace does that for one script and what it starts."""

import os
import sys

from tap import skip_all

PLACES = (
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/bin",
    "/sbin",
)  # in toolcage's order


def installed():
    """The one that toolcage takes; None: there is none."""
    return next((path for place in PLACES if os.access(path := f"{place}/runsc", os.X_OK)), None)


def put_in_place(path):
    """Starts the script once more, in a namespace where `path` is the installed one; there it returns at once."""
    where = installed()
    if not os.path.exists(path):
        skip_all("the current runsc is not here: tools/clients runsc builds it")
    if not where:
        skip_all("skipped: runsc is not installed")
    if os.path.samefile(path, where):
        return
    if os.geteuid():
        skip_all("another runsc needs root to take the installed one's place")
    script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    os.execv(
        "/usr/bin/unshare",
        [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "/bin/sh",
            "-c",
            script,
            "sh",
            path,
            where,
            sys.executable,
            *sys.argv,
        ],
    )
