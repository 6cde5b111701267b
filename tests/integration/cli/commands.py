#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Which program a command names."""

import os
import shutil
import subprocess

from cli import TOOLCAGE, Place, check, finish, require_user

FIXED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MEMORY = 'memory = { max = "256MiB", by = "any" }\n'


def said(place, name, args, code, *words, **more):
    answer = place.run(*args, **more)
    text = answer.err + answer.out
    check(answer.code == code and all(word in text for word in words), name, f"{answer}\nnot all of {words}")
    return answer


# ---- PATH ----


def search_path(place):
    """Directories of the caller's PATH that every cage shows are on the cage's, in the same order."""
    os.symlink("/usr/lib", os.path.join(place.project, "lib"))
    rows = [
        ("none", "/usr/bin:/bin", FIXED),
        ("one before", "/usr/lib:/usr/bin", f"/usr/lib:{FIXED}"),
        ("one after", "/usr/bin:/usr/lib/:/bin:/usr/lib", f"{FIXED}:/usr/lib"),
        ("a missing one", "/usr/bin:/usr/no/such", FIXED),
        ("a file", "/usr/bin/env:/usr/bin", FIXED),
        ("relative ones", "usr/lib::.:/usr/bin", FIXED),
        ("others", f"{place.project}:/etc:/tmp:/usr/bin", FIXED),
        ("a link to one", f"{place.project}/lib:/usr/bin", FIXED),
        ("a way out", "/usr/bin:/usr/../etc", FIXED),
    ]
    for name, callers, wanted in rows:
        answer = place.run("exec", "sh", "-c", 'echo "$PATH"', env={"PATH": callers})
        check(answer.out == wanted + "\n", f"PATH: {name}", answer)
    answer = place.run(
        "exec", "-e", "PATH=/usr/bin", "sh", "-c", 'echo "$PATH"', env={"PATH": "/usr/lib:/usr/bin"}
    )
    check(answer.out == "/usr/bin\n", "PATH: one that the call sets", answer)
    policy = place.write("path.toml", f'[tool.t]\ncommand = ["sh", "-c", \'echo "$PATH"\']\n{MEMORY}')
    answer = place.run("call", "--policy", policy, "t", env={"PATH": "/usr/lib:/usr/bin"})
    check(answer.out == FIXED + "\n", "PATH: of a tool it is fixed", answer)


def below_system(place):
    """A program in a subdirectory of a system directory; where none can be made, one of git's."""
    made = f"/usr/local/toolcage-test-{os.getpid()}"
    core = "/usr/lib/git-core"
    name, directory = "git-status", core
    try:
        os.makedirs(made + "/bin")
        directory, name = made + "/bin", "toolcage-test-program"
        with open(
            os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8"
        ) as out:
            out.write("#!/bin/sh\necho usage: ran\nexit 129\n")
    except OSError:
        pass
    try:
        if not os.access(f"{directory}/{name}", os.X_OK):
            print(f"# not tried here: no {core}/{name}, and {made} cannot be made")
            return
        path = {"PATH": f"{os.environ['PATH']}:{directory}"}
        said(place, "it is found", ["exec", name, "-h"], 129, "usage: ", env=path)
        said(place, "also by a child", ["exec", "sh", "-c", f"{name} -h"], 129, "usage: ", env=path)
        said(
            place, "also by a preset", ["exec", "--preset", "read-only", name, "-h"], 129, "usage: ", env=path
        )
        policy = place.write(
            "below.toml",
            f'[tool.bare]\ncommand = ["{name}", "-h"]\n{MEMORY}'
            f'[tool.named]\ncommand = ["{name}", "-h"]\nprograms = ["{name}"]\n{MEMORY}',
        )
        said(place, "by programs", ["call", "--policy", policy, "named"], 129, "usage: ", env=path)
        said(
            place,
            "a tool is told of programs",
            ["call", "--policy", policy, "bare"],
            127,
            "`programs`",
            env=path,
        )
        answer = said(
            place, "and so does check", ["policy", "check", policy], 1, f'programs = ["{name}"]', env=path
        )
        check(answer.out.count("cannot start") + answer.err.count("cannot start") == 1, "once", answer)
        policy = place.run("learn", "sh", "-c", f"{name} -h >/dev/null; true", env=path)
        check(policy.code == 0 and f'programs = ["{name}"]' in policy.out, "learn names it", policy)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def main():
    require_user()
    probe = subprocess.run([TOOLCAGE, "--version"], capture_output=True, check=False)
    check(probe.returncode == 0, "the program runs", probe)
    for part in (search_path, below_system):
        with Place() as place:
            part(place)
    finish()


main()
