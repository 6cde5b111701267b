#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The conformance cases of a WebAssembly module in a machine, for layers = ["qemu", "wasm"] or ["qemu", "oci", "wasm"]: those that need nothing of the
host's, and those of files; and what a guest lacks. One machine stands ready for all of them, so that none boots but the first.

usage: inside_modules.py TOOLCAGE self|ordinary brief|all PROBE.wasm WHEELS LAYER..."""

import glob
import os
import secrets
import shutil
import subprocess
import sys

EXTENT, PROBE, WHEELS, WITHIN = (
    sys.argv[3],
    os.path.abspath(sys.argv[4]),
    os.path.abspath(sys.argv[5]),
    sys.argv[6:],
)
LAYERS = ["qemu", *WITHIN]
WALL = {
    "wasm": "a process cage inside, and a WebAssembly module in that",
    "oci": "a container of crun inside, and a WebAssembly module in that",
}[WITHIN[0]]
sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "conformance"),
)

import modules as modules_of  # noqa: E402
import scene  # noqa: E402
from cases import CASES  # noqa: E402
from scene import check, finish, image, skip_all  # noqa: E402

TOKEN = secrets.token_hex(16)
POLICY = """
[backend.qemu]
emulation = true
snapshot = true
[tool.m]
layers = [{layers}]
module = "{module}"
memory = {{ max = "64MiB", by = "any" }}
timeout = "240s"
workspace = {{ mode = "copy", commit = "always" }}
filesystem = {filesystem}
{more}
"""
SHARED = ("open_files", "disk")
BRIEF = ("env.clean", "net.none", "proc.own")  # a boot is all that differs from case to case


def call(*words, module=PROBE, files='"none"', more=""):
    with open("policy.toml", "w", encoding="utf-8") as out:
        out.write(
            POLICY.format(
                layers=", ".join(f'"{name}"' for name in LAYERS), module=module, filesystem=files, more=more
            )
        )
    done = subprocess.run(
        [scene.TOOLCAGE, "exec", "--policy", "policy.toml", "--json", "--tool", "m", "--", "probe", *words],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=1000,
    )
    return scene.store.Answer(done)


def is_seen_inside(case):
    words = " ".join(case["run"]) + case["saw"][-1].replace("{token}", "")
    return case["saw"][0] == "says" and "{" not in words and not set(case["grant"]) - {*SHARED}


def said(answer):
    return answer.json.get("stdout", {}).get("text", "") + answer.json.get("stderr", {}).get("text", "")


def play(case):
    answer = call(*case["run"], more="\n".join(f"{key} = {value}" for key, value in case["grant"].items()))
    allowed = case["allowed"] and (case["clause"], case["name"]) not in modules_of.STRICTER
    held = answer.json.get("enforcement", {}).get(case["clause"])
    good = (case["saw"][1].replace("{token}", TOKEN) in said(answer)) == allowed
    check(
        answer.json.get("layers") == LAYERS and good and held,
        f"{case['clause']}: {case['name']} [{'allowed' if allowed else 'refused'}]",
        answer,
    )


def refuse_import(case):
    """A module that asks for what it would need is refused, naming that."""
    name = modules_of.IMPORTS[case["run"][0]]
    with open("asking.wasm", "wb") as out:
        out.write(modules_of.asking_for(name))
    answer = call(*case["run"], module=os.path.abspath("asking.wasm"))
    check(
        answer.code == modules_of.REFUSED
        and answer.json.get("status") == "failed"
        and f"`{name}`" in said(answer),
        f"{case['clause']}: {case['name']}: a module cannot ask for it",
        answer,
    )


def of_files():
    """Reads, writes and what is refused of both, in a tree of the host's."""
    for path in ("data/file", "data/denied", "out/file", "secret/file"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(TOKEN + "\n")
    here = os.getcwd()
    files = f'{{ readable = ["{here}/data"], writable = ["{here}/out"], denied = ["{here}/data/denied"] }}'
    for words, allowed in (
        (("read", "data/file"), True),
        (("read", "data/denied"), False),
        (("read", "secret/file"), False),
        (("read", "/etc/passwd"), False),
    ):
        answer = call(words[0], os.path.join(here, words[1]), files=files)
        check(
            (TOKEN in said(answer)) == allowed
            and (allowed or "root:" not in said(answer))
            and "WASI" in answer.json["enforcement"]["fs.read"],
            f"fs.read: {words[1]} [{'allowed' if allowed else 'refused'}]",
            answer,
        )
    written = call("write", f"{here}/out/new", files=files)
    check(
        written.code == 0 and os.path.exists("out/new"),
        "fs.write: a new file of the workspace comes back to the host",
        written,
    )
    kept = call("write", f"{here}/data/new", files=files)
    check(not os.path.exists("data/new"), "fs.write: what is only readable stays as it is", kept)


os.environ["CALLERS"] = TOKEN
wheel = glob.glob(os.path.join(WHEELS, "wasmtime-*.whl"))
if not wheel:
    skip_all("no engine for modules is here: tools/clients fetches it")
scene.begin(sys.argv[2])
shutil.copy(PROBE, "probe.wasm")
PROBE = os.path.abspath("probe.wasm")
without = call("nothing")
check(
    without.code == 125
    and without.error.get("subject") == "engine"
    and "build guest" in without.error.get("hint", ""),
    "a guest that was built where there is no engine is refused by name",
    without,
)
done = subprocess.run(
    [scene.TOOLCAGE, "wasm", "install", wheel[0]], capture_output=True, text=True, check=False
)
check(done.returncode == 0, "the engine is installed", done)
guest = image("build", "--kernel", os.environ.get("TOOLCAGE_GUEST_KERNEL", "/"), "guest")
check(guest.code == 0 and "Wasmtime, for" in guest.err, "and a guest is made that has it", guest)
one = call("nothing")
check(
    one.code == 0 and one.json["layers"] == LAYERS and one.json["backend"] == "qemu",
    "a module runs in a machine",
    one,
)
check(WALL in one.json["enforcement"]["priv.none"], "and every wall is named", one.json.get("enforcement"))
refused = call("nothing", more='image = "small"')
check(
    refused.code == 126 and refused.error.get("subject") == "image",
    "an image, which no module has, is refused by name",
    refused,
)
refused = call("nothing", more='network = ["127.0.0.1:80"]')
check(refused.code == 126 and refused.error.get("subject") == "network", "so is a network", refused)
sides = {}
for its_case in CASES:
    sides.setdefault((its_case["clause"], its_case["allowed"]), []).append(its_case)
asked = set()
for side, cases in sides.items():
    if EXTENT == "brief" and side[0] not in BRIEF:
        continue
    inside = [case for case in cases if is_seen_inside(case) and case["run"][0] not in modules_of.IMPORTS]
    for its_case in inside[:1]:
        play(its_case)
    for its_case in [case for case in cases if case["run"][0] in modules_of.IMPORTS and not case["allowed"]][
        :1
    ]:
        if modules_of.IMPORTS[its_case["run"][0]] not in asked:
            asked.add(modules_of.IMPORTS[its_case["run"][0]])
            refuse_import(its_case)
of_files()
check(not scene.monitors(), "nothing is left", scene.monitors())
finish()
