#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What people type first: make and make try build what runs and no test; make try is quick, and only a trial; make install goes
where it is told."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tap import check, finish

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def planned(*words):
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "-n", *words, f"BUILD={build}"],
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def steps(target):
    return subprocess.run(
        ["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=False
    ).stdout.splitlines()


for words in ((), ("try",)):
    plan = planned(*words)
    check(
        f"ninja -C {build} programs" in plan and f"ninja -C {build}\n" not in plan,
        f"make {' '.join(words)} builds what runs",
        plan,
    )
# the first make of a fresh checkout
with tempfile.TemporaryDirectory() as fresh:
    for name in ("Makefile", "tools"):
        os.symlink(root / name, pathlib.Path(fresh) / name)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "BUILD"))}

    def first(*words):
        return subprocess.run(
            ["make", "-n", *words], cwd=fresh, env=environ, capture_output=True, text=True, check=False
        ).stdout

    QUICK = "setup -Doptimization=0 -Ddebug=false -Dtests=false build-try"
    plan = first("try")
    check(
        QUICK in plan
        and "ninja -C build-try programs" in plan
        and plan.endswith("tools/try build-try\n")
        and "tools/optional" not in plan,
        "make try makes a quick build of its own",
        plan,
    )
    for words in ((), ("all",), ("install",)):
        plan = first(*words)
        check(
            "setup  build " in plan and "-Doptimization" not in plan and "build-try" not in plan,
            f"make {' '.join(words)} makes a real one",
            plan,
        )
    (pathlib.Path(fresh) / "build").mkdir()
    (pathlib.Path(fresh) / "build/build.ninja").touch()
    plan = first("try")
    check(
        "ninja -C build programs" in plan and plan.endswith("tools/try build\n") and "build-try" not in plan,
        "make try takes the build that is there",
        plan,
    )
programs = steps("programs")
check(
    programs and not [step for step in programs if "tests/unit" in step or "tests/fuzz" in step],
    "that is no test",
    [step for step in programs if "tests/" in step][:3],
)
made = " ".join(programs)
catalog = list(build.glob("catalog/*.wasm"))  # built by now, where it can be
missing = [module.name for module in catalog if module.name not in made] + [
    name
    for name in ("toolcage-helper", "toolcage-egress", "toolcage-attacks", "libtoolcage.so")
    if name not in made
]
check(not missing, "and all that a call needs", missing)
with tempfile.TemporaryDirectory() as empty:
    for place, words in ((empty, "clang, lld and wasi-libc"), (build, "toolcage wasm install")):
        said = subprocess.run(
            [root / "tools/optional", place],
            env={**os.environ, "XDG_STATE_HOME": empty},
            capture_output=True,
            text=True,
            check=False,
        )
        check(said.returncode == 0 and words in said.stdout, f"make tells of {words}", said)
check(f"tools/optional {build}" in planned(), "after a build", planned())
plan = planned("check")
check(
    plan.index("tools/deps build test try")
    < plan.index(f"setup --reconfigure {build}")
    < plan.index(f"ninja -C {build}\n"),
    "make check looks for what an earlier make did not find",
    plan,
)
for name in ("PREFIX", "prefix"):
    plan = planned("install", f"{name}=/opt/some where")
    check(
        '-Dprefix="/opt/some where"' in plan and plan.index("-Dprefix") < plan.index(" install -C "),
        f"make install {name}=… goes there",
        plan,
    )
targets = subprocess.run([root / "tools/install-targets", build], capture_output=True, text=True, check=False)
check(
    {"src/toolcage", "src/toolcage-helper", "toolcage.bash"} <= set(targets.stdout.split())
    and "src/libtoolcage.so." in targets.stdout
    and "test" not in targets.stdout,
    "make install builds what it installs, and no test",
    targets,
)
check("uninstall" in planned("uninstall"), "make uninstall is Ninja's", planned("uninstall"))
check('-n "" ]; then' in planned("install"), "without one it stays where it was", planned("install"))
# What install does to builds of several kinds, by a meson that answers for them and writes down what it is asked.
MESON = """#!/bin/sh
echo "$@" >>"$LOG"
case "$*" in
introspect*--targets) echo '[]' ;;
introspect*) echo "$OPTIONS" ;;
esac
"""


def installed(options, *words):
    with tempfile.TemporaryDirectory() as place:
        there = pathlib.Path(place)
        (there / "build.ninja").touch()
        meson = there / "meson"
        meson.write_text(MESON, encoding="utf-8")
        meson.chmod(0o755)
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        environ |= {
            "LOG": str(there / "log"),
            "OPTIONS": json.dumps([{"name": name, "value": value} for name, value in options.items()]),
        }
        done = subprocess.run(
            ["make", "install", f"BUILD={place}", f"MESON={meson}", "NINJA=true", "DESTDIR=/nowhere", *words],
            cwd=root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        asked = (there / "log").read_text(encoding="utf-8").replace(place, "BUILD").splitlines()
        return done, [line for line in asked if not line.startswith("introspect")]


USUAL = {"b_sanitize": "none", "optimization": "2", "buildtype": "debugoptimized"}
DEBUG = {"b_sanitize": "none", "optimization": "0", "buildtype": "debug"}
PLAIN = {"b_sanitize": "none", "optimization": "plain", "buildtype": "plain"}
INSTALL = "install -C BUILD --no-rebuild"
for told, options, words, want in (
    ("a usual build is installed as it is", USUAL, (), [INSTALL]),
    ("and stripped where the packager says so", USUAL, ("STRIP=1",), [f"{INSTALL} --strip"]),
    ("and not where it says no", USUAL, ("STRIP=0",), [INSTALL]),
    ("a debug build is optimised first", DEBUG, (), ["configure BUILD -Dbuildtype=debugoptimized", INSTALL]),
    ("a packager's own flags stay", PLAIN, (), [INSTALL]),
    (
        "another kind is built where it is asked for",
        USUAL,
        ("BUILDTYPE=release",),
        ["configure BUILD -Dbuildtype=release", INSTALL],
    ),
    ("no sanitizers, as a newer Meson says it", {**USUAL, "b_sanitize": []}, (), [INSTALL]),
    ("and only then", USUAL, ("BUILDTYPE=debugoptimized",), [INSTALL]),
):
    result, plan = installed(options, *words)
    check(result.returncode == 0 and plan == want, f"make install: {told}", f"{plan}\n{result}")
result, plan = installed({**USUAL, "b_sanitize": "address,undefined"})
check(
    result.returncode != 0 and not plan and "sanitizers" in result.stderr,
    "make install: a build with sanitizers is refused",
    f"{plan}\n{result}",
)
finish()
