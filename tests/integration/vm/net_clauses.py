#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The conformance cases of the network in a machine, for layers = ["qemu", "process"]: one boot for all that share a grant. What
arrives outside is judged, whatever the guest says of it.

usage: net_clauses.py TOOLCAGE self|ordinary PROBE brief|all"""

import hashlib
import os
import secrets
import socket
import sys
import threading
import time

PROBE = os.path.abspath(sys.argv[3])
sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "conformance"),
)

import scene  # noqa: E402
from cases import CASES  # noqa: E402
from scene import check, finish  # noqa: E402
from stage import own_address, printed  # noqa: E402

SEED = secrets.token_hex(16)
TOOL = """[tool.c]
layers = ["qemu", "process"]
image = "small"
filesystem = {{ readable = ["{data}"] }}
memory = {{ max = "64MiB", by = "any" }}
timeout = "240s"
"""
MARK = "@@"
RECEIVED = {"tcp": b"", "any": b""}


def token(*of):
    return hashlib.sha256(repr((SEED, *of)).encode()).hexdigest()[:32]


def listen(name, address):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.bind((address, 0))
    sock.listen(64)

    def take(peer):
        peer.settimeout(20)
        try:
            RECEIVED[name] += peer.recv(4096)
        except OSError:
            pass
        peer.close()

    def serve():
        while True:
            threading.Thread(target=take, args=[sock.accept()[0]], daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return sock.getsockname()[1]


def fill(text, names):
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text


def run(number, cases):
    data = os.path.abspath(f"data{number}")
    os.mkdir(data)
    with open(f"{data}/file", "w", encoding="utf-8") as out:
        out.write(token(number) + "\n")
    places = [
        {
            "data": data,
            "port": PORT,
            "anyport": ANYPORT,
            "address": own_address(),
            "token": token(number) if case["clause"] == "net.secret" else token(number, index),
        }
        for index, case in enumerate(cases)
    ]
    script = "".join(
        f"echo {MARK}; /bin/probe {' '.join(fill(word, own) for word in case['run'])} 2>&1\n"
        for case, own in zip(cases, places)
    )
    grant = "".join(f"{key} = {fill(value, places[0])}\n" for key, value in GRANTS[number].items())
    answer = scene.call(script + "true", more=TOOL.format(data=data) + grant, tool="c")
    check(
        answer.code == 0 and answer.json.get("layers") == ["qemu", "process"],
        f"a machine runs {len(cases)} cases with {GRANTS[number]}",
        answer,
    )
    said = printed(answer.json.get("stdout", {"text": ""})).split(MARK + "\n")[1:]
    check(len(said) == len(cases), "every case finishes", said)
    time.sleep(1)
    for case, own, text in zip(cases, places, said):
        how, what = case["saw"][0], fill(case["saw"][-1], own)
        happened = own["token"].encode() in RECEIVED[what] if how == "arrived" else what in text
        held = answer.json["enforcement"].get(case["clause"])
        check(
            happened == case["allowed"] and held,
            f"{case['clause']}: {case['name']} [{'allowed' if case['allowed'] else 'refused'}]",
            (text, held),
        )


CLAUSES = ("net.none", "net.allow", "net.inspect", "net.secret")
os.environ["CALLERS"] = SEED
GROUPS = {}
for each in CASES:
    if each["clause"] in CLAUSES and (sys.argv[4] == "all" or "paths" in str(each["grant"])):
        GROUPS.setdefault(str(each["grant"]), []).append(each)
GRANTS = [cases[0]["grant"] for cases in GROUPS.values()]
scene.begin(sys.argv[2], PROBE)
PORT, ANYPORT = str(listen("tcp", "127.0.0.1")), str(listen("any", "0.0.0.0"))
for its_number, its_cases in enumerate(GROUPS.values()):
    run(its_number, its_cases)
check(not scene.monitors(), "nothing is left", scene.monitors())
finish()
