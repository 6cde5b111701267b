#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Runs the conformance cases on a backend, and draws the matrix of backends from real runs.

usage: run.py --toolcage PATH --probe PATH [--backend NAME] [--engine WHEELS] [--runsc PATH] [--as-user UID] [--only TEXT] [--brief]
       run.py --toolcage PATH --probe PATH --matrix > docs/backends.md

A clause that this machine or the backend cannot enforce must be refused, naming the clause; then its cases
are skipped with the reason."""

import argparse
import contextlib
import ctypes  # before privileges go: afterwards its directory may be out of reach
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

if "--patience" in sys.argv[:-1]:  # read where the cases are made
    os.environ["TOOLCAGE_TEST_PATIENCE"] = sys.argv[sys.argv.index("--patience") + 1]

import modules
from cases import CASES, STRICTER
from stage import Stage
import engines
import ready_host
import runsc
from tap import become, check, plan, skip, skip_all

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BACKENDS = ["process", "oci", "podman", "docker", "containerd", "gvisor"]  # of the matrix
NEEDS = {
    "net.allow": {"network": '["example.com:443"]'},
    "net.inspect": {"network": '[{ host = "example.com", paths = ["/v1"] }]'},
    "net.secret": {
        "network": '["example.com:443"]',
        "secrets.KEY": '{ from = "env:PATH", hosts = ["example.com:443"], header = "X: \\u007bsecret}" }',
    },
    "limit.memory": {"memory": '"64MiB"'},
    "limit.cpus": {"cpus": "0.5"},
}
NO_CAGE = "no cage can be built here"


def clauses():
    """Names and texts of the closed list, in order."""
    with open(os.path.join(ROOT, "src/policy/clauses.h"), encoding="utf-8") as file:
        text = file.read()
    return re.findall(r'X\([A-Z_]+, "([a-z._]+)", [01],\s*(?:\\\s*)?"([^"]+)"\)', text)


def broken_clauses(options, backend):
    """What this machine cannot hold, with reasons; each must be refused in a call that needs it."""
    done = subprocess.run(
        [options.toolcage, "doctor", "--json"], capture_output=True, timeout=60, check=False, cwd="/"
    )
    rows = {row["clause"]: row["reason"] for row in json.loads(done.stdout)["clauses"] if not row["works"]}
    for clause, reason in rows.items():
        if reason == NO_CAGE:
            continue  # the clause that fails has a row of its own
        with Stage(options, backend) as stage:
            result = stage.call(NEEDS.get(clause, {}), "nothing")
        error = result["error"] or {}
        told = f"{error.get('subject')} {error.get('message')} {error.get('clause')}"
        check(
            result["status"] in ("denied", "error") and clause in told and bool(error.get("hint")),
            f"{clause}: refused where it cannot be held",
            detail=f"{reason}\n{result}",
        )
    return {**rows, **unprovided(options, backend)}


def unprovided(options, backend):
    """What no machine lets this backend hold: a call that needs it must be refused."""
    rows = modules.UNPROVIDED if backend in modules.BACKENDS else []
    for clause in rows:
        with Stage(options, backend) as stage:
            result = stage.call(NEEDS[clause], "nothing")
        error = result["error"] or {}
        check(
            result["status"] == "denied"
            and error.get("code") == "unenforceable"
            and clause in f"{error.get('clause')} {error.get('message')}",
            f"{clause}: refused by this backend",
            result,
        )
    return dict.fromkeys(rows, modules.UNTRIED)


def absent(options, backend):
    """Why this machine cannot run the backend at all; None: it can."""
    with Stage(options, backend) as stage:
        error = stage.call({}, "nothing")["error"] or {}
    return error.get("message") if error.get("stage") == "runtime" else None


def play(options, backend, case, enforced):
    label = f"{case['clause']}: {case['name']} [{'allowed' if case['allowed'] else 'refused'}]"
    try:
        with Stage(options, backend) as stage:
            result = stage.call(case["grant"], *case["run"], watched=case["saw"][0] == "runs")
            if options.layered and result["layers"] != ["process", backend]:
                return check(False, f"{label}: both layers are named", result)
            if backend != "process" and "unix_sockets" in case["grant"]:
                return check(
                    result["status"] == "denied" and (result["error"] or {}).get("subject") == "unix_sockets",
                    f"{label}: the call is refused",
                    result,
                )
            if result["status"] in ("denied", "error", "cancelled"):
                refused = (
                    options.without
                    and result["error"]["code"] == "unenforceable"
                    and case["clause"] in result["error"]["message"]
                )
                return check(
                    refused, f"{label}: the call is refused", detail=f"the call never ran: {result['error']}"
                )
            if result["enforcement"].get(case["clause"], "").startswith("not enforced"):
                return (
                    skip(label, f"skipped: {case['clause']}: given up by the policy")
                    if options.without
                    else check(False, label, result)
                )
            if backend in modules.BACKENDS and case["run"][0] in modules.IMPORTS:
                return check(
                    modules.refused_by_name(case, result), f"{label}: a module cannot ask for it", result
                )
            stricter = (
                STRICTER if options.without else modules.STRICTER if backend in modules.BACKENDS else ()
            )
            if (case["clause"], case["name"]) in stricter:
                case = {**case, "allowed": False}
            good = stage.happened(case["saw"], result, 5 if case["allowed"] else 0.6) == case["allowed"]
            named = bool(result["enforcement"].get(case["clause"]))
            enforced.update(result["enforcement"])
    except Exception:  # pylint: disable=broad-except
        return check(False, label, detail=traceback.format_exc())
    return check(good and named, label, detail=f"{case}\nnamed: {named}\n{result}")


def brief(cases):
    """The first case of each side."""
    return [
        next(case for case in cases if case["allowed"] == side)
        for side in sorted({case["allowed"] for case in cases})
    ]


def run(options, backend):
    enforced, lost = {}, {} if options.without else broken_clauses(options, backend)
    for name, _ in clauses():
        cases = [
            case
            for case in CASES
            if case["clause"] == name and (not options.only or options.only in name + " " + case["name"])
        ]
        if not options.only:
            sides = {case["allowed"] for case in CASES if case["clause"] == name}
            check(
                sides == {True, False} or name == "net.secret",
                f"{name}: has an access allowed and one refused",
            )
        for case in brief(cases) if options.brief else cases:
            if name in lost:
                skip(f"{name}: {case['name']}", f"skipped: {name.rsplit('.', 1)[-1]}: {lost[name]}")
            else:
                play(options, backend, case, enforced)
    return enforced


def matrix(options, ends):
    """The document, from what real results say."""
    columns = {}
    for backend in BACKENDS:
        columns[backend] = {}
        options.socket = ends.enter_context(engines.started(backend)) if backend in engines.NAMES else None
        for grant in (
            {"memory": '"64MiB"', "cpus": "0.5", "cpu_time": '"5s"', "denied": ["{data}/denied"]},
            {"cpu_time": '"5s"', "denied": ["{data}/denied"]},
            {"network": '["127.0.0.1:{port}"]'},
            {**NEEDS["net.inspect"], "secrets.KEY": NEEDS["net.secret"]["secrets.KEY"]},
        ):
            with Stage(options, backend) as stage:
                result = stage.call(grant, "nothing")
            assert result["status"] == "ok", result
            for clause, how in result["enforcement"].items():
                ways = columns[backend].setdefault(clause, [])
                how = re.sub(r"\bcgroup v(1, socket buffers not counted|[12])(?![0-9])", "cgroup", how)
                how = re.sub(r"\bkernel on (systrap|ptrace|kvm)\b", "kernel on a platform of runsc's", how)
                if how not in ways:
                    ways.append(how)
    with open(os.path.join(ROOT, "docs/backends.md"), encoding="utf-8") as file:
        before, rest = file.read().split("| clause |", 1)  # all but this table is written by hand
    print(before + "| clause | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns))
    for name, _ in clauses():
        print(
            f"| `{name}` | "
            + " | ".join("; or ".join(column.get(name, ["refused"])) for column in columns.values())
            + " |"
        )
    print("\n## " + rest.rstrip().split("\n## ", 1)[1])


def check_matrix():
    try:
        with open(os.path.join(ROOT, "docs/backends.md"), encoding="utf-8") as file:
            rows = re.findall(r"^\| `([a-z._]+)` \|", file.read(), re.M)
    except FileNotFoundError:
        rows = []
    check(rows == [name for name, _ in clauses()], "docs/backends.md has a row for each clause", detail=rows)


def ready(options, ends):
    """From here on calls come from a host that has made one before."""
    directory = ends.enter_context(tempfile.TemporaryDirectory(prefix="toolcage-ready-"))
    os.chmod(directory, 0o755)
    options.toolcage, log = ready_host.stand_in(directory, options.toolcage)
    return log


def check_ready(log):
    """Calls with a network have a container made for them; all others take one."""
    with open(log, encoding="utf-8") as file:
        lines = file.read().split()
    print(
        f"# {lines.count('taken')} calls took a container that waited, {lines.count('made')} had one made for them"
    )
    check(lines.count("taken") > 3 * lines.count("made"), "calls took containers that waited", lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("--probe", required=True, type=os.path.abspath)
    parser.add_argument("--backend", default="process", choices=BACKENDS + modules.BACKENDS)
    parser.add_argument(
        "--engine",
        help="of backend wasm: the directory of the file that toolcage wasm install takes; of wasmedge: the root of an image",
    )
    parser.add_argument("--as-user", type=int)
    parser.add_argument("--only")
    parser.add_argument(
        "--without",
        action="store_true",
        help="the policy gives up what a machine without namespaces cannot hold",
    )
    parser.add_argument(
        "--layered", action="store_true", help="the policy names the backend as a layer within process"
    )
    parser.add_argument("--brief", action="store_true", help="one case of each side a clause")
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--runtime", help="of backend oci")
    parser.add_argument(
        "--runsc", type=os.path.abspath, help="of backend gvisor, in place of the installed one"
    )
    parser.add_argument("--ready", action="store_true", help="each call takes a container that waits for it")
    parser.add_argument("--patience", help="how many times as long calls may take")
    options = parser.parse_args()
    ctypes.CDLL(None)
    if options.runsc:
        runsc.put_in_place(options.runsc)
    if options.as_user is not None:
        become(options.as_user, options.toolcage)
    os.umask(0o022)
    options.socket = None
    with contextlib.ExitStack() as ends:
        if options.matrix:
            matrix(options, ends)
            return 0
        if options.backend in modules.BACKENDS:
            if not os.path.exists(options.probe):
                skip_all("no modules can be made here: tools/deps test installs what compiles them")
            options.environ = modules.PREPARED[options.backend](
                options.toolcage, options.engine, options.probe, ends
            )
            if not options.environ:
                skip_all(f"the engine is not here: {modules.FETCHED[options.backend]}")
        if options.backend in engines.NAMES:
            try:
                options.socket = ends.enter_context(engines.started(options.backend))
            except engines.Absent as why:
                skip_all(why)
        why = absent(options, options.backend)
        if why:
            skip_all(f"skipped: {' '.join(why.split())}")
        check_matrix()
        log = ready(options, ends) if options.ready else None
        run(options, options.backend)
        if log:
            check_ready(log)
        if options.socket:
            left = engines.left(options.socket)
            check(left == [], "no container is left", left)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
