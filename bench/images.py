#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What containers cost in one root: a program that does nothing, Python and Node.js, by toolcage (a whole process; and the next call of an
engine that runs), by the bare runtimes, and by `podman run`, `docker run` and `ctr run`. All take turns in one control group, in which the
groups of the runtimes and engines are, too; what is absent or fails is named.

usage: bench/images.py BUILDDIR [--image NAME | DIRECTORY] [--rounds N] [--minutes M] [--programs nothing python node] [--json]
                                                    as root; the image "default" unless another is named; no round begins after M minutes"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bindings/python")]
import engines
from group import Group

PROGRAMS = {
    "nothing": ["/bin/true"],
    "python": ["/usr/bin/python3", "-c", "pass"],
    "node": ["/usr/bin/node", "-e", "0"],
}
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS = 300


class Failed(Exception):
    """The contender did not run the program; the text says what it said."""


def timed(work):
    begun = time.monotonic()
    work()
    return (time.monotonic() - begun) * 1000


def process(words, env):
    def work():
        done = subprocess.run(
            words,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
            timeout=SECONDS,
        )
        if done.returncode:
            raise Failed(done.stderr.decode(errors="replace").strip()[-200:])

    return work


def root_of(toolcage, image):
    if os.path.isdir(image):
        return os.path.abspath(image)
    done = subprocess.run(
        [toolcage, "image", "inspect", "--json", image], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(
            f"bench: there is no image {image}; hint: toolcage image build default, or --image DIRECTORY"
        )
    return json.loads(done.stdout)["root"]


def policies(image, place):
    for name, text in {
        "crun": 'backend = "oci"\n[backend.oci]\nruntime = "crun"\n',
        "runc": 'backend = "oci"\n[backend.oci]\nruntime = "runc"\n',
        "runsc": 'backend = "gvisor"\n',
    }.items():
        if shutil.which(name, path=PATH):
            path = pathlib.Path(place, f"{name}.toml")
            # no control group may be there, and Node.js reserves many addresses
            path.write_text(
                f'[tool.t]\nimage = "{image}"\nmemory = {{ max = "64GiB", by = "any" }}\ntimeout = "120s"\n{text}',
                encoding="utf-8",
            )
            yield name, path


def ours(toolcage, build, image, place, ends):
    """Each as a whole process, and as the call of an engine that has had one; the library is asked for by the package for Python."""
    os.environ["TOOLCAGE_LIBRARY"] = str(next(build.glob("**/libtoolcage.so")).resolve())
    import toolcage as package

    for name, path in policies(image, place):
        yield (
            f"toolcage, {name}",
            lambda command, path=path: process(
                [toolcage, "exec", "--policy", str(path), "--tool", "t", "--", *command],
                {"PATH": PATH, "HOME": place},
            ),
        )
        engine, policy = ends.enter_context(package.Engine()), package.Policy.from_file(str(path))

        def next_call(command, engine=engine, policy=policy):
            return lambda: engine.run(package.Call(policy, "t", command=command)).check()

        yield f"toolcage, {name}, running engine", next_call


def bare(root, place, group):
    """The runtime's own specification but for the root, its program, and what it needs no terminal for."""
    for name in ("crun", "runc", "runsc"):
        program = shutil.which(name, path=PATH)
        if not program:
            print(f"{name}: not installed here", file=sys.stderr)
            continue
        bundles = {}
        for kind, command in PROGRAMS.items():
            bundle = pathlib.Path(place, f"bundle-{name}-{kind}")
            bundle.mkdir()
            subprocess.run([program, "spec"], cwd=bundle, check=True, capture_output=True)
            spec = json.loads((bundle / "config.json").read_text(encoding="utf-8"))
            spec["root"] = {"path": root, "readonly": True}
            spec["process"].update(terminal=False, args=command)
            if group.below:
                spec["linux"]["cgroupsPath"] = f"{group.below}/bare"
            (bundle / "config.json").write_text(json.dumps(spec), encoding="utf-8")
            bundles[kind] = bundle
        options = ["--network=none", "--ignore-cgroups", "--platform=ptrace"] if name == "runsc" else []

        def runs(command, program=program, options=options, bundles=bundles, name=name):
            kind = next(k for k, c in PROGRAMS.items() if c == command)
            words = [program, *options, "run", "--bundle", str(bundles[kind]), f"bench-{name}-{os.getpid()}"]
            if name == "crun" and os.path.isdir("/sys/fs/cgroup/unified"):  # which crun refuses
                words = [
                    "unshare",
                    "-m",
                    "sh",
                    "-c",
                    'umount /sys/fs/cgroup/unified && exec "$@"',
                    "sh",
                    *words,
                ]
            return process(words, {"PATH": PATH})

        yield f"{name} run", runs


def others(root, place, group, ends):
    archive = pathlib.Path(place, "root.tar")
    for name in engines.NAMES:
        try:
            path = ends.enter_context(engines.started(name))
        except engines.Absent as why:
            print(f"{name}: {why}", file=sys.stderr)
            continue
        if name == "containerd":
            words = [
                "ctr",
                "--address",
                path,
                "run",
                "--rm",
                "--read-only",
                "--fifo-dir",
                f"{os.path.dirname(path)}/fifo",
                *(["--cgroup", f"{group.below}/ctr"] if group.below else []),
                "--rootfs",
                root,
                "bench",
            ]
            yield "ctr run", lambda command, words=words: process(words + command, {"PATH": PATH})
            continue
        client = shutil.which(name, path=PATH)
        if not client:
            print(f"{name} run: its client is not installed here", file=sys.stderr)
            continue
        if not archive.exists():
            subprocess.run(["tar", "-C", root, "-cf", str(archive), "."], check=True)
        words = [client, "--url" if name == "podman" else "-H", f"unix://{path}"]
        subprocess.run(
            [*words, "import", str(archive), "localhost/bench:1"],
            check=True,
            capture_output=True,
            env={"PATH": PATH, "HOME": place},
        )
        limits = (
            ["--ulimit", "nofile=16384:16384", "--ulimit", "nproc=32768:32768"] if name == "podman" else []
        )
        words += [
            "run",
            "--rm",
            "--network",
            "none",
            *(["--cgroup-parent", group.below] if group.below else []),
            *limits,
            "localhost/bench:1",
        ]
        yield (
            f"{name} run",
            lambda command, words=words: process(words + command, {"PATH": PATH, "HOME": place}),
        )


def measure(options, times, work):
    """Fills both, so that a run that is ended has what it measured."""
    build = pathlib.Path(options.build).resolve()
    toolcage = str(build / "toolcage")
    root = root_of(toolcage, options.image)
    end = time.monotonic() + options.minutes * 60
    with contextlib.ExitStack() as ends:
        place = tempfile.mkdtemp(prefix="toolcage-images-", dir="/var/tmp")
        ends.callback(shutil.rmtree, place, ignore_errors=True)
        group = Group()
        ends.callback(group.close)
        image = root if os.path.isdir(options.image) else options.image
        contenders = [
            *ours(toolcage, build, image, place, ends),
            *bare(root, place, group),
            *([] if options.no_engines else others(root, place, group, ends)),
        ]
        ways = {
            (name, kind): make(command)
            for name, make in contenders
            for kind, command in PROGRAMS.items()
            if kind in options.programs
            and (os.path.exists(root + command[0]) or os.path.islink(root + command[0]))
        }
        times.update((key, []) for key in ways)
        for number in range(options.rounds + 1):  # the first is not counted
            if number > 1 and time.monotonic() > end:
                break
            for key in [key for key in ways if times[key] is not None]:
                try:
                    taken = timed(ways[key])
                except Exception as why:  # whatever a contender fails by, the others go on
                    print(f"{key[0]}, {key[1]}: {str(why).strip()}", file=sys.stderr)
                    times[key] = None
                    continue
                if number:
                    times[key].append(taken)
        for key in [key for key in ways if times[key]]:
            if time.monotonic() > end + 60:
                break
            work[key] = group.work(ways[key], max(3, options.rounds // 3))


def table(title, figures):
    print(title.ljust(36) + "".join(kind.rjust(12) for kind in PROGRAMS))
    for name in dict.fromkeys(name for name, _ in figures):
        print(
            name.ljust(36)
            + "".join(
                (f"{figures[name, kind]:.1f}" if figures.get((name, kind)) else "-").rjust(12)
                for kind in PROGRAMS
            )
        )
    for name in ("crun", "runc", "runsc"):
        for peer in (f"{name} run", "podman run", "docker run", "ctr run"):
            a, b = (f"toolcage, {name}", peer) if peer == f"{name} run" else (peer, f"toolcage, {name}")
            ratios = [
                figures[a, kind] / figures[b, kind]
                if figures.get((a, kind)) and figures.get((b, kind))
                else None
                for kind in PROGRAMS
            ]
            if any(ratios):
                print(
                    f"{a} / {b}".ljust(36)
                    + "".join((f"{ratio:.2f}" if ratio else "-").rjust(12) for ratio in ratios)
                )


def say(times, work, rounds):
    table(
        f"medians of {rounds} rounds, ms",
        {key: statistics.median(values) for key, values in times.items() if values},
    )
    print()
    table("work of processors, ms", work)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # engines that were started end
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--image", default="default")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument(
        "--no-engines", action="store_true", help="leave out podman run, docker run and ctr run"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("bench: the bare runtimes' own specifications need root")
    times, work = {}, {}
    try:
        measure(options, times, work)
    finally:
        if options.json:
            print(
                json.dumps(
                    {
                        f"{name}: {kind}": {"ms": values, "work": work.get((name, kind))}
                        for (name, kind), values in times.items()
                    }
                )
            )
        else:
            say(times, work, max((len(values) for values in times.values() if values), default=0))


main()
