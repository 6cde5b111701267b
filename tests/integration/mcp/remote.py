# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage wrap for servers at a URL: Streamable HTTP from a cage, over TLS, with a token that the cage does not have; servers that
lie; and the official SDKs' own servers.

usage: remote.py TOOLCAGE USER"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "process"))
from internet import API, Threaded, network, serve, spoken  # noqa: E402  first: it makes the network

import http.server  # noqa: E402
import ssl  # noqa: E402

import scene  # noqa: E402
from scene import CLIENTS, STATELESS, cli  # noqa: E402

cli.require_user()
TOKEN = "tok-3b1f9c2e7a5d"
TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}}
    for name in ("go", "slow", "hidden")
]
MIB = 1 << 20


class Remote(http.server.BaseHTTPRequestHandler):
    """A server whose path is the way in which it misbehaves."""

    protocol_version = "HTTP/1.1"
    seen = []  # (way, method, headers, message)
    sent = {}  # bytes of the large answers

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", kind="application/json", **heads):
        self.send_response(status)
        for name, value in heads.items():
            self.send_header(name.replace("_", "-"), value)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self, **heads):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        for name, value in heads.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def piece(self, text):
        self.wfile.write(text.encode())
        self.wfile.flush()

    @staticmethod
    def answer(id, text):
        return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}}

    def do_POST(self):
        way = self.path.split("?")[0].rsplit("/", 1)[-1]
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((way, "POST", dict(self.headers.items()), message))
        method, id = message.get("method"), message.get("id")
        if way == "locked" or (way == "token" and self.headers.get("Authorization") != f"Bearer {TOKEN}"):
            self.reply(
                401,
                b'{"error":"invalid_token"}',
                WWW_Authenticate='Bearer resource_metadata="https://evil.example/"',
            )
        elif method == "initialize":
            self.greet(way, id, message)
        elif way == "stalls" and method == "notifications/cancelled":
            time.sleep(30)
        elif id is None or "result" in message:
            self.reply(202)
        elif method == "tools/list":
            self.reply(200, json.dumps({"jsonrpc": "2.0", "id": id, "result": {"tools": TOOLS}}).encode())
        elif method == "tools/call" and message["params"]["name"] == "slow":
            self.begin_stream()
            time.sleep(30)
        elif way in ("gone", "other", "renews") and self.headers.get("Mcp-Session-Id") == f"{way}-1":
            self.reply(404)
        else:
            getattr(self, "way_" + way.replace("-", "_"), self.way_plain)(id, message)

    def greet(self, way, id, message):
        count = sum(1 for seen in self.seen if seen[0] == way and seen[3].get("method") == "initialize")
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": way, "version": str(count) if way == "other" else "0"},
        }
        body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
        if way == "renews" and count > 1:
            time.sleep(30)
            return
        if way == "greets":
            self.begin_stream(Mcp_Session_Id="greets-1")
            self.piece("id: 7\nretry: 100\ndata:\n\n")
            return
        if way == "hints":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nMcp-Session-Id: early\r\n\r\n")
            self.reply(200, body)
            return
        if way == "injects":
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a\x01b\r\nContent-Length: %d\r\n\r\n"
                % len(body)
                + body
            )
            return
        self.reply(200, body, Mcp_Session_Id=f"{way}-{count}")

    def do_GET(self):
        way = self.path.split("?")[0].rsplit("/", 1)[-1]
        self.seen.append((way, "GET", dict(self.headers.items()), {}))
        last = self.headers.get("Last-Event-ID")
        if way == "resumes" and last:
            self.begin_stream()
            id = next(
                s[3]["id"] for s in reversed(self.seen) if s[0] == way and s[3].get("method") == "tools/call"
            )
            self.piece(f"id: 8\ndata: {json.dumps(self.answer(id, 'after ' + last))}\n\n")
        elif way == "greets" and last:
            self.begin_stream()
            first = next(s[3] for s in self.seen if s[0] == way)
            result = {
                "protocolVersion": first["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": way, "version": "0"},
            }
            self.piece(
                f"id: 8\ndata: {json.dumps({'jsonrpc': '2.0', 'id': first['id'], 'result': result})}\n\n"
            )
        elif way == "busy" and len(seen(way, "GET")) == 2:
            self.reply(503)
        elif way == "busy":
            self.begin_stream()
            self.piece("retry: 100\n\n")
        elif way == "listens":
            self.begin_stream()
            self.piece(
                ': hello\n\nevent: message\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/tools/list_changed"}\n\n'
            )
            self.piece('data: {"jsonrpc":"2.0","id":2,"result":{"forged":true}}\n\n')
            time.sleep(5)
        else:
            self.reply(405)

    def do_DELETE(self):
        way = self.path.split("?")[0].rsplit("/", 1)[-1]
        self.seen.append((way, "DELETE", dict(self.headers.items()), {}))
        self.reply(200)

    def way_plain(self, id, message):
        self.reply(200, json.dumps(self.answer(id, "fine"), indent=1).replace("\n", "\r\n").encode())

    def way_redirects(self, id, message):
        self.reply(307, Location="https://evil.example/stolen")

    def way_large(self, id, message):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(10 << 30))
        self.end_headers()
        self.sent["large"] = 0
        while True:
            self.wfile.write(b" " * MIB)
            self.sent["large"] += MIB

    def way_event(self, id, message):
        """One event that does not end."""
        self.begin_stream()
        self.sent["event"] = 0
        while True:
            self.wfile.write(b"data: " + b"x" * MIB + b"\n")
            self.sent["event"] += MIB

    def way_double(self, id, message):
        one = json.dumps(self.answer(id, "one"))
        self.begin_stream()
        self.piece(f"data: {one}\ndata: {one}\n\n")

    def way_strange(self, id, message):
        self.begin_stream()
        self.piece(
            f"data: {json.dumps(self.answer(999, 'not yours'))}\r\rdata: {json.dumps(self.answer(id, 'mine'))}\r\r"
        )

    def way_moves(self, id, message):
        self.reply(200, json.dumps(self.answer(id, "fine")).encode(), Mcp_Session_Id="another")

    def way_token(self, id, message):
        self.reply(200, json.dumps(self.answer(id, self.headers["Authorization"])).encode(), X_Echo=TOKEN)

    def way_resumes(self, id, message):
        self.begin_stream()
        self.piece("id: 7\nretry: 100\ndata:\n\n")

    def way_drops(self, id, message):
        self.close_connection = True

    def way_fills(self, id, message):
        self.begin_stream()
        time.sleep(30)

    def way_versions(self, id, message):
        error = {"code": -32022, "message": "no such version", "data": {"supported": ["2026-07-28"]}}
        self.reply(400, json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode())

    def way_page(self, id, message):
        self.reply(200, b"<html>{}</html>", kind="text/html")

    def way_fails(self, id, message):
        self.reply(500, b'{"error":{"code":1,"message":"line\\r\\n\\u001b[2Jtwo"}}')


class Tls(Threaded):
    address_family = __import__("socket").AF_INET


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(f"{network}/cert.pem", f"{network}/key.pem")
secure = Tls((API, 8443), Remote)
secure.socket = context.wrap_socket(secure.socket, server_side=True)
serve(secure)
serve(Tls((API, 8080), Remote))
serve(Tls(("127.0.0.1", 8090), Remote))

BASE = "https://api.example.com:8443/mcp"
WAYS = "plain redirects large event double strange moves resumes listens gone other locked injects page fails drops fills versions renews greets hints busy stalls".split()
POLICY = "[defaults]\nmemory = { max = '256MiB', by = 'any' }\n" + "".join(
    f'[server.{way}]\nurl = "{BASE}/{way}"\ntool.go = {{}}\ntool.slow = {{ timeout = "1s" }}\n'
    for way in WAYS
)
SECRET = '{{ from = "env:TOKEN", hosts = ["{0}"], header = "Authorization: Bearer {{secret}}" }}'.format(
    "api.example.com:8443"
)
POLICY += f"""
[server.token]
url = "{BASE}/token"
secrets.REMOTE = {SECRET}
tool.go = {{}}
[server.wrong]
url = "{BASE}/locked"
secrets.REMOTE = {SECRET}
tool.go = {{}}
[server.local]
url = "http://127.0.0.1:8090/mcp/plain"
tool.go = {{}}
[server.each]
url = "{BASE}/each"
per_call = true
tool.go = {{}}
[server.query]
url = "{BASE}/page?api_key={TOKEN}"
tool.go = {{}}
[server.private]
url = "https://db.example.com/mcp"
tool.go = {{}}
[server.stranger]
url = "https://api.example.com:444/mcp"
tool.go = {{}}
[server.closed]
url = "https://api.example.com:8444/mcp/plain"
tool.go = {{}}
"""
place = cli.Place()
policy = place.write("home/remote.toml", POLICY)
if cli.running_as() == "ordinary":
    os.chmod(place.root, 0o755)


class Wrapped(scene.Server):
    def __init__(self, server, file=None, options=None):
        self.process = place.popen(
            "wrap",
            "--policy",
            file or policy,
            *(options or ["--server", server]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"TOKEN": TOKEN},
        )
        self.rest = b""

    def begin(self, tool, id):
        params = {"name": tool, "arguments": {}}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def errors(self):
        self.process.stdin.close()
        self.process.stdin = open(os.devnull, "wb")
        self.process.wait(30)
        return self.process.stderr.read().decode()


def text(answer):
    return answer.get("result", {}).get("content", [{"text": ""}])[0]["text"]


def why(answer):
    return answer.get("error", {}).get("message", "")


def seen(way, what=None):
    return [s for s in Remote.seen if s[0] == way and what in (None, s[1], s[3].get("method"))]


def passes():
    with Wrapped("plain") as s:
        answer = s.initialize()
        cli.check(
            answer.get("result", {}).get("serverInfo", {}).get("name") == "plain",
            "a server at a URL greets the client",
            answer,
        )
        names = [tool["name"] for tool in s.ask("tools/list", id=2)["result"]["tools"]]
        cli.check(names == ["go", "slow"], "the policy's tools of it are shown", names)
        answer = s.call("go", {"url": "https://evil.example/", "x": "a\r\nHost: evil.example"}, id=3)
        cli.check(text(answer) == "fine", "a response with line ends inside is one line", answer)
        cli.check(why(s.call("hidden", id=4)), "a tool that the policy does not name is not called")
        cli.check(why(s.call("go\r\nHost: evil", id=5)), "nor one whose name looks like a header")
        call = s.call("go", {}, id=6, meta=STATELESS)
        cli.check(text(call) == "fine", "a stateless request passes", call)
        cli.check("does not speak" not in s.errors(), "a server without a stream of its own is fine")
    posts, asked = seen("plain", "POST"), seen("plain", "tools/call")
    cli.check(
        "Mcp-Session-Id" not in posts[0][2]
        and all(p[2].get("Mcp-Session-Id") == "plain-1" for p in posts[1:-1]),
        "requests have the session's id",
        [p[2] for p in posts],
    )
    cli.check(all(p[2].get("MCP-Protocol-Version") == "2025-11-25" for p in posts[1:-1]), "and the version")
    cli.check(
        [p[3].get("method") for p in posts[:2]] == ["initialize", "notifications/initialized"], "in order"
    )
    cli.check({p[2]["Host"] for p in posts} == {"api.example.com:8443"}, "arguments do not choose the host")
    cli.check(
        asked[-1][2].get("Mcp-Method") == "tools/call"
        and asked[-1][2].get("Mcp-Name") == "go"
        and "Mcp-Session-Id" not in asked[-1][2],
        "a stateless request repeats its method and name in headers",
        asked[-1][2],
    )
    cli.check(len(seen("plain", "DELETE")) == 1, "the session is deleted at the end")
    with Wrapped("plain", options=["--url", f"{BASE}/plain"]) as s:
        cli.check("result" in s.initialize(), "--url selects a server of the policy")
    answer = place.run("wrap", "--policy", policy, "--url", "https://evil.example/mcp")
    cli.check(answer.code == 125 and "only the policy says" in answer.err, "and no other", answer)


def pins():
    with Wrapped("plain", options=["--server", "plain", "--pin"]) as s:
        s.initialize()
        answer = s.ask("tools/list", id=2)
        cli.check(
            answer["result"]["tools"] == [], "pinned tools are held until a person approves them", answer
        )
    shown = place.run("pins", "show", "plain")
    cli.check("held" in shown.out and f"{BASE}/plain" in shown.out, "and shown with their URL", shown)


def lies():
    for way, words in {
        "redirects": "redirects (HTTP 307), which is not followed",
        "large": "larger than 8 MiB",
        "event": "larger than 8 MiB",
        "double": "ended its response without an answer",
        "page": "neither JSON nor a stream",
        "fails": "HTTP 500",
    }.items():
        with Wrapped(way) as s:
            s.initialize()
            answer = s.call("go", id=3)
            cli.check(words in why(answer), f"{way}: {words}", answer)
            again = s.ask("tools/list", id=4)
            cli.check("result" in again, f"{way}: the next request is answered", again)
            errors = s.errors()
            cli.check("\x1b" not in errors, f"{way}: nothing of it reaches the terminal raw", errors)
    cli.check(not any("stolen" in path for _, path, _ in spoken), "no redirect was followed", spoken)
    cli.check(max(Remote.sent.values()) < 64 * MIB, "little of the endless responses was read", Remote.sent)


def answers():
    with Wrapped("strange") as s:
        s.initialize()
        cli.check(text(s.call("go", id=3)) == "mine", "a response to another request is dropped")
    with Wrapped("moves") as s:
        s.initialize()
        cli.check(
            text(s.call("go", id=3)) == text(s.call("go", id=4)) == "fine",
            "a response that names another session is one",
        )
    cli.check(
        {p[2].get("Mcp-Session-Id") for p in seen("moves")[1:]} == {"moves-1"}, "the session stays the first"
    )
    with Wrapped("injects") as s:
        cli.check(why(s.initialize()), "a session's id with a control character is refused")
    with Wrapped("resumes") as s:
        s.initialize()
        answer = s.call("go", id=3)
        cli.check(
            text(answer) == "after 7", "a stream that breaks off is resumed after its last event", answer
        )
    with Wrapped("listens") as s:
        s.initialize()
        first = s.receive()
        cli.check(
            first.get("method") == "notifications/tools/list_changed", "the server's own messages pass", first
        )
        answer = s.ask("tools/list", id=2)
        cli.check("forged" not in str(answer), "but no response among them", answer)
        cli.check("no open request" in s.errors(), "and the operator is told")


def repeats():
    with Wrapped("drops") as s:
        s.initialize()
        time.sleep(1)
        answer = s.call("go", id=3)
        cli.check("failed" in why(answer), "a connection that closes is an error", answer)
    cli.check(
        len(seen("drops", "tools/call")) == 1, "and the call is not sent again", seen("drops", "tools/call")
    )


def errors():
    with Wrapped("versions") as s:
        s.initialize()
        error = s.call("go", id=3).get("error", {})
        cli.check(
            error.get("code") == -32022 and error.get("data", {}).get("supported"),
            "an error of JSON-RPC in one of HTTP keeps its code and data",
            error,
        )
    with Wrapped("query") as s:
        s.initialize()
        answer = s.call("go", id=3)
        told = s.errors()
        cli.check(
            "neither JSON" in why(answer) and TOKEN not in why(answer) + told,
            "no message has the query of a URL",
            (answer, told),
        )


def handshakes():
    with Wrapped("greets") as s:
        cli.check("result" in s.initialize(), "a stream with the greeting is resumed")
        s.call("go", id=3)
    cli.check(
        {p[2].get("Mcp-Session-Id") for p in seen("greets")[1:]} == {"greets-1"},
        "in the session that it began",
        seen("greets"),
    )
    with Wrapped("hints") as s:
        s.initialize()
        s.call("go", id=3)
    cli.check(
        {p[2].get("Mcp-Session-Id") for p in seen("hints")} == {None},
        "an interim response begins no session",
        seen("hints"),
    )
    with Wrapped("busy") as s:
        s.initialize()
        cli.check(
            scene.until(lambda: len(seen("busy", "GET")) > 3),
            "the server's own stream goes on after a 503",
            seen("busy", "GET"),
        )


def crowds():
    with Wrapped("fills") as s:
        s.initialize()
        for id in range(100, 165):
            s.begin("go", id)
        answer = s.receive() or {}
        cli.check(
            answer.get("id") == 164 and "too many requests wait" in why(answer),
            "the request after 64 that wait is refused",
            answer,
        )
        for id in range(100, 164):
            s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        cli.check(
            scene.until(lambda: len(seen("fills", "notifications/cancelled")) == 64, 60),
            "but not its cancelling",
        )
        cli.check(
            scene.until(lambda: "result" in s.ask("tools/list", id=f"l{time.monotonic_ns()}")),
            "a cancelled request makes room for others",
        )
    with Wrapped("stalls") as s:
        s.initialize()
        s.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}})
        started = time.monotonic()
        answer = s.call("go", id=3)
        cli.check(
            text(answer) == "fine" and time.monotonic() - started < 8,
            "a notification without a response stalls nothing",
            answer,
        )
    with Wrapped("renews") as s:
        s.initialize()
        s.begin("go", 3)
        cli.check(scene.until(lambda: len(seen("renews", "initialize")) == 2), "a session is begun again")
        started = time.monotonic()
        s.errors()
        cli.check(time.monotonic() - started < 8, "a client that ends its input meanwhile is noticed")


def endless():
    with Wrapped("plain") as s:
        s.initialize()
        started = time.monotonic()
        answer = s.call("slow", id=3)
        cli.check(
            answer.get("result", {}).get("isError") and time.monotonic() - started < 20,
            "a stream without an end meets the tool's timeout",
            answer,
        )
        cli.check(scene.until(lambda: seen("plain", "notifications/cancelled")), "the server is told")
        cli.check(text(s.call("go", id=4)) == "fine", "and other calls go on")


def sessions():
    with Wrapped("gone") as s:
        s.initialize()
        answer = s.call("go", id=3)
        cli.check(text(answer) == "fine", "a session that the server has ended is begun again", answer)
    methods = [p[3].get("method") for p in seen("gone", "POST")]
    cli.check(
        methods[2:] == ["tools/call", "initialize", "notifications/initialized", "tools/call"],
        "with the client's own handshake",
        methods,
    )
    with Wrapped("other") as s:
        s.initialize()
        answer = s.call("go", id=3)
        cli.check("not like the first" in why(answer), "unless the server is another one now", answer)


def calls():
    with Wrapped("each") as s:
        s.initialize()
        got = [text(s.call("go", id=id)) for id in (3, 4)]
        cli.check(got == ["fine", "fine"], "a server at a URL serves single calls", got)
    used = [p[2].get("Mcp-Session-Id") for p in seen("each", "tools/call")]
    cli.check(used == ["each-2", "each-3"], "per_call gives each call a session", used)


def tokens():
    with Wrapped("token") as s:
        s.initialize()
        answer = s.call("go", id=3)
        cli.check(
            text(answer) == "Bearer " + "*" * len(TOKEN),
            "a token that the server sends back is masked",
            answer,
        )
        bridges = [
            p for p in pathlib.Path("/proc").glob("[0-9]*") if b"toolcage-bridge\0" in read(p / "cmdline")
        ]
        inside = [read(p / "environ") for p in bridges]
        cli.check(any(b"REMOTE=" in text for text in inside), "the bridge runs in a cage", bridges)
        cli.check(not any(TOKEN.encode() in text for text in inside), "the cage does not have it", bridges)
        cli.check(TOKEN not in s.errors(), "and no message")
    cli.check(
        all(p[2].get("Authorization") == f"Bearer {TOKEN}" for p in seen("token")),
        "the proxy adds it to each request",
    )
    with Wrapped("locked") as s:
        answer = s.initialize()
        cli.check(
            "requires a token (HTTP 401)" in why(answer) and "server.locked.secrets" in why(answer),
            "without one the error names the key",
            answer,
        )
        cli.check("invalid_token" in why(answer), "and what the server says", answer)
    with Wrapped("wrong") as s:
        answer = s.initialize()
        cli.check(
            "refuses the token of server.wrong.secrets.REMOTE" in why(answer), "with a wrong one, too", answer
        )
    cli.check(not any(host and "evil" in host for host, _, _ in spoken), "no challenge leads elsewhere")


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def places():
    with Wrapped("local") as s:
        s.initialize()
        cli.check(text(s.call("go", id=3)) == "fine", "a server on the loopback, without TLS")
    for way, words in {
        "private": "at an address that server.private does not grant",
        "stranger": "could not be trusted",
        "closed": "cannot be reached",
    }.items():
        with Wrapped(way) as s:
            answer = s.initialize()
            cli.check(words in why(answer), f"a {way} server is an error with its cause", answer)


def refusals():
    for url, words in {
        "http://api.example.com/mcp": "would be reached without TLS",
        "https://example.com:word@api.example.com/mcp": "has a user name",
        "https://api.example.com/mcp#x": "has a fragment",
        "ftp://api.example.com/": "does not begin with https://",
        "https://{host}/mcp": "no host",
        "https://api.example.com/{path}": "a character that URLs do not have",
        "https://api.example.com/a\\nHost: evil": "a character that URLs do not have",
        "https://*.example.com/mcp": "no host",
        "https://api.example.com/a/../b": "two ways",
        "https://api.example.com:99999/": "port",
        "https:///mcp": "no host",
    }.items():
        file = place.write("home/bad.toml", f'[server.x]\nurl = "{url}"\ntool.go = {{}}\n')
        answer = place.run("policy", "check", file)
        cli.check(
            answer.code not in (0, None) and words in answer.err + answer.out, f"{url} is refused", answer
        )
    for name in ("api_key", "x=1&key", "access-token"):
        file = place.write("home/bad.toml", f'[server.x]\nurl = "{BASE}?{name}=abc"\ntool.go = {{}}\n')
        answer = place.run("policy", "check", file)
        cli.check(
            "looks like a secret" in answer.err + answer.out, f"a query with {name} is warned about", answer
        )
    file = place.write("home/bad.toml", f'[server.x]\nurl = "{BASE}?project=1"\ntool.go = {{}}\n')
    answer = place.run("policy", "check", file)
    cli.check("looks like a secret" not in answer.err + answer.out, "another query is not", answer)
    file = place.write("home/bad.toml", f'[server.x]\nurl = "{BASE}"\ncommand = ["true"]\n')
    answer = place.run("policy", "check", file)
    cli.check(
        answer.code and "has no command" in answer.err + answer.out, "a URL and a command are refused", answer
    )
    file = place.write("home/bad.toml", f'[tool.x]\nurl = "{BASE}"\ncommand = ["true"]\n')
    cli.check(place.run("policy", "check", file).code, "only a server has a URL")
    file = place.write("home/oci.toml", f'[server.x]\nurl = "{BASE}"\nbackend = "oci"\ntool.go = {{}}\n')
    answer = place.run("wrap", "--policy", file, "--server", "x")
    cli.check(
        answer.code == 126 and 'backend = "process"' in answer.err,
        "a backend without the host's programs is refused",
        answer,
    )
    one = place.write("home/one.toml", f'[server.x]\nurl = "{BASE}/plain"\ntool.go = {{}}\n')
    two = place.write("home/two.toml", '[server.x]\nurl = "https://evil.example/mcp"\ntool.go = {}\n')
    answer = place.run("policy", "diff", one, two)
    cli.check(
        "evil.example" in answer.out and "api.example.com" in answer.out,
        "policy diff shows another URL",
        answer,
    )
    answer = place.run("policy", "explain", "--policy", one, "--server", "x", "--json")
    explained = json.loads(answer.out)
    cli.check(explained["mcp"]["url"] == f"{BASE}/plain", "explain has the URL", answer)
    entry = explained["network"][0]
    cli.check(
        (entry["host"], entry["port"], sorted(entry["methods"]), entry["paths"])
        == ("api.example.com", 8443, ["DELETE", "GET", "POST"], ["/mcp/plain"]),
        "and grants its host, methods and path",
        explained["network"],
    )


SDK = """
import sys, uvicorn
from mcp.server import MCPServer
server = MCPServer("official")
@server.tool()
def add(a: int, b: int) -> int:
    "Adds."
    return a + b
app = server.streamable_http_app(json_response=sys.argv[4] == "json", host="api.example.com")
uvicorn.run(app, host=sys.argv[1], port=int(sys.argv[2]), ssl_certfile=sys.argv[3] + "/cert.pem", ssl_keyfile=sys.argv[3] + "/key.pem", log_level="error")
"""


def official():
    python = CLIENTS / "python/bin/python"
    if not python.exists():
        cli.skip("the official Python server", "not here: tools/clients installs it")
        return
    for port, form in ((9443, "stream"), (9444, "json")):
        server = subprocess.Popen(
            [python, "-c", SDK, API, str(port), network, form], stderr=subprocess.DEVNULL
        )
        try:
            drive(
                f"https://api.example.com:{port}/mcp",
                "add",
                {"a": 2, "b": 3},
                "5",
                f"the official Python server ({form})",
            )
        finally:
            server.kill()
            server.wait()


def typescript():
    program = CLIENTS / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    if not program.exists() or not shutil.which("node"):
        cli.skip("the official TypeScript server", "not here: tools/clients installs it")
        return
    server = subprocess.Popen(
        ["node", program, "streamableHttp"],
        env={**os.environ, "PORT": "8095"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        drive(
            "http://127.0.0.1:8095/mcp",
            "echo",
            {"message": "hello"},
            "hello",
            "the official TypeScript server",
        )
    finally:
        server.kill()
        server.wait()


def drive(url, tool, arguments, want, name):
    file = place.write(
        "home/sdk.toml",
        f'[defaults]\nmemory = {{ max = "256MiB", by = "any" }}\n[server.sdk]\nurl = "{url}"\ntool.{tool} = {{}}\n',
    )

    def starts():
        with Wrapped("sdk", file) as s:
            return "result" in s.initialize()

    cli.check(scene.until(starts, 60), f"{name} greets")
    with Wrapped("sdk", file) as s:
        s.initialize()
        s.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        answer = s.receive()
        while answer and answer.get("id") != 2:
            answer = s.receive()
        cli.check([t["name"] for t in answer["result"]["tools"]] == [tool], f"{name} lists", answer)
        for id in range(3, 8):
            answer = s.call(tool, arguments, id=id)
            while answer and answer.get("id") != id:
                answer = s.receive()
            if want not in text(answer):
                break
        cli.check(want in text(answer), f"{name} is called", answer)
        cli.check(s.end() == 0, f"{name} is left")


try:
    for part in (
        passes,
        pins,
        lies,
        answers,
        repeats,
        errors,
        handshakes,
        crowds,
        endless,
        sessions,
        calls,
        tokens,
        places,
        refusals,
        official,
        typescript,
    ):
        part()
finally:
    place.__exit__()
cli.finish()
