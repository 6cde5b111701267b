# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A disk of its own, for scripts of the tests whose workspace is not on the disk of the state directory."""

import os
import subprocess
import tempfile

import mounts


def another(megabytes):
    """A new ext4 at /mnt, which everybody may write and only this script sees. False: it cannot be mounted. For root."""
    if os.geteuid():
        return False
    mounts.apart()
    with tempfile.NamedTemporaryFile(dir="/var/tmp", prefix="toolcage-disk-") as image:
        image.truncate(megabytes << 20)
        for command in (["mkfs.ext4", "-qF", "-m0", image.name], ["mount", "-o", "loop", image.name, "/mnt"]):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                return False
    os.chmod("/mnt", 0o1777)
    return True
