#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A command line, and so its helper, that may open so many files and no more, for every number up to enough.

usage: few.py --cli C --walls W [--user ordinary]

Where they do not suffice, the answer says so and what to do. Where they do, the cage is whole, and what it refused is
listed: the descriptor for that comes last.
"""

import argparse
import json
import os
import resource
import subprocess

import scene
from scene import check

MOST = 64
REFUSED = ["exec", "--json", "--", "unshare", "--user", "true"]


def run(options, stage, most, arguments):
    stage.reset()
    done = subprocess.run(
        [options.cli, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=stage.environ,
        cwd=stage.bin,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def refusal(code, result, stderr):
    """What is wrong with an answer that no tool gave."""
    if result is None:
        return [] if code in (125, 126, 127) and stderr else [f"{code}: {stderr!r}"]
    error = result["error"] or {}
    good = result["status"] in ("error", "denied") and "open files" in error.get("hint", "")
    return [] if good else [f"{result['status']}: {error}"]


def again(sufficed, options, stage, most, words):
    """Threads of the helper may want one at once by chance. The first number that suffices does so three times in a row;
    where fewer sufficed, it is asked up to three times."""
    for _ in range(3):
        code, result, stderr = run(options, stage, most, words)
        if (code in (0, 1)) == bool(sufficed):
            break
    return code, result, stderr


def main():
    parser = argparse.ArgumentParser()
    for name in ("cli", "walls"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--user", default="self")
    options = parser.parse_args()
    scene.become(options.user)
    with scene.Scene(options.walls) as stage:
        stage.trust(options.cli)
        enough = {"auto": [], "bind": [], "refused": []}
        for most in range(4, MOST):
            for tool in ("auto", "bind"):
                code, result, stderr = again(enough[tool], options, stage, most, ["call", "--json", tool])
                if result and result["status"] == "ok":
                    enough[tool].append(most)
                    # the policy's own limit cannot be higher than that
                    said = result["stdout"]["text"]
                    wrong = [] if said in ("caged\n", " open-files\n") else [said]
                    wrong += [] if result["changes"] else ["its change is not listed"]
                else:
                    wrong = refusal(code, result, stderr)
                wrong += scene.unreported(stage, tool, result) if result else []
                wrong += stage.canaries()
                check(not wrong, f"{most} files, a tool in mode {tool}: {code}", "\n".join(wrong))
            code, result, stderr = again(enough["refused"], options, stage, most, REFUSED)
            if code == 1:
                enough["refused"].append(most)
                wrong = (
                    []
                    if "unshare" in [denial["target"] for denial in result["denials"]]
                    else [f"not listed: {result}"]
                )
            else:
                wrong = refusal(code, result, stderr)
            check(not wrong, f"{most} files, a refused call: {code}", "\n".join(wrong))
        # who has no descriptor for it leaves the removal of a layer to a later call
        check(not stage.layers(), "no layer of an overlay is left by calls that suffice", stage.layers())
        for name, numbers in enough.items():
            check(
                numbers and numbers == list(range(numbers[0], MOST)),
                f"{name}: from {numbers[:1]} on they suffice",
                numbers,
            )
    scene.finish()


if __name__ == "__main__":
    main()
