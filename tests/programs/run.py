#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Starts some two hundred programs of Debian packages outside and inside a cage of the default grant, gives a third of them a small
job, and compares exit codes and output. It takes half an hour, and is not part of any check.

usage: run.py [--install] [--only TEXT] TOOLCAGE...

--install  first installs the packages with apt-get, as root, on a machine that may have them; no service is started

With several TOOLCAGE, each is compared with the outside. The last lines count how many programs are alike."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS = 60
# from one run to the next, or between users: memory addresses, temporary names, times and durations
VARYING = re.compile(
    r"0x[0-9a-f]+|/tmp/[^\s:'\")]*|\d\d:\d\d(:\d\d)?|\d+(\.\d+)? ?(ms|s|sec|seconds)\b|pid \d+|\bon linux.*kernel.*"
)
OURS = re.compile(r"(toolcage|hint): ")


def rows(name):
    for line in (HERE / name).read_text().splitlines():
        if line and not line.startswith("#"):
            package, command = line.split(": ", 1)
            yield package, command


def install(packages):
    policy = pathlib.Path("/usr/sbin/policy-rc.d")
    if not policy.exists():
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    words = ["apt-get", "install", "-y", "--no-install-recommends", "--no-remove"]
    subprocess.run([*words, *packages], env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, check=True)


def installed(package):
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True, check=False
    )
    return "ok installed" in asked.stdout


def run(words, home, directory):
    environ = {"PATH": PATH, "HOME": home, "LANG": "C.UTF-8", "TMPDIR": "/tmp"}
    try:
        done = subprocess.run(
            words,
            env=environ,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no end", ""
    lines = [line for line in done.stdout.decode(errors="replace").splitlines() if not OURS.match(line)]
    return done.returncode, VARYING.sub("~", "\n".join(lines))


def script(command):
    return ["/bin/sh", "-c", f"unset OLDPWD; cd $(mktemp -d) && {command}"]


def shorten(text):
    return text[:1500] + (" …" if len(text) > 1500 else "")


def same(inside, outside):
    """Standard output and standard error of several processes come in no certain order."""
    return inside[0] == outside[0] and sorted(inside[1].splitlines()) == sorted(outside[1].splitlines())


def differing(outside, inside):
    """The first line that differs, of each."""
    ours, theirs = inside[1].splitlines(), outside[1].splitlines()
    for i in range(max(len(ours), len(theirs))):
        a, b = (theirs[i] if i < len(theirs) else "(nothing)"), (ours[i] if i < len(ours) else "(nothing)")
        if a != b:
            return f"outside: {shorten(a)!r}\n    inside:  {shorten(b)!r}"
    return f"outside: exit {outside[0]}\n    inside:  exit {inside[0]}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("toolcage", nargs="+")
    options = parser.parse_args()
    all_rows = [(kind, *row) for kind in ("starts", "jobs") for row in rows(f"{kind}.txt")]
    if options.install:
        install(sorted({package for _, package, _ in all_rows}))
    home = tempfile.mkdtemp(prefix="programs.")
    alike = {(tool, kind): 0 for tool in options.toolcage for kind in ("starts", "jobs")}
    counted = {"starts": 0, "jobs": 0}
    for kind, package, command in all_rows:
        if options.only not in package or not installed(package):
            continue
        own, ws = os.path.join(home, "home"), os.path.join(home, "ws")
        for directory in (own, ws):
            shutil.rmtree(directory, ignore_errors=True)
            os.makedirs(directory)
        outside = run(script(command), own, ws)
        counted[kind] += 1
        for tool in options.toolcage:
            flags = ["--memory", "4GiB", "--timeout", "50s", "--unix-sockets", "own", "--pids", "1000"]
            inside = run([os.path.abspath(tool), "exec", *flags, "--", *script(command)], home, ws)
            if same(inside, outside):
                alike[tool, kind] += 1
            else:
                print(f"{tool}: {kind}: {package}: {command}\n    {differing(outside, inside)}", flush=True)
    for tool in options.toolcage:
        for kind, count in counted.items():
            print(f"{tool}: {kind}: {alike[tool, kind]} of {count} alike", flush=True)
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
