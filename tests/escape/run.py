#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Proves that attacks work where nothing stops them, and then that the cage stops them.

usage: run.py [--backend NAME] [--runtime NAME] [--runsc PATH] [--brief] [--as-user UID] [--own-machine] [--only 'TEXT|TEXT'] [--part I/N] --toolcage PATH ATTACKS

Each attack is one function. It returns whether the attack got through, seen from outside. It runs first
without a cage (the backend not-a-security-boundary, or where that backend already takes the thing away the bare
program, or a container of the runtime's own): it must get through, else it proves nothing and is skipped with the
reason. Then it runs in the cage: the tool must really have run, and the attack must not get through.

The last part of a case's row says where it differs:

  free     how it runs without a cage
  root     it needs root for that
  machine  it changes a setting of the whole machine
  only     it is about containers; why there is nothing of the kind in a process cage
  apart    it is not about any cage that a policy names; why
  alike    what stands in its way is done before the cage or after it, by the same code for all: --brief leaves it out
  in_place it runs in the cage with `workspace = { mode = "bind" }`: "alone", because somebody outside sees what it writes
           while it runs, or "too", because what stands in its way is another thing there than in the default"""

import argparse
import contextlib
import json
import os
import sys
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

if "--patience" in sys.argv[:-1]:  # read where the scene is made
    more = int(sys.argv[sys.argv.index("--patience") + 1])
    os.environ["TOOLCAGE_TEST_PATIENCE"] = str(more * int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1")))

import engines
import runsc
import cases_approvals
import cases_containers
import cases_files
import cases_host
import cases_inside
import cases_installs
import cases_models
import cases_network
import cases_objects
import cases_overlay
import cases_processes
import cases_servers
import cases_shell
import cases_sockets
import cases_words
import cases_workspace
from scene import CAGED, FREE, Missing, Refused, Scene
from tap import become, check, part_of, plan, skip, skip_all

CASES = (
    cases_containers.CASES
    + cases_files.CASES
    + cases_workspace.CASES
    + cases_objects.CASES
    + cases_overlay.CASES
    + cases_processes.CASES
    + cases_inside.CASES
    + cases_words.CASES
    + cases_servers.CASES
    + cases_sockets.CASES
    + cases_models.CASES
    + cases_shell.CASES
    + cases_installs.CASES
    + cases_network.CASES
    + cases_host.CASES
    + cases_approvals.CASES
)
MODES = {None: [""], "alone": [Scene.in_place], "too": ["", Scene.in_place]}
# Attacks that begin with what is refused there: shared memory, their own /proc, a socket.
UNTRIED = [
    "a neighbour's shared memory is read",
    "a host without address randomisation passes that on",
    "a file name forges a line of output",
]
# What may get through where the policy gives up the clause that stops it (--without).
GIVEN_UP = {
    name: clause
    for clause, names in {
        "fs.steering": [
            "a git hook or configuration is planted",
            "steering files are changed",
            "a deep repository is changed",
            "the search for repositories is outrun",
            "the search for repositories is locked out",
            "protection is laid over",
            "a bare repository is unmade",
            "a hook of another name is changed",
            "a rebase continues with the tool's commands",
            "the rest of a steering name is written",
            "a steering mount is misled",
            "a directory becomes a steering directory unreported",
        ],
        "fs.denied": [
            "a denied name below a writable tree is read",
            "a denied name below a readable tree is read",
            "a denied name reappears when it is saved",
            "a denied name next to a mount is read",
            "a denied name next to a mount reappears when it is saved",
            "a denied name next to a mount reappears unreported",
            "a denied name in a writable tree reappears unreported",
            "a mask is misled",
            "a mask is moved away from",
            "credentials near the workspace are read",
            "the home has two names",
            "a package index's password is read",
            "the audit log or the queue of approvals is changed",
        ],
        "limit.pids": ["more processes than granted"],
    }.items()
    for name in names
}


def attempt(options, attack, how, mode=""):
    """Whether the attack got through, and the scene's last answer."""
    with Scene(options, how) as scene:
        scene.mode = mode
        return attack(scene), scene.answer


def attempt_caged(options, attack, modes):
    """The same in each mode of the workspace, until it got through in one."""
    for mode in modes:
        through, answer = attempt(options, attack, CAGED, mode)
        if through:
            break
    return through, answer


def prove(options, name, attack, traits):
    foreign = traits.get("only" if options.backend == "process" else "apart")
    if options.backend in engines.NAMES:
        foreign = traits.get("engines", foreign)
    if foreign:
        return skip(name, f"not of this cage: {foreign}")
    if traits.get("root") and os.geteuid():
        return skip(name, "without a cage it needs root")
    if traits.get("machine") and not options.own_machine:
        return skip(name, "it changes a setting of the whole machine: --own-machine, in a virtual one")
    try:
        through, _ = attempt(options, attack, traits.get("free", FREE))
    except Missing as missing:
        return skip(name, missing)
    except Exception:  # pylint: disable=broad-except
        return check(False, f"{name}: without a cage it did not even run", traceback.format_exc()[-1500:])
    if not through:
        return skip(name, "it does not work here without a cage either")
    try:
        modes = MODES[traits.get("in_place")]
        through, answer = attempt_caged(options, attack, modes[-1:] if options.without else modes)
    except Missing as missing:
        return skip(name, missing)
    except Refused as refused:
        if '"stage": "overlay"' in str(refused):
            return skip(name, "this kernel's tmpfs holds no overlay")
        # by the clause, or because nothing there keeps a tool from what its policy is made from
        if options.without and ('"unenforceable"' in str(refused) or '"stage": "steering"' in str(refused)):
            return check(True, f"{name}: the call is refused")
        return check(False, f"{name}: the caged call never ran", f"refused: {refused}")
    except Exception:  # pylint: disable=broad-except
        if options.without and name in UNTRIED:
            return skip(name, "what the attack itself needs is refused without namespaces")
        return check(False, f"{name}: the caged call gave no result", traceback.format_exc()[-1500:])
    if through and options.without and name in GIVEN_UP:
        return skip(name, f"{GIVEN_UP[name]} is given up by the policy")
    return check(not through, name, f"ESCAPE. The last answer: {answer}"[:3000])


def absent(options):
    """Why this machine cannot run the backend at all; None: it can."""
    with Scene(options, CAGED) as scene:
        try:
            scene.call("/bin/true")
        except Refused as refused:
            error = json.loads(str(refused))
            return error["message"] if error["stage"] == "runtime" else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--as-user", type=int)
    parser.add_argument(
        "--own-machine", action="store_true", help="attacks may change settings of the whole machine"
    )
    parser.add_argument(
        "--without",
        action="store_true",
        help="the policy gives up what a machine without namespaces cannot hold",
    )
    parser.add_argument("--backend", default="process", choices=["process", "oci", "gvisor", *engines.NAMES])
    parser.add_argument(
        "--runtime", choices=["crun", "runc"], help="of backend oci; without it the first that is installed"
    )
    parser.add_argument(
        "--runsc", type=os.path.abspath, help="of backend gvisor, in place of the installed one"
    )
    parser.add_argument(
        "--brief", action="store_true", help="only attacks that a cage itself stands in the way of"
    )
    parser.add_argument("--patience", help="how many times as long calls may take")
    parser.add_argument("--only")
    parser.add_argument("--part", default="1/1", help="2/5: the second fifth of them")
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("attacks", type=os.path.abspath)
    options = parser.parse_args()
    if options.runsc:
        runsc.put_in_place(options.runsc)
    if options.as_user is not None:
        become(options.as_user, options.toolcage)
    os.umask(0o022)
    with contextlib.ExitStack() as ends:
        if options.backend in engines.NAMES:
            try:
                options.socket = ends.enter_context(engines.started(options.backend))
            except engines.Absent as why:
                skip_all(why)
        return attack_all(options)


def attack_all(options):
    why = options.backend != "process" and absent(options)
    if why:
        skip_all(f"skipped: {why}")
    wanted = [
        case
        for case in CASES
        if (not options.only or any(text in case[0] for text in options.only.split("|")))
        and not (options.brief and "alike" in case[2])
    ]
    for name, attack, traits in part_of(wanted, options.part):
        prove(options, name, attack, traits)
    return plan()


if __name__ == "__main__":
    sys.exit(main())
