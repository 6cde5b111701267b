# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A directory tree at one moment."""

import os
import stat


def tree(root):
    """Every name below with its type, bytes and inode."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            full = os.path.join(directory, name)
            st = os.lstat(full)
            text = None
            if stat.S_ISREG(st.st_mode):
                with open(full, "rb") as file:
                    text = file.read()
            elif stat.S_ISLNK(st.st_mode):
                text = os.readlink(full)
            found[os.path.relpath(full, root)] = (stat.S_IFMT(st.st_mode), text, st.st_ino)
    return found
