# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks of a model, and of the client that speaks for it, on what a policy narrows: at a server that toolcage wrap
stands before, and at toolcage mcp. Without either, the same words go to a careless server."""

import os
import time

from peer import Peer, call, each, hear
from scene import DIRECT, MINUTE

DANGER = '"params":{"name":"danger","arguments":{"command":["/bin/echo","did danger"]}}}'
DISGUISED = [
    '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call",' + DANGER,
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",' + DANGER,
    '{"jsonrpc":"2.0","id":1,"METHOD":"tools/call",' + DANGER,
    '{"jsonrpc":"2.0","id":1,"method":"tools/c\\u0061ll",' + DANGER,
    '{"jsonrpc":"2.0","method":"tools/call",' + DANGER,
    '[{"jsonrpc":"2.0","id":1,"method":"tools/call",' + DANGER + "]",
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","NAME":"danger"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","name":"danger"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"d\\u0061nger"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"},"Params":{"name":"danger"}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[\r{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    + DANGER
    + "\r]}}",
]


def both(attack):
    """The case at toolcage wrap, and at toolcage mcp."""
    return [lambda s: attack(s, "wrap"), lambda s: attack(s, "mcp")]


def a_hidden_tool_is_called(s, door):
    return "did danger" in hear(s, call("danger", command=["/bin/echo", "did danger"]), door=door)


def a_call_is_disguised(s, door):
    """As another method, in another case, twice, escaped, without an id, in an array, behind a line end of another reader."""
    return each(s, ["did danger" in hear(s, line, door=door) for line in DISGUISED])


def a_path_leaves(s, door):
    """By itself, by two dots, with another spelling of its name beside it, given twice, through a link to a thing that is
    not granted."""
    s.write("bin/beyond", s.token)
    os.symlink(s.secret, s.path("ws/link"))
    beyond, inside = s.path("bin/beyond"), s.path("ws/inside")
    twice = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"%s","path":"%s"}}}'
        % (inside, beyond)
    )
    ways = [
        call("read", path=beyond),
        call("read", path=inside, PATH=beyond),
        twice,
        call("read", path=s.path("ws") + "/../bin/beyond"),
        call("read", path=s.path("ws/link")),
    ]
    return each(s, [s.token in hear(s, way, door=door) for way in ways])


def a_value_leaves(s, door):
    """Beyond its bounds, of another type, with an argument beside it that nobody has declared."""
    ways = [
        ({"n": 11}, "11"),
        ({"n": -1}, "-1"),
        ({"n": "7"}, "7"),
        ({"n": 8.5}, "8.5"),
        ({"n": 5, "m": 1}, "5"),
        ({"n": 1 << 70}, str(1 << 70)),
        ({"n": True}, "True"),
        ({}, "None"),
    ]
    return each(
        s, [f"did count {said}" in hear(s, call("count", **given), door=door) for given, said in ways]
    )


def nobody_is_asked(s, door):
    return "did ask" in hear(s, call("ask"), door=door)


def a_message_takes_all_memory(s, door):
    """One line without an end; an array of millions that each want an answer."""
    with Peer(s, door) as peer:
        peer.send("x" * (192 << 20))
        peer.send("[" + "0," * (3 << 20) + "0]")
        peer.exchange({**call("read", path=s.path("ws/inside")), "id": "last"})
        with open(f"/proc/{peer.process.pid}/status", encoding="utf-8") as file:
            most = next(int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM:"))
        return most > 256


def a_match_lasts(s, door):
    """A short text that a pattern can read in billions of ways."""
    with Peer(s, door) as peer:
        peer.send(call("match", text="a" * 34 + "!"))
        peer.send({**call("read", path=s.path("ws/inside")), "id": "last"})
        end = time.monotonic() + MINUTE / 12
        try:
            while '"last"' not in peer.text():
                peer.receive(end)
        except AssertionError:
            return True
        finally:
            peer.process.kill()
        return "did match" in peer.text()


WRAP, MCP = zip(
    *map(
        both,
        [
            a_hidden_tool_is_called,
            a_call_is_disguised,
            a_path_leaves,
            a_value_leaves,
            nobody_is_asked,
            a_message_takes_all_memory,
            a_match_lasts,
        ],
    )
)
NAMES = [
    "a model calls a tool that the policy does not name",
    "a call is disguised from the wrapper",
    "a model's path leaves its bounds at a server",
    "a model's value leaves its bounds at a server",
    "a model calls at a server a tool that needs approval",
    "a client's message takes the wrapper's memory",
    "a model's text makes a match last at a server",
]
MCP_NAMES = [
    "a model calls by MCP a tool without a command",
    "a call is disguised from the server of tools",
    "a model's path leaves its bounds by MCP",
    "a model's value leaves its bounds by MCP",
    "a model calls by MCP a tool that needs approval",
    "a client's message takes the server's memory",
    "a model's text makes a match last by MCP",
]
CASES = [
    (name, attack, {"free": DIRECT, "alike": True}) for name, attack in zip(NAMES + MCP_NAMES, WRAP + MCP)
]
