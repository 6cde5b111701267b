#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Times a call of `true`, as a whole process from start to end, in toolcage and in other sandboxes. The samples are interleaved; a sandbox
that is missing is named with the reason. Prints the table of the README, as Markdown.

usage: bench/starts.py BUILDDIR [--rounds N]      npm's sandbox-runtime is `srt` on PATH, or $SRT"""

import argparse
import contextlib
import os
import pathlib
import platform
import shutil
import statistics
import sys
import tempfile

from choosing import engines_here, once

ALONE, OURS = "`true` alone", "`toolcage exec`"
SYSTEM = "/usr/sbin:/usr/bin:/sbin:/bin"


def contenders(build, place, ends):
    """Name, the command that runs `true`, its environment."""
    environment = {"PATH": SYSTEM, "HOME": place}
    yield ALONE, ["/bin/true"], environment
    yield OURS, [str(build / "toolcage"), "exec", "--timeout", "30s", "--", "/bin/true"], environment
    srt = os.environ.get("SRT") or shutil.which("srt")
    yield (
        "`bwrap --unshare-all`",
        [
            "bwrap",
            "--unshare-all",
            "--die-with-parent",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            "/bin/true",
        ],
        environment,
    )
    yield (
        "`firejail --net=none`",
        ["firejail", "--quiet", "--noprofile", "--private", "--net=none", "/bin/true"],
        environment,
    )
    yield "`srt`", [srt or "srt", "true"], {**environment, "PATH": os.environ["PATH"]}
    for name, _, words, env in engines_here(place, ends):
        if words:
            yield f"`{name} run --network none`", [*words, "/bin/true"], env


def measure(build, rounds):
    """Times by name; of what did not run, the reason."""
    times, absent = {}, {}
    with contextlib.ExitStack() as ends:
        place = tempfile.mkdtemp(prefix="toolcage-starts-", dir="/var/tmp")
        ends.callback(shutil.rmtree, place, ignore_errors=True)
        work = pathlib.Path(place, "work")
        work.mkdir()
        os.chdir(work)
        runs = list(contenders(build, place, ends))
        for number in range(rounds + 1):  # the first is not counted
            for name, command, env in runs:
                if name in absent:
                    continue
                try:
                    taken, said = once(command, env)
                except FileNotFoundError:
                    taken, said = None, "not installed"
                if taken is None:
                    absent[name] = said
                elif number:
                    times.setdefault(name, []).append(taken)
        os.chdir("/")
    return times, absent


def table(times, rounds):
    ours = statistics.median(times[OURS])
    lines = ["| command | median | relative to toolcage |", "| --- | --- | --- |"]
    for name, values in times.items():
        median = statistics.median(values)
        lines.append(f"| {name} | {median:.1f} ms | {median / ours:.2f} |")
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    lines.append(
        f"\n`bench/starts.py build`: medians of {rounds} interleaved rounds, as {user}, Linux {platform.release().split('-')[0]}, "
        f"{os.cpu_count()} CPUs. Compare the ratios; absolute times are specific to this machine."
    )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    times, absent = measure(pathlib.Path(options.build).resolve(), options.rounds)
    for name, reason in absent.items():
        print(f"{name}: {reason}", file=sys.stderr)
    if OURS not in times:
        sys.exit(f"bench/starts.py: nothing to compare: {absent.get(OURS)}")
    print(table(times, options.rounds))


if __name__ == "__main__":
    main()
