# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""An embedder's way: install into a prefix of its own, find it by pkg-config, compile, link, run."""

import os
import pathlib
import subprocess
import sys
import tempfile

import tap

build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory(prefix="toolcage-prefix-") as made:
    os.chmod(made, 0o755)
    done = subprocess.run(
        ["meson", "install", "-C", build, "--no-rebuild", "--destdir", made],
        capture_output=True,
        text=True,
        timeout=120,
    )
    tap.check(done.returncode == 0, "meson install", done.stdout + done.stderr)
    found = list(pathlib.Path(made).rglob("libtoolcage.pc"))
    tap.check(len(found) == 1, "one pkg-config file", found)
    env = (
        dict(os.environ, PKG_CONFIG_PATH=str(found[0].parent), PKG_CONFIG_SYSROOT_DIR=made) if found else None
    )
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libtoolcage"], capture_output=True, text=True, env=env
    )
    tap.check(flags.returncode == 0, "pkg-config knows it", flags.stderr)
    program = pathlib.Path(made) / "sync"
    done = subprocess.run(
        ["cc", "-o", program, source / "examples/sync.c"] + flags.stdout.split(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    tap.check(done.returncode == 0, "an example compiles with its flags alone", done.stderr)
    library = next(iter(pathlib.Path(made).rglob("libtoolcage.so.0")), pathlib.Path(made))
    (pathlib.Path(made) / "here").mkdir()
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=pathlib.Path(made) / "here",
        env=dict(os.environ, LD_LIBRARY_PATH=str(library.parent)),
    )
    refused = '"code":"unenforceable"' in done.stdout
    print(done.stdout, done.stderr, file=sys.stderr)
    tap.check(
        '"status":"ok"' in done.stdout or refused,
        "the installed library finds its installed helper",
        done.stdout + done.stderr,
    )
tap.finish()
