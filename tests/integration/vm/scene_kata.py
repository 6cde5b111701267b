# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""As scene.py, for Kata Containers: an engine of the script's own (its last argument: docker unless it is containerd) that knows the stand-in of tests/kata.py by that name. None of this has met the real
one: the guest's kernel is the host's."""

import atexit
import contextlib
import os
import subprocess
import sys

from scene import TOOL, end, make_root, skip_all, start_by, store  # first: it knows where the others are
import engines
import kata
from store import BUSYBOX, check, finish, image  # noqa: F401 pylint: disable=unused-import

KATA = """
[backend.kata]
engine = "{engine}"
socket = "{socket}"
{backend}
"""
PLACE = {}
ENGINE = "containerd" if sys.argv[-1] == "containerd" else "docker"
ENDS = contextlib.ExitStack()


def begin(who, *programs):
    """Further programs, static ones, stand in the image's /bin."""
    if os.geteuid() != 0:
        skip_all("needs root to start an engine")
    if not engines.runtime():
        skip_all("there is no runc here")
    store.begin(who)
    make_root("root", programs)
    made = image("import", os.path.abspath("root"), "small")
    check(made.code == 0, "an image is imported", made)
    os.mkdir("standin-place")
    os.chmod(".", 0o755)
    PLACE["standin"] = kata.Standin(os.path.abspath("standin-place"), BUSYBOX)
    atexit.register(ENDS.close)
    try:
        PLACE["socket"] = ENDS.enter_context(
            engines.started(ENGINE, runtimes=PLACE["standin"].runtimes(), path=PLACE["standin"].path())
        )
    except engines.Absent as why:
        skip_all(why)


def standin():
    return PLACE["standin"]


def socket():
    return PLACE["socket"]


def start(script, more="", tool="t", timeout="120s", backend="", stdin=subprocess.PIPE):
    text = KATA.format(engine=ENGINE, socket=socket(), backend=backend) + TOOL.format(
        kind="kata", timeout=timeout, more=more
    )
    return start_by(text, script, tool, stdin)


def call(script, stdin=None, **how):
    given = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    return end(start(script, stdin=given, **how), stdin)


def monitors():
    """What is left when all should be gone."""
    return engines.left(socket(), 60)
