#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The network of a tool in a virtual machine, in a network namespace of the test's own: what it sees is what a tool in a process
cage sees, word for word, and the proxy outside decides.

usage: network.py TOOLCAGE brief|all"""

import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import scene
from scene import check, finish

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "egress"))
import world  # noqa: E402

EXTENT = sys.argv[2]
INSIDE = "TOOLCAGE_VM_NETWORK_INSIDE"
if INSIDE not in os.environ:
    for program in ("unshare", "ip", "openssl"):
        if not shutil.which(program):
            scene.skip_all(f"{program} is missing")
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, check=False).returncode:
        scene.skip_all("needs root to make a network")
    os.environ[INSIDE] = "1"
    os.execvp(
        "unshare", ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, *sys.argv]
    )

UP, DOWN, MANY = (3000000, 5000000, 20) if EXTENT == "all" else (1000000, 2000000, 20)
NETWORK = """network = ["ok.example:80", "ok.example:7", "ok.example:19", "ok.example:9", "private.example:80", "udp:ok.example:69"]"""
PROCESS = """
[tool.t]
backend = "process"
timeout = "120s"
{}
"""
MARK = "@@"
# Each one prints what it saw; none of it is to depend on where it runs.
PARTS = {
    "variables": "echo $http_proxy $HTTPS_PROXY $ALL_PROXY $NO_PROXY",
    "a name": "busybox wget -q -O - http://ok.example/v1 | busybox grep -c 'GET /v1'",
    "another name": "busybox wget -q -O - http://evil.example/ 2>&1; busybox nslookup evil.example 2>&1 | busybox grep -c NXDOMAIN",
    "an address": "busybox nc -w 5 93.184.216.34 80 </dev/null 2>&1",
    "a port that is not named": "busybox nc -w 5 ok.example 25 </dev/null 2>&1",
    "a name that leads inside": "busybox wget -q -O - http://private.example/ 2>&1",
    "half of a connection": "echo half | busybox nc ok.example 7",
    "upload": f"busybox yes 0123456789abcde | busybox head -c {UP} | busybox nc ok.example 7 | busybox sha256sum",
    "download": f"(echo {DOWN}; busybox sleep 1) | busybox nc ok.example 19 | busybox sha256sum",
    "many at once": f"cd /tmp; for i in $(busybox seq {MANY}); do (echo $i | busybox nc ok.example 7 >$i) & done; wait; busybox cat $(busybox seq {MANY})",
    "datagrams": "cd /tmp; busybox tftp -g -r word -l got ok.example 69 2>&1; busybox cat got",
}
SCRIPT = "".join(f"echo {MARK}; {part}\n" for part in PARTS.values()) + "true"


def said(answer):
    return dict(zip(PARTS, answer.json.get("stdout", {"text": ""}).get("text", "").split(MARK + "\n")[1:]))


def denied(answer):
    return sorted((d["operation"], d["target"], d.get("key") or "") for d in answer.json.get("denials", []))


def process(script, more):
    with open("process.toml", "w", encoding="utf-8") as out:
        out.write(PROCESS.format(more))
    done = subprocess.run(
        [
            scene.TOOLCAGE,
            "exec",
            "--policy",
            "process.toml",
            "--json",
            "--tool",
            "t",
            "--",
            scene.store.BUSYBOX,
            "sh",
            "-c",
            script,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return scene.store.Answer(done)


def serve_files():
    """The least of TFTP: a file of one block, from the port that was asked, which is the only one that the tool hears."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((world.PUBLIC, 69))
    while True:
        data, sender = sock.recvfrom(2048)
        if data[:2] == b"\0\1":
            sock.sendto(b"\0\3\0\1" + data[2:].split(b"\0")[0].upper() + b"\n", sender)


scene.begin("self")
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="toolcage-vm-net-"))
os.chmod(SCRATCH, 0o755)
world.prepare(SCRATCH)
world.certificate(SCRATCH)
world.certificate(SCRATCH, "stranger.pem", "stranger-key.pem")
world.trust(SCRATCH)
WORLD = world.World(SCRATCH)
threading.Thread(target=serve_files, daemon=True).start()

here, there = process(SCRIPT, NETWORK), scene.call(SCRIPT, more=NETWORK)
check(
    there.code == 0 and there.json.get("status") == here.json.get("status") == "ok",
    "a tool with a network runs in a machine and in a process cage",
    (here, there),
)
words, same = said(there), said(here)
for name in same:
    check(
        words.get(name) == same[name] != "",
        f"{name}: in a machine it sees the same",
        (same[name], words.get(name)),
    )
pattern = (b"0123456789abcde\n" * (UP // 16 + 1))[:UP]
check(
    words.get("a name") == "1\n"
    and "403" in words.get("another name", "")
    and words["another name"].endswith("2\n"),
    "the named host is reached, and no other",
    words,
)
check(
    words.get("half of a connection") == "half\n<end>", "an end of one half is not that of the other", words
)
check(
    words.get("upload", "").split(" ")[0] == hashlib.sha256(pattern + b"<end>").hexdigest(),
    f"{UP} bytes go out and come back whole",
    words,
)
check(
    words.get("download", "").split(" ")[0] == hashlib.sha256(bytes(DOWN)).hexdigest(),
    f"{DOWN} bytes come in whole",
    words,
)
check(
    words.get("many at once") == "".join(f"{i}\n<end>" for i in range(1, MANY + 1)),
    f"{MANY} connections at once are not mixed",
    words,
)
check(words.get("datagrams") == "WORD\n", "datagrams find their way, and their answers", words)
check(
    denied(there) == denied(here) and ("connect", "evil.example:80", "tool.t.network") in denied(there),
    "denials are those of a process cage",
    (denied(here), denied(there)),
)
with open("policy.toml", encoding="utf-8") as file:
    LINE = 1 + file.read().split("\n").index(NETWORK)
check(
    {d["line"] for d in there.json["denials"] if d["operation"] == "connect"} == {LINE},
    "denials carry the line of their key",
    there.json["denials"],
)
used, was = there.json["usage"], here.json["usage"]
check(
    [(d["target"], d["connections"]) for d in used["destinations"]]
    == [(d["target"], d["connections"]) for d in was["destinations"]]
    and used["egress_bytes"] >= UP
    and used["ingress_bytes"] >= UP + DOWN,
    "and so is where it went, and how much",
    (was, used),
)
check(
    "serial port" in there.json["enforcement"]["net.allow"] and "net.none" not in there.json["enforcement"],
    "the result says what held it",
    there.json["enforcement"],
)
check(not scene.monitors(), "nothing is left of it", scene.monitors())
if EXTENT != "all":
    finish()
    sys.exit()

# ---- inspected, and with a secret ------------------------------------------------------------------------

SECRET = "correct-horse-battery"
os.environ["KEY"] = SECRET
INSPECTED = """network = [{ host = "ok.example", port = 80, methods = ["GET"], paths = ["/v1"] }]
secrets.TOKEN = { from = "env:KEY", hosts = ["http://ok.example:80"], header = "Authorization: Bearer {secret}" }"""
ASKS = (
    "busybox wget -q -O - http://ok.example/v1/x | busybox tr -d '\\n'; busybox wget -q -O - http://ok.example/v2 2>&1;"
    f"busybox env; busybox tr '\\0' '\\n' </proc/self/environ; busybox grep -r {SECRET[:-1]} /etc /tmp /proc/self/environ; busybox tail -n 3 /etc/toolcage-ca.pem"
)


def told(answer, before):
    text = answer.json.get("stdout", {}).get("text", "")
    check(
        any(f"Bearer {SECRET}" in request for request in WORLD.requests[before:]),
        "a secret is in the request that leaves",
        (WORLD.requests[before:], answer),
    )
    check(
        "GET /v1/x" in text and SECRET not in text and SECRET not in answer.out,
        "and in nothing that the guest sees, not even in what the server repeats",
        text,
    )
    check(
        "403" in text and not any("/v2" in request for request in WORLD.requests[before:]),
        "another path is refused by the proxy",
        text,
    )
    check("END CERTIFICATE" in text, "the cage trusts the proxy's authority", text)


asked = len(WORLD.requests)
told(scene.call(ASKS, more=INSPECTED), asked)

# ---- of a container in the machine -----------------------------------------------------------------------

TOOL = """[tool.o]
layers = ["qemu", "oci"]
image = "small"
filesystem = "none"
memory = {{ max = "64MiB", by = "any" }}
timeout = "240s"
{}"""
if shutil.which("crun"):
    contained = scene.call(SCRIPT, more=TOOL.format(NETWORK), tool="o")
    words = said(contained)
    for name in same:
        check(
            words.get(name) == same[name] != "",
            f"{name}: in a container in a machine it sees the same",
            (same[name], words.get(name), contained),
        )
    check(
        contained.json.get("layers") == ["qemu", "oci"]
        and "serial port" in contained.json["enforcement"]["net.allow"],
        "and the result says which way",
        contained,
    )
    asked = len(WORLD.requests)
    told(scene.call(ASKS, more=TOOL.format(INSPECTED), tool="o"), asked)

# ---- limits, ends ----------------------------------------------------------------------------------------

answer = scene.call(
    "busybox head -c 3000000 /dev/zero | busybox nc ok.example 7 | busybox wc -c; exit 1",
    more=NETWORK + '\ntransfer = "1MiB"',
)
check(
    answer.json.get("status") == "limit" and answer.json.get("limit") == "transfer",
    "`transfer` is the proxy's count",
    answer,
)

answer = scene.call(
    "for i in 1 2 3 4; do (busybox nc ok.example 9 </dev/zero >/dev/null) & done; busybox sleep 5; busybox wget -q -O - http://ok.example/ 2>&1; kill $(jobs -p)",
    more=NETWORK + "\nconnections = 4",
)
check(
    "503" in answer.json.get("stdout", {}).get("text", ""), "`connections` is the proxy's count, too", answer
)

opened = WORLD.opened
answer = scene.call(
    "exec busybox nc ok.example 9 </dev/zero", more=NETWORK + '\ngrace = "1s"', timeout="120s"
)
check(
    answer.json.get("status") == "timeout" and WORLD.opened > opened,
    "a deadline ends a tool that sends",
    answer,
)
check(not scene.monitors(), "and nothing is left of it", scene.monitors())

answer = scene.call(
    f"busybox yes | busybox head -c {UP} >/tmp/x; busybox wget -q -O - --post-file /tmp/x http://ok.example/v1 | busybox wc -c",
    more=NETWORK,
)
check(
    answer.code == 0 and int(answer.json["stdout"]["text"]) > UP,
    "bytes that the tool sends before its end arrive",
    answer,
)

kept = [
    scene.call(
        "busybox wget -q -O - http://ok.example/v1 | busybox grep -c GET",
        more=more,
        backend="snapshot = true",
    )
    for more in ("", NETWORK, NETWORK)
]
check(
    [one.json.get("stdout", {}).get("text") for one in kept[1:]] == ["1\n", "1\n"],
    "a machine that was kept without a network goes on with one",
    kept,
)
check(kept[0].json.get("stdout", {}).get("text") == "0\n", "and one without has none", kept[0])

refused = scene.call("true", more='network = [{ host = "ok.example", ports = "any" }]')
check(
    refused.code == 126
    and refused.error.get("code") == "unenforceable"
    and refused.error.get("subject") == "network",
    "a host with all its ports is refused",
    refused,
)
finish()
