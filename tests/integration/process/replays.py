#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A replay of a call that used the network: its requests are answered from their record, and nothing else is reached.

usage: replays.py TOOLCAGE USER"""

import functools
import glob
import json
import os
import shutil
import socket
import socketserver
import subprocess
import tempfile
import time

import internet
from internet import API, Threaded, network, serve
from stocked import Files, stock

hits = []  # requests and connections that came to the servers of this script
SECRET = "tok-0123456789-secret"


def git_backend(handler):
    """One request to git's own server program."""
    path, _, query = handler.path.partition("?")
    body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    if handler.headers.get("Transfer-Encoding") == "chunked":
        while size := int(handler.rfile.readline(), 16):
            body += handler.rfile.read(size)
            handler.rfile.readline()
        handler.rfile.readline()
    environ = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": f"{network}/www",
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "PATH_INFO": path[len("/smart") :],
        "QUERY_STRING": query,
        "REQUEST_METHOD": handler.command,
        "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(body)),
        "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
        "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
    }
    answer = subprocess.run(
        ["git", "http-backend"], input=body, env=environ, capture_output=True, check=False
    ).stdout
    head, _, rest = answer.partition(b"\r\n\r\n")
    fields = [line.split(b": ", 1) for line in head.split(b"\r\n")]
    status = [value for name, value in fields if name == b"Status"]
    handler.send_response(int(status[0].split()[0]) if status else 200)
    for name, value in fields:
        handler.send_header(name.decode(), value.decode())
    handler.send_header("Content-Length", str(len(rest)))
    handler.end_headers()
    handler.wfile.write(rest)


class Counted(Files):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two messages

    def give(self, body, status=200, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        hits.append(self.path)
        if self.path.startswith("/smart/"):
            git_backend(self)
        elif self.path.startswith("/now"):
            self.give(f"{time.time_ns()}\n".encode())
        elif self.path.startswith("/bytes/"):
            self.give(b"x" * int(self.path[7:]))
        elif self.path == "/moved":
            self.give(b"", 302, Location="/now/there")
        elif self.path == "/close":  # its end shows the end of the response
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end\n")
            self.close_connection = True
        elif self.path == "/chunks":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for i in range(3):
                self.wfile.write(b"4\r\nab%d\n\r\n" % i)
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/odd":
            self.wfile.write(
                b'HTTP/1.1 200 OK\r\nX-A: \xff\x1b[31m"}\\\r\nX-A: b\r\nContent-Length: 3\r\n\r\n\0\n\x1b'
            )
            self.close_connection = True
        elif self.path == "/half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf\n")
            self.close_connection = True
        elif self.path == "/echo":
            self.give("".join(f"{name}: {value}\n" for name, value in self.headers.items()).encode())
        elif self.path == "/flood":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
            for _ in range(75 << 4):
                self.wfile.write(b"x" * 65536)
            self.close_connection = True
        else:
            super().do_GET()

    def do_HEAD(self):
        hits.append(self.path)
        self.give(b"a head\n")

    def do_POST(self):
        hits.append(self.path)
        if self.path.startswith("/smart/"):
            git_backend(self)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.give(b"%d bytes at %d\n" % (len(body), time.time_ns()))

    do_PUT = do_POST


class Lines(socketserver.BaseRequestHandler):
    def handle(self):
        hits.append("lines")
        self.request.sendall(b"hello\n")


class Datagrams(socketserver.BaseRequestHandler):
    def handle(self):
        hits.append("udp")
        self.request[1].sendto(b"pong", self.client_address)


ORIGIN = "https://files.example.com:9443"
counted = functools.partial(Counted, directory=f"{network}/www")
stock(f"{network}/www", ORIGIN)
context = internet.ssl.SSLContext(internet.ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{network}/cert.pem", f"{network}/key.pem")
tls = Threaded((API, 9443), counted)
tls.socket = context.wrap_socket(tls.socket, server_side=True)
for server in (
    tls,
    Threaded((API, 9080), counted),
    Threaded(("127.0.0.1", 9081), counted),
    socketserver.ThreadingTCPServer((API, 2500), Lines),
    socketserver.ThreadingUDPServer((API, 2501), Datagrams),
):
    serve(server)

busy = socket.create_server((API, 9082), backlog=0)  # accepts nothing, and its queue is full
waiting = [socket.socket() for _ in range(3)]
for one in waiting:
    one.setblocking(False)
    one.connect_ex((API, 9082))

from scene import TOOLCAGE, check, run  # noqa: E402  become() comes after what only root can do

GIT = "git -c safe.directory='*'"
PIP = f"--no-cache-dir --disable-pip-version-check -q --index-url {ORIGIN}/simple/"
NPM = f"--registry {ORIGIN}/npm/ --cache /tmp/cache --silent --no-audit --no-fund"
PLAIN = "http://files.example.com:9080"
USUAL = {
    "curl": f"curl -sS {ORIGIN}/now",
    "curl -i": f"curl -sSi {ORIGIN}/now {ORIGIN}/now",
    "curl -I": f"curl -sSI {ORIGIN}/head",
    "curl -L": f"curl -sSL {ORIGIN}/moved",
    "curl -d": f"curl -sS -d a=b {ORIGIN}/form; curl -sS --json '{{}}' {ORIGIN}/form",
    "curl -T": f"seq 100000 > /tmp/f; curl -sS -T /tmp/f {ORIGIN}/put",
    "curl -O": f"cd /workspace && curl -sSO {ORIGIN}/simple/tiny/tiny-1.0-py3-none-any.whl && sha256sum *.whl",
    "curl -f": f"curl -sSf {ORIGIN}/missing",
    "curl by plain HTTP": f"curl -sS {PLAIN}/now {PLAIN}/close {PLAIN}/chunks",
    "curl without a proxy": f"curl -sS --noproxy '*' {ORIGIN}/now {PLAIN}/now",
    "curl at once": f"seq 8 | xargs -P4 -I% curl -sS {ORIGIN}/now/% -o /tmp/%; cat /tmp/[1-8]",
    "a large file": f"curl -sS {ORIGIN}/bytes/20000000 | sha256sum",
    "wget": f"wget -q -O- {ORIGIN}/now",
    "pip download": f"cd /workspace && pip3 download {PIP} tiny && ls",
    "pip install": f"pip3 install {PIP} --target /tmp/a tiny && python3 /tmp/a/tiny.py",
    "npm view": f"npm view {NPM} tiny",
    "npm install": f"npm install {NPM} --prefix /tmp/n tiny && node /tmp/n/node_modules/tiny",
    "git clone": f"{GIT} clone -q {ORIGIN}/smart/repo.git /tmp/a && cat /tmp/a/said && cd /tmp/a && git log --format=%H",
    "git clone, as files": f"{GIT} clone -q {ORIGIN}/repo.git /tmp/a && cat /tmp/a/said",
    "git ls-remote": f"{GIT} ls-remote {ORIGIN}/smart/repo.git",
    "urllib": f"python3 -c 'import urllib.request as u; print(u.urlopen(\"{ORIGIN}/now\").read())'",
    "requests": f'/usr/bin/python3 -c \'import requests as r; s = r.Session(); print(s.get("{ORIGIN}/now").text, s.post("{ORIGIN}/p", json=[1]).text)\'',
    "fetch": f"node -e 'fetch(\"{PLAIN}/now\").then(r => r.text()).then(console.log)'",
}
NEEDS = {"pip3": "pip", "npm": "npm", "node": "fetch", "wget": "wget", "git": "git"}
POLICY = """
[audit]
record = "inputs"
[tool.sh]
filesystem = {{ writable = ["/workspace"] }}
command = ["/bin/sh", "-c", "{{script}}"]
arguments.script = {{ type = "string" }}
network = [{network}]
timeout = "60s"
memory = {{ max = "2GiB", by = "any" }}
{more}
"""
ENTRIES = (
    '{ host = "files.example.com", port = 9443, methods = ["GET", "HEAD", "POST", "PUT"] }, '
    '"files.example.com:9080", "files.example.com:9082", "files.example.com:2500", "udp:files.example.com:2501", "127.0.0.1:9081"'
)


class Host:
    """A home with a policy, for one case."""

    def __init__(self, entries=ENTRIES, more=""):
        self.home = os.path.realpath(tempfile.mkdtemp(prefix="toolcage-replays-"))
        self.project = f"{self.home}/project"
        os.mkdir(self.project)
        self.policy = self.write("policy.toml", entries, more)
        self.environ = {"HOME": self.home, "PATH": os.environ["PATH"], "TOKEN": SECRET, "LC_ALL": "C"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                self.environ[name] = os.environ[name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.home, ignore_errors=True)

    def write(self, name, entries, more=""):
        with open(f"{self.home}/{name}", "w", encoding="ascii") as file:
            file.write(POLICY.format(network=entries, more=more))
        return f"{self.home}/{name}"

    def start(self, *words, **more):
        environ = {**self.environ, "TOOLCAGE_POLICY": self.policy, **more.pop("environ", {})}
        return subprocess.Popen(
            [TOOLCAGE, *words],
            cwd=self.project,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            **more,
        )

    def tool(self, *words, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=150)
        return process.returncode, out, err

    def call(self, script):
        return self.tool("call", "sh", json.dumps({"script": script}))

    def record(self):
        """The newest result in the log."""
        found = []
        for path in sorted(glob.glob(f"{self.home}/.local/state/toolcage/audit/*.jsonl")):
            with open(path, encoding="utf-8") as file:
                found += [json.loads(line) for line in file]
        return [r for r in found if r["kind"] == "result"][-1]

    def replay(self, last=1, policy=None, **more):
        """The calls of a replay, and its output; nothing may be reached."""
        before, asked = len(hits), len(internet.asked)
        answer = self.tool(
            "audit", "replay", "--json", "--policy", policy or self.policy, "--last", str(last), **more
        )
        if hits[before:] or internet.asked[asked:]:
            check(False, "a replay reaches nothing", (hits[before:], internet.asked[asked:], answer))
        return [json.loads(line) for line in answer[1].splitlines()][:-1], answer

    def stored(self):
        return [p for p in glob.glob(f"{self.home}/.local/state/toolcage/inputs/??/*") if os.path.isfile(p)]


def verdict(calls):
    return calls[-1]["verdict"] if calls else None


def usual_commands(s):
    s.works("net.inspect")
    same, others = 0, []
    names = [
        n
        for n in USUAL
        if all(shutil.which(p, path="/usr/bin") or not n.startswith(w) for p, w in NEEDS.items())
    ]
    with Host() as host:
        for name in names:
            before = len(hits)
            answer = host.call(USUAL[name])
            check(
                len(hits) > before and (answer[0] == 0 or name == "curl -f"),
                f"{name} works with a record of its requests",
                (answer, host.record().get("exchanges")),
            )
            calls, _ = host.replay()
            if verdict(calls) == "same":
                same += 1
            else:
                others.append((name, calls))
        check(not others, f"{same} of {len(names)} usual commands are replayed identically", others)
        calls, answer = host.replay(len(names))
        check(
            [c["verdict"] for c in calls] == ["same"] * len(names), "all are, and again", (calls, answer[2])
        )


def other_requests(s):
    """What the record does not have."""
    s.works("net.inspect")
    with Host() as host:
        for name, script in {
            "another path": f"curl -sS {ORIGIN}/now/$(date +%N) >/dev/null; echo end",
            "another query": f"curl -sS '{PLAIN}/now?'$(date +%N) >/dev/null; echo end",
            "another body": f"curl -sS -d $(date +%N) {ORIGIN}/form >/dev/null; echo end",
            "another method": f"test $(($(date +%N | sed s/^0*//) % 2)) = 0; curl -sS {ORIGIN}/now/$(date +%N) -X PUT >/dev/null; echo end",
        }.items():
            host.call(script)
            calls, answer = host.replay()
            notes = calls[-1]["notes"] if calls else []
            check(
                verdict(calls) == "differs"
                and notes[-1].startswith("request not answered: files.example.com:9")
                and answer[0] == 1,
                f"{name} is a difference that is named",
                (calls, answer),
            )
        # the first run makes one request, a replay two: the marker is in neither workspace nor /tmp
        host.call(f"curl -sS {ORIGIN}/now; curl -sS {ORIGIN}/now")
        first = host.record()["exchanges"]
        calls, answer = host.replay()
        check(first["requests"] == 2 and verdict(calls) == "same", "equal requests in their order", calls)


def nothing_is_reached(s):
    """A replay under a policy that would allow more than the record has."""
    s.works("net.inspect")
    with Host() as host:
        host.call(
            f"curl -sS {ORIGIN}/now >/dev/null; n=$(date +%N); curl -sS -m 5 {PLAIN}/$n; curl -sS -m 5 http://127.0.0.1:9081/$n;"
            f"curl -sS -m 5 --noproxy '*' http://{API}:9080/$n; curl -sS -m 5 http://198.18.0.1:3128/$n;"
            "curl -sS -m 5 -x socks5h://198.18.0.1:3128 http://files.example.com:9080/$n; true"
        )
        wide = host.write(
            "wide.toml", ENTRIES + ', "*:443", "*:80", "api.example.com:443", "93.184.216.34:9080"'
        )
        calls, answer = host.replay(policy=wide)
        check(
            verdict(calls) == "differs",
            "other requests reach no server under a wider policy",
            (calls, answer),
        )
        host.call(f"curl -sS {ORIGIN}/now")
        narrow = host.write("narrow.toml", '"files.example.com:9080"')
        calls, answer = host.replay(policy=narrow)
        check(
            verdict(calls) == "denied" and "files.example.com:9443" in str(calls),
            "a request that the policy does not grant is denied",
            (calls, answer),
        )


LATE = r"""
import os, socket, urllib.parse
to = urllib.parse.urlparse(os.environ["http_proxy"])
s = socket.create_connection((to.hostname, to.port))
s.sendall(b"CONNECT files.example.com:9082 HTTP/1.1\r\nHost: files.example.com:9082\r\n\r\n")
s.sendall(b"GET /late HTTP/1.1\r\nHost: files.example.com:9082\r\n\r\n")
"""
LEFT_OUT = {
    "a request that leaves after the tool": (f"python3 - <<'E'\n{LATE}E", "before its last data"),
    "a protocol of lines": (
        "bash -c 'exec 3<>/dev/tcp/files.example.com/2500; head -1 <&3'",
        "not inspected",
    ),
    "datagrams": (
        "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
        's.sendto(b"ping", ("files.example.com", 2501)); print(s.recv(9))\'',
        "UDP",
    ),
    "a response that breaks off": (f"curl -sS {ORIGIN}/half; true", "ended within"),
    "a response without an end": (f"curl -sS -m 50 {ORIGIN}/flood | tail -c 1; true", "64 MiB"),
    "a host that does not answer": (
        "curl -sS --noproxy '*' https://closed.example.com:4999/; true",
        "could not be reached",
    ),
}


def left_out(s):
    """What cannot be recorded: the call runs as ever, and its replay says why there is none."""
    s.works("net.inspect")
    internet.NAMES["closed.example.com"] = ["93.184.216.34"]
    with Host(ENTRIES + ', "closed.example.com:4999"') as host:
        for name, (script, why) in LEFT_OUT.items():
            answer = host.call(script)
            calls, _ = host.replay()
            check(
                answer[0] == 0 and verdict(calls) == "left out" and why in calls[-1]["notes"][0],
                f"{name}: left out, with the reason",
                (answer, calls, host.record().get("exchanges")),
            )


MANY = """
import http.client
c = http.client.HTTPConnection("files.example.com", 9080)
for i in range({0}):
    c.request("GET", "/bytes/%d" % (i % 7)); c.getresponse().read()
print("done")
"""


def many_requests(s):
    s.works("net.inspect")
    with Host() as host:
        for count, wanted in ((3000, "same"), (10001, "left out")):
            with open(f"{host.project}/many.py", "w", encoding="ascii") as file:
                file.write(MANY.format(count))
            answer = host.call("env -u http_proxy python3 many.py")
            calls, _ = host.replay()
            check(
                "done" in answer[1] and verdict(calls) == wanted,
                f"{count} requests: {wanted}",
                (answer, calls, host.record().get("exchanges")),
            )


def hostile_servers(s):
    s.works("net.inspect")
    with Host() as host:
        host.call(f"curl -sSi {PLAIN}/odd; curl -sS {PLAIN}/odd | od -c")
        calls, answer = host.replay()
        check(verdict(calls) == "same", "odd bytes in a response are replayed as they were", (calls, answer))
        code, shown, _ = host.tool("audit", "show", host.record()["call"])
        check(code == 0 and "\x1b" not in shown, "and never shown raw", shown)


def secrets(s):
    """The record has what the tool saw."""
    s.works("net.secret")
    entries = '{ host = "files.example.com", port = 9443, methods = ["GET"] }'
    more = 'secrets.TOKEN = { from = "env:TOKEN", hosts = ["files.example.com:9443"], header = "Authorization: Bearer {secret}" }'
    with Host(entries, more) as host:
        answer = host.call(f"curl -sS {ORIGIN}/echo")
        check("Bearer ****" in answer[1], "the server got the secret, the tool asterisks", answer)
        found = [p for p in host.stored() if SECRET.encode() in open(p, "rb").read()]
        check(not found, "no stored object has the secret", found)
        calls, answer = host.replay(environ={"TOKEN": ""})
        check(verdict(calls) == "same", "a replay does not need its value", (calls, answer))


def changed_records(s):
    s.works("net.inspect")
    with Host() as host:
        host.call(f"curl -sS {ORIGIN}/now")
        body = [p for p in host.stored() if b"HTTP/1.1 200" in open(p, "rb").read()]
        check(len(body) == 1, "the response is stored", body)
        os.chmod(body[0], 0o600)
        with open(body[0], "r+b") as file:
            file.write(b"HTTP/1.1 201")
        calls, answer = host.replay()
        check(
            verdict(calls) == "left out" and "no longer stored as recorded" in str(calls),
            "a changed response is not replayed",
            (calls, answer),
        )
        host.call(f"curl -sS {ORIGIN}/now")
        index = [p for p in host.stored() if open(p, "rb").read().startswith(b'{"method":')]
        for path in index:
            text = open(path, "rb").read()
            os.chmod(path, 0o600)
            with open(path, "wb") as file:
                file.write(text.replace(b"/now", b"/new"))
        calls, answer = host.replay()
        check(verdict(calls) == "left out", "nor is a changed index", (calls, answer))
        host.call(f"curl -sS {ORIGIN}/now")
        code, out, err = host.tool("audit", "prune", "--until", "1h")
        calls, answer = host.replay()
        check(
            code == 0 and verdict(calls) == "same", "pruning keeps what newer calls need", (out, err, calls)
        )
        time.sleep(1.1)
        code, out, err = host.tool("audit", "prune", "--until", "0s")
        calls, answer = host.replay()
        check(code == 0 and verdict(calls) == "left out", "and removes the rest", (out, err, calls))


def calls_at_once(s):
    s.works("net.inspect")
    with Host() as host:
        running = [
            host.start(
                "call", "sh", json.dumps({"script": f"curl -sS {ORIGIN}/now; curl -sS {PLAIN}/now/{i}"})
            )
            for i in range(4)
        ]
        ends = [p.communicate(timeout=100) for p in running]
        calls, answer = host.replay(4)
        check(
            [c["verdict"] for c in calls] == ["same"] * 4,
            "calls at once have records of their own",
            (ends, calls, answer),
        )


run(
    usual_commands,
    other_requests,
    nothing_is_reached,
    left_out,
    many_requests,
    hostile_servers,
    secrets,
    changed_records,
    calls_at_once,
)
