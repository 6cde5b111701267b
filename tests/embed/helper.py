# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Where the helper is found and what makes it refused; who goes when its host is killed; set-id hosts. Library and
helper are copied to a place of their own, so that the processes started here can be told from all others."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import tap

source, library, helper = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])


def running(path):
    """The processes whose program is this file."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "exe") == str(path):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def sleeping(seconds):
    """Is there a process with these words on its command line?"""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                return True
        except OSError:
            pass
    return False


def wait_for(condition, seconds=5.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def run(program, *words, cwd, env=None, **more):
    return subprocess.run(
        [program, *words],
        cwd=cwd,
        env=env or {"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=30,
        **more,
    )


def main(made):
    lib, libexec, here = made / "lib", made / "libexec/toolcage", made / "here"
    for directory in (lib, libexec, here):
        directory.mkdir(parents=True)
    shutil.copy(library, lib / "libtoolcage.so.0")
    (lib / "libtoolcage.so").symlink_to("libtoolcage.so.0")
    program = made / "host"
    subprocess.run(
        [
            "cc",
            "-o",
            program,
            source / "examples/sync.c",
            f"-I{source}/include",
            f"-L{lib}",
            "-ltoolcage",
            f"-Wl,-rpath,{lib}",
        ],
        check=True,
        timeout=60,
    )

    done = run(program, cwd=here)
    tap.check(
        done.returncode == 125 and "toolcage-helper is in neither" in done.stderr,
        "a missing helper is said",
        done.stderr,
    )

    shutil.copy(helper, lib / "toolcage-helper")
    (lib / "toolcage-helper").chmod(0o775)
    done = run(program, cwd=here)
    tap.check(
        done.returncode == 125 and "can be written by its group" in done.stderr,
        "a loose mode is refused",
        done.stderr,
    )
    (lib / "toolcage-helper").chmod(0o755)
    done = run(program, cwd=here)
    refused = '"code":"unenforceable"' in done.stdout
    tap.check(
        '"status":"ok"' in done.stdout or refused, "found beside the library", done.stdout + done.stderr
    )

    shutil.move(lib / "toolcage-helper", libexec / "toolcage-helper")
    done = run(program, cwd=here)
    tap.check('"call":"' in done.stdout, "found in libexec", done.stdout + done.stderr)

    plain = made / "plain"
    subprocess.run(
        ["cc", "-o", plain, source / "examples/sync.c", f"-I{source}/include", f"-L{lib}", "-ltoolcage"],
        check=True,
        timeout=60,
    )
    done = run(plain, cwd=here, env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "../lib"})
    tap.check(
        '"call":"' in done.stdout, "found when the library's own path is relative", done.stdout + done.stderr
    )

    (libexec / "toolcage-helper").unlink()  # the last one may still be clearing away
    shutil.copy("/bin/true", libexec / "toolcage-helper")
    done = run(program, cwd=here)
    tap.check(
        done.returncode == 125 and "helper" in done.stderr + done.stdout,
        "a helper that ends at once",
        done.stdout + done.stderr,
    )
    (libexec / "toolcage-helper").unlink()
    shutil.copy(helper, libexec / "toolcage-helper")
    (libexec / "toolcage-helper").chmod(0o755)

    if refused:
        print("ok 7 - host killed # SKIP this machine cannot make the cage")
        tap.seen += 1
    else:
        seconds = f"9.{os.getpid()}"
        host = subprocess.Popen([program, "sleep", seconds], cwd=here, stdout=subprocess.DEVNULL)
        started = wait_for(lambda: sleeping(seconds))
        host.send_signal(signal.SIGKILL)
        host.wait()
        gone = wait_for(lambda: not running(libexec / "toolcage-helper") and not sleeping(seconds))
        tap.check(
            started and gone,
            "when the host is killed the helper and its cages go",
            running(libexec / "toolcage-helper"),
        )

    if os.geteuid() != 0:
        print("ok 8 - set-id host # SKIP only root can make a set-id program of another user")
        tap.seen += 1
        return
    program.chmod(0o4755)
    done = run(program, cwd=here, user=12345, group=12345, extra_groups=[])
    tap.check(
        done.returncode == 125 and "a set-id program cannot make an engine" in done.stderr,
        "a set-id host is refused",
        done.stdout + done.stderr,
    )


with tempfile.TemporaryDirectory(prefix="toolcage-helper-") as directory:
    os.chmod(directory, 0o755)
    main(pathlib.Path(directory))
tap.finish()
