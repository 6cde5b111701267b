#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`explain` and the cage never disagree: small policies made by chance over a small tree, every access asked of
both.

usage: agree.py --toolcage PATH --probe PATH [--as-user UID] [--count N] [--seed N]

The seed is printed; without --seed it is $TOOLCAGE_TEST_SEED, or always the same. Asked are reading, writing and running files that are
there, and making new ones, below granted, moved, denied, system and private paths. Not asked: names below a
denied one that are not there yet in a writable directory, because a mask covers existing names only, and the result
says so; writing beside a file that is granted writable by itself, because its directory is private storage; and
files that the kernel itself keeps from their reader (/proc/1/mem): explain speaks of grants."""

import argparse
import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tap import become, check, note, plan, seed


class Library:
    """Enough of the library to explain one access after the other."""

    def __init__(self, toolcage):
        build = os.path.dirname(os.path.realpath(toolcage))
        self.lib = ctypes.CDLL(os.path.join(build, "libtoolcage.so.0"))
        for name in ("message", "report"):
            getattr(self.lib, f"toolcage_error_{name}").restype = ctypes.c_char_p
            getattr(self.lib, f"toolcage_error_{name}").argtypes = [ctypes.c_void_p]
        for name in ("toolcage_policy_unref", "toolcage_call_unref", "toolcage_free"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
            getattr(self.lib, name).restype = None
        self.engine = self.made("toolcage_engine_new")

    def made(self, name, *args):
        got, err = ctypes.c_void_p(), ctypes.c_void_p()
        if getattr(self.lib, name)(*args, ctypes.byref(got), ctypes.byref(err)) < 0:
            raise ValueError(self.lib.toolcage_error_report(err).decode())
        return got

    def verdicts(self, policy_file, accesses, tool="t", program=None):
        policy = self.made("toolcage_policy_load_file", policy_file.encode())
        call = self.made("toolcage_call_new", self.engine, policy, tool.encode())
        argv = (ctypes.c_char_p * 2)(program and program.encode(), b"many")
        err = ctypes.c_void_p()
        if program:
            assert self.lib.toolcage_call_set_command(call, ctypes.c_size_t(2), argv, ctypes.byref(err)) == 0
        try:
            return [self.verdict(call, access) for access in accesses]
        finally:
            self.lib.toolcage_call_unref(call)
            self.lib.toolcage_policy_unref(policy)

    def verdict(self, call, access):
        text = self.made("toolcage_call_explain_json", call, access.encode())
        try:
            return json.loads(ctypes.string_at(text))["verdict"]
        finally:
            self.lib.toolcage_free(text)


class Tree:
    def __init__(self, probe):
        self.root = tempfile.mkdtemp(prefix="toolcage-agree-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        self.bin, self.top = os.path.join(self.root, "bin"), os.path.join(self.root, "t")
        os.mkdir(self.bin)
        self.probe = shutil.copy(probe, os.path.join(self.bin, "probe"))
        os.chmod(self.probe, 0o755)
        self.directories, self.files = [], []
        self.grow(self.top, 0)

    def grow(self, directory, depth):
        os.mkdir(directory)
        self.directories.append(directory)
        for name in ("f", "g"):
            path = os.path.join(directory, name)
            shutil.copy("/bin/true", path)
            os.chmod(path, 0o755)
            self.files.append(path)
        for name in ("a", "b") if depth < 2 else ():
            self.grow(os.path.join(directory, name), depth + 1)


def policy_text(tree, dice):
    def some(most, pool):
        return dice.sample(pool, dice.randint(0, most))

    below = [path for path in tree.directories if path != tree.top]
    # trees of the host that the tool sees elsewhere
    moved = {
        place: source
        for place, source in zip(("/data", "/opt/tool", "/srv/x/y"), dice.sample(tree.directories, 3))
        if dice.random() < 0.3
    }
    readable = some(3, tree.directories + tree.files[:6])
    writable = [path for path in some(2, below + tree.files[6:12]) if path not in readable]
    denied = some(3, below + tree.files) + [
        place + tail for place in moved for tail in ("/f", "/a/g", "/later") if dice.random() < 0.25
    ]
    entries = [json.dumps(path) for path in [tree.bin] + readable] + [
        f"{{ path = {json.dumps(place)}, from = {json.dumps(source)} }}" for place, source in moved.items()
    ]
    text = f'[tool.t]\nbackend = "process"\nmemory = {{ max = "256MiB", by = "any" }}\nfilesystem.readable = [{", ".join(entries)}]\n'
    return (
        text + f"filesystem.writable = {json.dumps(writable)}\nfilesystem.denied = {json.dumps(denied)}\n",
        writable,
        denied,
        moved,
    )


# What needs no grant, and what no grant of these policies gives.
ALWAYS = [
    "read /usr/bin/env",
    "write /usr/bin/env",
    "exec /bin/true",
    "create /usr/new",
    "create /tmp/new",
    "create /dev/shm/new",
    "read /etc/passwd",
    "write /etc/passwd",
    "read /etc/shadow",
    "read /root/.profile",
    "read /proc/self/status",
    "write /dev/null",
    "read /dev/urandom",
    "read /dev/mem",
    "read /var/log/wtmp",
    "create /home/new",
    "read /sys/kernel/notes",
]


def questions(tree, dice, writable, denied, moved):
    """Accesses as the probe spells them, with what explain is asked."""
    asked = []
    for path in dice.sample(tree.files, 8):
        asked += [(f"{kind} {path}", f"{kind} {path}") for kind in ("read", "write", "exec")]
    for directory in dice.sample(tree.directories, 3):
        path = os.path.join(directory, f"new-{dice.randrange(1 << 30)}")
        below_denied = any(path == name or path.startswith(name + "/") for name in denied)
        if not below_denied or not any(path.startswith(name + "/") for name in writable):
            asked.append((f"create {path}", f"write {path}"))
    for place in moved:
        for tail in dice.sample(("/f", "/g", "/a/f", "/a/g", "/a/b/f", "/b/f"), 3):
            asked += [
                (f"{kind} {place}{tail}", f"{kind} {place}{tail}")
                for kind in ("read", "write", "exec")
                if kind == "write" or os.path.exists(moved[place] + tail)
            ]
        asked.append((f"create {place}/later", f"write {place}/later"))
    asked += [(ask, ask.replace("create ", "write ")) for ask in dice.sample(ALWAYS, 4)]
    return asked


def private(access, writable):
    """Is something to be written in the directory of a file that is granted writable by itself?"""
    kind, path = access.split(" ", 1)
    drawers = [os.path.dirname(name) for name in writable if os.path.isfile(name)]
    return kind in ("write", "create") and any(path.startswith(name + "/") for name in drawers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("--probe", required=True, type=os.path.abspath)
    parser.add_argument("--as-user", type=int)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.as_user is not None:
        become(options.as_user, options.toolcage)
    os.umask(0o022)
    tree, dice = Tree(options.probe), random.Random(seed(1) if options.seed is None else options.seed)
    try:
        return compare(options, tree, dice)
    finally:
        shutil.rmtree(tree.root, ignore_errors=True)


def compare(options, tree, dice):
    library = Library(options.toolcage)
    policy_file = os.path.join(tree.root, "policy.toml")
    ran = asked = allowed = 0
    wrong, refused = [], {}
    for _ in range(options.count):
        text, writable, denied, moved = policy_text(tree, dice)
        with open(policy_file, "w", encoding="utf-8") as file:
            file.write(text)
        pairs = questions(tree, dice, writable, denied, moved)
        verdicts = library.verdicts(policy_file, [question for _, question in pairs], program=tree.probe)
        done = subprocess.run(
            [
                options.toolcage,
                "exec",
                "--policy",
                policy_file,
                "--tool",
                "t",
                "--cwd",
                "/",
                "--json",
                "--",
                tree.probe,
                "many",
            ],
            input="\n".join(access for access, _ in pairs).encode() + b"\n",
            capture_output=True,
            cwd="/",
            env={"HOME": tree.root, "PATH": "/usr/bin:/bin"},
            timeout=60,
            check=False,
        )
        result = json.loads(done.stdout)
        if result["status"] in ("denied", "error"):
            reason = f"{result['error']['code']} {result['error']['stage']}"
            refused.setdefault(reason, []).append(result["error"]["message"] + ": " + text)
            continue
        answers = result["stdout"]["text"].strip()
        assert len(answers) == len(pairs), (result, len(pairs))
        ran += 1
        for (access, _), verdict, answer in zip(pairs, verdicts, answers):
            asked += 1
            allowed += answer == "1"
            if verdict["allowed"] != (answer == "1") and (
                verdict["allowed"] or not private(access, writable)
            ):
                wrong.append(f"{access}: explain says {verdict}, the cage {answer}\n{text}")
    note(
        f"{ran} policies of {options.count}, {asked} accesses, {allowed} of them allowed; refused: "
        + "; ".join(f"{reason}: {len(them)} ({them[0]})" for reason, them in refused.items())
    )
    check(not wrong, "explain and the cage agree on every access", "\n".join(wrong[:4]))
    enough = ran >= options.count * 2 // 3 and allowed > asked // 20 and allowed < asked
    check(enough, "enough policies ran, with accesses of both kinds")
    compare_arguments(options, tree, dice, library, policy_file)
    return plan()


def bounds_text(tree, dice):
    """A policy with two tools, whose arguments are bound to directories and files by chance."""
    below = [path for path in tree.directories if path != tree.top]
    bounds = {"read": dice.sample(below, 2), "write": dice.sample(below + tree.files, 2)}
    denied = dice.sample(below + tree.files, 2)
    text = ""
    for kind in ("read", "write"):
        text += (
            f'[tool.{kind}]\ncommand = [{json.dumps(tree.probe)}, "{kind}", "{{p}}"]\nbackend = "process"\n'
            f"arguments.p = {{ read = {json.dumps(bounds['read'])}, write = {json.dumps(bounds['write'])} }}\n"
            f"filesystem.readable = {json.dumps([tree.bin] + dice.sample(below, 1))}\n"
            f"filesystem.denied = {json.dumps(denied)}\n"
        )
    return text


def compare_arguments(options, tree, dice, library, policy_file):
    """Without arguments, explain allows what some argument allows: each path is asked about, and given to a call."""
    wrong, answers = [], []
    for _ in range(max(options.count // 20, 5)):
        text = bounds_text(tree, dice)
        with open(policy_file, "w", encoding="utf-8") as file:
            file.write(text)
        for kind in ("read", "write"):
            paths = dice.sample(tree.files, 3)
            verdicts = library.verdicts(policy_file, [f"{kind} {path}" for path in paths], tool=kind)
            for path, verdict in zip(paths, verdicts):
                done = subprocess.run(
                    [options.toolcage, "call", "--policy", policy_file, kind, json.dumps({"p": path})],
                    capture_output=True,
                    cwd="/",
                    env={"HOME": tree.root, "PATH": "/usr/bin:/bin"},
                    timeout=60,
                    check=False,
                )
                answers.append(done.stdout.startswith(b"yes"))
                if verdict["allowed"] != answers[-1]:
                    wrong.append(f"{kind} {path}: explain says {verdict}, the call {done}\n{text}")
    note(f"{len(answers)} calls with arguments, {sum(answers)} of them allowed")
    check(not wrong, "explain without arguments allows what an argument grants", "\n".join(wrong[:4]))
    check(0 < sum(answers) < len(answers), "arguments were granted and refused")


if __name__ == "__main__":
    sys.exit(main())
