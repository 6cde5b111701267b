#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Backends that are tried in order: the one that runs holds the whole grant, and a call that failed is not run again."""

from scene import check, run


def absent(s):
    answer = s.shell(
        "echo here; cat /etc/shadow", more='backend = "firecracker"\nfallback = ["qemu", "process"]'
    )
    check(
        answer.status == "failed" and answer.out == "here\n" and answer.backend == "process",
        "the first that is there runs it",
        answer,
    )
    held = answer.enforcement or {}
    check(
        {"fs.read", "fs.write", "net.none", "syscalls", "proc.survivors"} <= set(held),
        "with every clause enforced",
        answer,
    )


def refused(s):
    answer = s.call("/bin/true", more='backend = "firecracker"\nfallback = ["wasm", "kubernetes"]')
    said = (answer.error or {}).get("message", "")
    check(
        answer.code == 126
        and answer.status == "denied"
        and answer.error["subject"] == "fallback"
        and all(name in said for name in ("firecracker (", "wasm (", "kubernetes (")),
        "a refusal says why of each",
        answer,
    )


def by_the_grant(s):
    own = s.python(
        "import socket\nsocket.socket(socket.AF_UNIX).close()\nprint('made')",
        more='backend = "oci"\nfallback = ["process"]\nunix_sockets = "own"',
    )
    check(
        own.out == "made\n" and own.backend == "process",
        "a grant that the first backend cannot hold goes to the next",
        own,
    )


def once(s):
    """The marker would be written twice, were a call that failed tried with the next backend."""
    answer = s.shell(
        f"echo x >> {s.ws}/marker; exit 3", more='backend = "process"\nfallback = ["oci", "gvisor"]'
    )
    check(answer.code == 3 and answer.backend == "process", "a tool's own failure is its answer", answer)
    check(s.read("ws/marker") == b"x\n", "and it ran once", answer)
    answer = s.call("/no/such/command", more='fallback = ["oci", "gvisor"]')
    check(
        answer.code == 127 and answer.backend == "process",
        "neither is a command that is missing looked for elsewhere",
        answer,
    )


def elsewhere(s):
    """What nothing enforces is refused whatever the order."""
    answer = s.call("/bin/true", more='fallback = ["oci"]\nlimits = 1')
    check(
        answer.code == 125
        and (answer.error["code"], answer.error["stage"], answer.error["subject"])
        == ("policy", "policy", "tool.t.limits"),
        "a policy with an unknown key runs nothing",
        answer,
    )
    answer = s.call("/bin/true", more='layers = ["oci", "gvisor"]')
    check(answer.code == 126 and answer.error["subject"] == "layers", "nor do layers", answer)
    answer = s.call(
        "/bin/true", more='backend = "gvisor"\nfallback = ["process"]\nsyscalls.allow = ["ptrace"]'
    )
    check(
        answer.code == 0 and answer.backend == "process",
        "a changed profile goes to the backend that has it",
        answer,
    )
    answer = s.call("/bin/true", more='tier = "ManualOnly"\nfallback = ["process"]')
    check(
        answer.code == 126 and answer.status == "denied" and answer.tier == "ManualOnly",
        "nor a tool for persons only",
        answer,
    )


run(absent, refused, by_the_grant, once, elsewhere)
