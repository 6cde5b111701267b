#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The conformance cases in a machine, for layers = ["qemu", "process"], ["qemu", "oci"] or ["kata", "process"] (by a stand-in): those that are seen from inside, and those of files, each in
a copy of its own of the stage's tree. One boot for all that share a grant, so that a limit which ends a call has its own script
(ends.py).

usage: clauses.py TOOLCAGE self|ordinary PROBE process|oci [kata]"""

import importlib
import os
import secrets
import shutil
import sys

PROBE, WITHIN = os.path.abspath(sys.argv[3]), sys.argv[4]
MACHINE = "kata" if sys.argv[5:] == ["kata"] else "qemu"
LAYERS = [MACHINE, WITHIN]
WALL = {"process": "a process cage inside", "oci": "a container of crun inside"}[WITHIN]
TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TESTS, "conformance"), TESTS]

from cases import CASES  # noqa: E402
from stage import look, printed  # noqa: E402
from tap import check, finish  # noqa: E402

scene = importlib.import_module("scene_kata" if MACHINE == "kata" else "scene")

TOKEN = secrets.token_hex(16)
TOOL = """[tool.c]
layers = ["%s", "%s"]
image = "small"
filesystem = "none"
memory = {{ max = "64MiB", by = "any" }}
timeout = "240s"
{}
""" % (MACHINE, WITHIN)
# What can be granted beside everything else without changing what the other cases see.
SHARED = ("open_files", "disk")
MARK = "@@"


def is_seen_inside(case):
    words = " ".join(case["run"]) + case["saw"][-1].replace("{token}", "")
    return case["saw"][0] == "says" and "{" not in words and not set(case["grant"]) - {*SHARED, "syscalls"}


def by_grant():
    """[(grant, cases)]: the shared ones together, the others each with those of the same grant."""
    groups = {}
    for case in filter(is_seen_inside, CASES):
        own = {key: value for key, value in case["grant"].items() if key not in SHARED}
        grant, cases = groups.setdefault(str(own), (own, []))
        grant.update(case["grant"])
        cases.append(case)
    return list(groups.values())


# ---- files -----------------------------------------------------------------------------------------------

FILES = """[tool.c]
layers = ["%s", "%s"]
image = "small"
memory = {{ max = "64MiB", by = "any" }}
disk = "8MiB"
timeout = "240s"
workspace = {{ mode = "copy", commit = "always" }}
filesystem = {{ readable = ["{root}/r"], writable = ["{root}/w"], denied = [{denied}] }}
""" % (MACHINE, WITHIN)


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def places(index):
    """The tree of tests/conformance/stage.py, as far as these cases look at it."""
    names = {
        "token": TOKEN,
        "data": f"{ROOT}/r/{index}/data",
        "bin": f"{ROOT}/r/{index}/bin",
        "ws": f"{ROOT}/w/{index}/ws",
        "secret": f"{ROOT}/s/{index}",
    }
    for name in (
        "{data}/file",
        "{data}/denied",
        "{data}/sub/file",
        "{ws}/file",
        "{ws}/denied",
        "{ws}/sub/denied",
        "{secret}/file",
    ):
        put(name.format(**names), TOKEN + "\n")
    os.symlink(names["secret"] + "/file", names["data"] + "/link")
    put(names["ws"] + "/.git/config", "[core]\n")
    os.mkdir(names["ws"] + "/.git/hooks")
    for name in ("bin", "secret"):
        os.makedirs(names[name], exist_ok=True)
        os.link(PROBE_HERE, names[name] + "/probe")
    return names


def happened(case, names, said, before):
    how, what = case["saw"][0], case["saw"][-1].format(**names)
    if how == "says":
        return what in said
    return {
        "exists": os.path.lexists(what),
        "gone": not os.path.lexists(what),
        "changed": look(what) not in (before.get(what), None),
    }[how]


def run_files(cases):
    """All in one boot: what a case may not do, it may do to nobody else's tree either."""
    staged = [(case, places(index)) for index, case in enumerate(cases)]
    before = {
        path: look(path)
        for case, names in staged
        for path in [case["saw"][-1].format(**names)]
        if case["saw"][0] == "changed"
    }
    denied = [path.format(**names) for case, names in staged for path in case["grant"].get("denied", [])]
    script = "".join(
        f"echo {MARK}; /bin/probe {' '.join(word.format(**names) for word in case['run'])} 2>&1\n"
        for case, names in staged
    )
    more = FILES.format(root=ROOT, denied=", ".join(f'"{path}"' for path in denied))
    answer = scene.call(script + "true", more=more, tool="c")
    check(
        answer.code == 0 and answer.json.get("layers") == LAYERS,
        f"a machine runs {len(cases)} cases of files",
        answer,
    )
    said = printed(answer.json.get("stdout", {"text": ""})).split(MARK + "\n")[1:]
    check(len(said) == len(cases), "every case finishes", said)
    for (case, names), text in zip(staged, said):
        held = answer.json["enforcement"].get(case["clause"])
        check(
            happened(case, names, text, before) == case["allowed"] and bool(text) and held,
            f"{case['clause']}: {case['name']} [{'allowed' if case['allowed'] else 'refused'}]",
            (text, held),
        )


def is_of_files(case):
    return case["clause"].startswith("fs.") and not is_seen_inside(case)


# ---- all the others --------------------------------------------------------------------------------------


def run(grant, cases):
    script = "".join(f"echo {MARK}; /bin/probe {' '.join(case['run'])} 2>&1\n" for case in cases)
    lines = "\n".join(f"{key} = {value}" for key, value in grant.items())
    answer = scene.call(script + "true", more=TOOL.format(lines), tool="c")
    check(
        answer.code == 0 and answer.json.get("layers") == LAYERS, f"a machine runs {len(cases)} cases", answer
    )
    check(WALL in answer.json["enforcement"]["priv.none"], "and names both walls", answer.json["enforcement"])
    said = printed(answer.json.get("stdout", {"text": ""})).split(MARK + "\n")[1:]
    check(len(said) == len(cases), "every case finishes", said)
    for case, text in zip(cases, said):
        good = (case["saw"][1].replace("{token}", TOKEN) in text) == case["allowed"] and bool(text)
        held = answer.json["enforcement"].get(case["clause"])
        check(
            good and held,
            f"{case['clause']}: {case['name']} [{'allowed' if case['allowed'] else 'refused'}]",
            (text, held),
        )


os.environ["CALLERS"] = TOKEN
scene.begin(sys.argv[2], PROBE)
for its_grant, its_cases in by_grant():
    run(its_grant, its_cases)
PROBE_HERE = os.path.abspath("probe")
shutil.copy(PROBE, PROBE_HERE)
ROOT = os.path.abspath("stage")
run_files([case for case in CASES if is_of_files(case)])
refused = scene.call("true", more=TOOL.format('unix_sockets = "own"'), tool="c")
check(
    refused.code == 126 and refused.error.get("subject") == "unix_sockets",
    "net.unix: what no machine of this kind holds is refused by name",
    refused,
)
if WITHIN == "oci":
    kept = [
        scene.call(
            "cat /proc/sys/kernel/random/uuid", more=TOOL.format(""), tool="c", backend="snapshot = true"
        )
        for _ in range(2)
    ]
    check(
        all(one.code == 0 for one in kept) and kept[0].out != kept[1].out,
        "a machine that is kept goes on for a container, too",
        kept,
    )
    os.unlink(os.path.join(scene.store.store(), "guest/runtime"))
    without = scene.call("true", more=TOOL.format(""), tool="c")
    check(
        without.code == 125
        and without.error.get("subject") == "crun"
        and "build guest" in without.error.get("hint", ""),
        "a guest that was built where there is no runtime is refused by name",
        without,
    )
check(not scene.monitors(), "nothing is left", scene.monitors())
finish()
