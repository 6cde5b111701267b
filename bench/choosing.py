#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The figures of docs/choosing.md: one call of a program that does nothing, and one of Python, by each backend that runs here, and by
`podman run`, `docker run` and `ctr run` of an image with the same program. Everything takes turns; what is absent is "not measured".

usage: bench/choosing.py BUILDDIR [--rounds N] [--minutes M] [--write]      no round begins after M minutes; --write puts them into docs/choosing.md"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import engines

NOTHING, PYTHON = ["/bin/true"], ["/usr/bin/python3", "-c", "pass"]


def once(command, env):
    begun = time.monotonic()
    done = subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    taken = (time.monotonic() - begun) * 1000
    return taken if done.returncode == 0 else None, done.stderr.decode(errors="replace").strip()[:160]


def engines_here(place, ends):
    """Engines that start here, with an image of one static program: name, socket, what runs a command in it (None: no client), its environment."""
    image, root = pathlib.Path(place, "image.tar"), pathlib.Path(place, "root")
    (root / "bin").mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/true")
    subprocess.run(["tar", "-C", str(root), "-cf", str(image), "."], check=True)
    for name in engines.NAMES:
        try:
            path = ends.enter_context(engines.started(name))
        except engines.Absent as why:
            print(f"{name}: {why}", file=sys.stderr)
            continue
        if name == "containerd":
            yield (
                name,
                path,
                ["ctr", "--address", path, "run", "--rm", "--null-io", "--rootfs", str(root), "nothing"],
                {"PATH": os.environ["PATH"]},
            )
            continue
        target = (
            "/v4.0.0/libpod/images/import?reference=localhost/nothing:1"
            if name == "podman"
            else "/v1.40/images/create?fromSrc=-&repo=localhost/nothing&tag=1"
        )
        engines.ask(path, "POST", target, image.read_bytes())
        client = shutil.which(name, path=os.environ["PATH"])
        limits = (
            ["--ulimit", "nofile=16384:16384", "--ulimit", "nproc=32768:32768"] if name == "podman" else []
        )
        words = [
            client,
            *(["--url", f"unix://{path}"] if name == "podman" else ["-H", f"unix://{path}"]),
            "run",
            "--rm",
            "--network",
            "none",
            *limits,
            "localhost/nothing:1",
        ]
        yield name, path, words if client else None, {"PATH": os.environ["PATH"], "HOME": place}


def contenders(options, place, ends):
    """Name, what runs a command, its environment, and whether it has Python."""
    toolcage = str(pathlib.Path(options.build).resolve() / "toolcage")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": place}
    yield "the program alone", lambda command: command, environment, True
    settings = {
        "process": "",
        "oci, crun": '[backend.oci]\nruntime = "crun"\n',
        "oci, runc": '[backend.oci]\nruntime = "runc"\n',
        "gvisor": "",
    }
    peers = []
    for name, path, words, env in engines_here(place, ends):
        settings[name] = f'[backend.{name}]\nsocket = "{path}"\n'
        if words:
            peers.append((f"{name} run", lambda command, words=words: words + command, env, False))
    for name, text in settings.items():
        policy = pathlib.Path(place, f"{name}.toml")
        policy.write_text(
            f'{text}[tool.t]\nbackend = "{name.split(",")[0]}"\nmemory = {{ max = "512MiB", by = "any" }}\ntimeout = "60s"\n'
            + ("" if name == "process" else 'image = "system"\n'),
            encoding="utf-8",
        )
        yield (
            f"toolcage, {name}",
            lambda command, policy=policy: [
                toolcage,
                "exec",
                "--policy",
                str(policy),
                "--tool",
                "t",
                "--",
                *command,
            ],
            environment,
            True,
        )
    yield from peers


def measure(options):
    end = time.monotonic() + options.minutes * 60
    with contextlib.ExitStack() as ends:
        place = tempfile.mkdtemp(prefix="toolcage-choosing-", dir="/var/tmp")
        ends.callback(shutil.rmtree, place, ignore_errors=True)
        runs = [
            (name, kind, (make, command, env))
            for name, make, env, python in contenders(options, place, ends)
            for kind, command in (("nothing", NOTHING), ("python", PYTHON))
            if python or kind == "nothing"
        ]
        times = {(name, kind): [] for name, kind, _ in runs}
        for number in range(options.rounds + 1):  # the first is not counted
            if number > 1 and time.monotonic() > end:
                break
            for name, kind, (make, command, env) in runs:
                if times[name, kind] is None:
                    continue
                taken, said = once(make(command), env)
                if taken is None:
                    print(f"{name}, {kind}: {said}", file=sys.stderr)
                    times[name, kind] = None
                elif number:
                    times[name, kind].append(taken)
    return times


def table(times):
    def cell(name, kind):
        values = times.get((name, kind))
        return f"{statistics.median(values):.1f} ms" if values else "not measured"

    lines = ["| runner | `true` | `python3 -c pass` |", "| --- | --- | --- |"]
    for name in dict.fromkeys(name for name, _ in times):
        lines.append(f"| {name} | {cell(name, 'nothing')} | {cell(name, 'python')} |")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        count = len(re.findall(r"^processor", file.read(), re.M))
    rounds = max((len(values) for values in times.values() if values), default=0)
    lines.append(
        f"\nMedians of {rounds} interleaved rounds, each a whole process from start to end, as root on Linux {platform.release().split('-')[0]} "
        f"with {count} CPUs, on a busy host: compare the ratios of one run only. "
        "`podman run`, `docker run` and containerd's `ctr run` used a root file system with one static program, "
        "without the restrictions of a policy."
    )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times = measure(options)
    if options.json:
        print(json.dumps({f"{name}: {kind}": values for (name, kind), values in times.items()}))
        return
    text = table(times)
    if not options.write:
        print(text)
        return
    page = ROOT / "docs/choosing.md"
    old = page.read_text(encoding="utf-8")
    before, after = old.split("## Figures\n", 1)
    page.write_text(
        f"{before}## Figures\n\nGenerated by `bench/choosing.py build --write`. Not measured: Landlock alone, WebAssembly, virtual machines, "
        f"and the options that this version does not have.\n\n{text}\n\n## {after.split(chr(10) + '## ', 1)[1]}",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
