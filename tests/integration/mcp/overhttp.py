# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp over HTTP, request by request: who is answered, both transports, sessions, ends, and those who mean it ill."""

import concurrent.futures
import json
import os
import signal
import socket
import time

import scene
from scene import PATIENCE, cli
from certificates import self_signed
from processes import helpers_of
from web import Stream, Web, resident, waits

cli.require_user()
place, policy, mark = scene.place_with_policy()
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
WAIT = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}


def status(answer):
    meta = answer.json.get("result", {}).get("_meta", {})
    return meta.get("toolcage/result", {}).get("status")


def admission():
    with Web(place, policy) as web:
        cli.check(web.token and len(web.token) == 64, "a token of 256 bits is made and shown", web.said)
        cli.check(
            web.initialize().status == 200 and len(web.session or "") == 64,
            "the first request begins a session",
            web.session,
        )
        own = f"127.0.0.1:{web.port}"
        for name, heads, wanted in (
            ("a name that somebody made to point here", {"Host": "evil.example"}, 403),
            ("the same with our port", {"Host": f"evil.example:{web.port}"}, 403),
            ("a name that only begins like ours", {"Host": f"localhost.evil.example:{web.port}"}, 403),
            ("our name with another port", {"Host": "127.0.0.1:1"}, 403),
            ("a page from elsewhere", {"Origin": "http://evil.example"}, 403),
            ("a page of another port of this machine", {"Origin": "http://127.0.0.1:1"}, 403),
            ("a page of nowhere", {"Origin": "null"}, 403),
            ("a page under the other scheme", {"Origin": f"https://{own}"}, 403),
            ("no token", {"Authorization": None}, 401),
            ("another token", {"Authorization": "Bearer " + "0" * 64}, 401),
            ("the first half of the token", {"Authorization": f"Bearer {web.token[:32]}"}, 401),
            ("the token and more", {"Authorization": f"Bearer {web.token}0"}, 401),
            ("the token under another scheme", {"Authorization": f"Basic {web.token}"}, 401),
            ("our own page", {"Origin": f"http://{own}"}, 200),
            ("another name of ours", {"Host": f"localhost:{web.port}"}, 200),
            ("no message of JSON", {"Content-Type": "text/plain"}, 415),
            ("a client that takes no answer", {"Accept": "image/png"}, 406),
        ):
            answer = web.send(PING, heads)
            cli.check(answer.status == wanted, f"{wanted}: {name}", answer)
        cli.check("www-authenticate" in web.send(PING, {"Authorization": None}).heads, "401 says how")
        for path, method, wanted in (
            ("/", "GET", 404),
            ("/mcp", "PUT", 405),
            ("/mcp", "OPTIONS", 405),
            ("/sse", "POST", 405),
            ("/messages", "GET", 405),
            ("/../mcp", "POST", 404),
        ):
            answer = web.send(None, path=path, method=method)
            cli.check(answer.status == wanted, f"{wanted}: {method} {path}", answer)
        for lines in (
            "Host: {own}\r\nHost: evil.example",
            "Host: {own}\r\nAuthorization: Bearer 0",
            "Host: {own}\r\nOrigin: null\r\nOrigin: http://{own}",
        ):
            with web.raw() as raw:
                shown = " | ".join(lines.splitlines())
                raw.sendall(
                    f"POST /mcp HTTP/1.1\r\n{lines}\r\nAuthorization: Bearer {web.token}\r\n\r\n".format(
                        own=own
                    ).encode()
                )
                cli.check(b" 400 " in raw.recv(100), f"400: a line twice: {shown}")


def replies(sock, pieces, patience=5):
    """What comes back for these bytes, until the server closes or says nothing more; and whether it closed."""
    said = b""
    sock.settimeout(patience * PATIENCE)
    try:
        for piece in pieces:
            sock.sendall(piece)
            time.sleep(0 if len(pieces) == 1 else 0.002 if len(piece) == 1 else 0.1)
        while piece := sock.recv(65536):
            said += piece
    except socket.timeout:
        return said, False
    except OSError:
        pass
    return said, True


def framing():
    """Requests that a proxy in front could read in another way, each with another request behind it."""
    certificate, key = place.write("home/framing.pem", ""), place.write("home/framing-key.pem", "", 0o600)
    self_signed(certificate, key, "test")
    for more in ((), ("--tls-cert", certificate, "--tls-key", key)):
        with Web(place, policy, *more) as web:
            frame(web)


def frame(web):
    body = json.dumps(PING).encode()
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    length = b"Content-Length: %d" % len(body)

    def head(line=b"", size=length, ends=b"\r\n", first=b"\r\n", last=b"\r\n", blank=b"\r\n"):
        lines = [
            b"Host: 127.0.0.1:%d" % web.port,
            b"Authorization: Bearer " + web.token.encode(),
            b"Content-Type: application/json",
            *([line] if line else []),
            size,
        ]
        return b"POST /messages?session_id=0 HTTP/1.1" + first + ends.join(lines) + last + blank

    def ask(*pieces):
        with web.stream() as sock:
            return replies(sock, pieces, 1)

    good = head() + body
    for name, bad in (
        ("both lengths", [head(size=length + b"\r\nTransfer-Encoding: chunked") + chunked]),
        (
            "both, the other way round",
            [head(size=b"Transfer-Encoding: chunked\r\nContent-Length: 3") + chunked],
        ),
        ("line feeds alone", [head(ends=b"\n", first=b"\n", last=b"\n", blank=b"\n") + body]),
        ("a line feed behind the request line", [head(first=b"\n") + body]),
        ("behind one line", [head(b"X-A: b\nX-C: d") + body]),
        ("behind a line with an empty value", [head(b"X-A:\nX-C: d") + body]),
        ("behind the last line", [head(last=b"\n") + body]),
        ("for the empty line", [head(blank=b"\n") + body]),
        ("for the empty line, and then a pause", [head(blank=b"\n"), body]),
        ("for both, and then a pause", [head(last=b"\n", blank=b"\n"), body]),
        ("for both, and a body of zeros", [head(last=b"\n", blank=b"\n") + bytes(len(body))]),
        ("behind one line, in small pieces", [bytes([c]) for c in head(b"X-A: b\nX-C: d")] + [body]),
        ("a space behind a name", [head(b"Content-Length : 40") + body]),
        ("a name that is none", [head(b"X(A: b") + body]),
        ("a folded line", [head(b"X-A: b\r\n c") + body]),
        ("a line folded by a tab", [head(b"X-A: b\r\n\tc") + body]),
        ("the last line folded", [head(size=length + b"\r\n ") + body]),
        ("the last line folded, with more", [head(size=length + b"\r\nX-A: b\r\n c") + body]),
        ("the first folded", [head(first=b"\r\nX-A: b\r\n c\r\n") + body]),
    ):
        said, closed = ask(*bad[:-1], bad[-1] + good)
        cli.check(
            said.startswith(b"HTTP/1.1 400 ") and said.count(b"HTTP/1.1 ") == 1 and closed,
            f"400 and the end of the connection, {web.scheme}: {name}",
            (said[:300], closed),
        )
    for name, fine in (
        ("two requests", [good + good]),
        ("an empty line between", [good + b"\r\n" + good]),
        ("a client that asks first", [head(b"Expect: 100-continue"), body, good]),
        ("in small pieces", [bytes([c]) for c in good] + [good]),
        ("chunks", [head(size=b"Transfer-Encoding: chunked") + chunked + good]),
        ("an empty value", [head(b"X-A:\r\nX-B: ") + body + good]),
        ("spaces around a value", [head(b"X-A:   b  \r\nX-C:\td\t") + body + good]),
        ("a large head", [head(b"X-A: " + b"a" * 20000) + body + good]),
        ("many lines, after a pause", [good, head(b"\r\n".join(b"X-%d: a" % i for i in range(200))) + body]),
    ):
        said, closed = ask(*fine)
        cli.check(
            said.count(b"HTTP/1.1 404 ") == 2 and not closed,
            f"both are answered, {web.scheme}: {name}",
            (said[:300], said.count(b"HTTP/1.1"), closed),
        )


def sessions():
    with Web(place, policy) as web:
        cli.check(web.send(PING).status == 400, "a request of no session")
        cli.check(web.send(PING, {"Mcp-Session-Id": "0" * 64}).status == 404, "of a session that is none")
        for version in ("2025-11-25", "2025-06-18", "2025-03-26"):
            answer = web.initialize(version)
            cli.check(
                answer.json["result"]["protocolVersion"] == version, f"initialize agrees on {version}", answer
            )
            cli.check(
                web.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202,
                "a notification is accepted",
            )
            answer = web.call("add", {"a": 40, "b": 2}, heads={"MCP-Protocol-Version": version})
            cli.check(
                answer.status == 200 and "42" in answer.json["result"]["content"][0]["text"],
                f"a call under {version}",
                answer,
            )
        first = web.session
        cli.check(
            web.ask("ping", heads={"MCP-Protocol-Version": "2019-01-01"}).status == 400,
            "a version that nobody speaks",
        )
        cli.check(
            web.ask("prompts/list").json["error"]["code"] == -32601
            and web.ask("resources/list").status == 200,
            "an error is an answer, and not the end of the session",
        )
        web.initialize()
        cli.check(web.session != first, "sessions have different ids")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            both = [
                pool.submit(web.call, "add", {"a": n, "b": 0}, 5, {"Mcp-Session-Id": s})
                for n, s in ((1, first), (2, web.session))
            ]
            texts = [one.result().json["result"]["content"][0]["text"] for one in both]
        cli.check("1\n" in texts[0] and "2\n" in texts[1], "two sessions may use one id", texts)
        waiting = web.connect()
        waiting.request("POST", "/mcp", json.dumps(WAIT).encode(), web.heads())
        cli.check(waits(web, mark), "a tool runs")
        answer = web.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
            {"Mcp-Session-Id": first},
        )
        time.sleep(0.3)
        cli.check(
            answer.status == 202 and scene.sleeping(mark) == 1, "one session cancels nothing of another one"
        )
        cli.check(web.send(None, method="DELETE").status == 204, "DELETE ends the session")
        ended = waiting.getresponse()
        cli.check(
            ended.status == 404 and scene.until(lambda: scene.sleeping(mark) == 0),
            "its call ends, and says so",
            ended.status,
        )
        cli.check(
            web.send(PING).status == 404 and web.send(None, method="DELETE").status == 404, "and it is gone"
        )
        cli.check(web.send(PING, {"Mcp-Session-Id": first}).status == 200, "the other session stays open")
        for body, wanted in (
            (b"{", -32700),
            (b'{"a":1,"a":2}', -32700),
            (b"[]", -32600),
            (b"7", -32600),
            (b"", -32700),
            (b"[" * 5000, -32700),
        ):
            answer = web.send(body, {"Mcp-Session-Id": first})
            cli.check(
                answer.status == 400 and answer.code == wanted,
                f"{body[:20]!r} is answered with {wanted}",
                answer,
            )


def alone():
    """The era without sessions: the head repeats what the message says."""
    with Web(place, policy) as web:
        answer = web.alone("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
        cli.check(
            status(answer) == "ok" and "mcp-session-id" not in answer.heads, "a call stands alone", answer
        )
        answer = web.alone(
            "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, {"Mcp-Name": "=?base64?YWRk?="}
        )
        cli.check(status(answer) == "ok", "a name in base64", answer)
        for heads in (
            {"Mcp-Name": "note"},
            {"Mcp-Name": None},
            {"Mcp-Name": "=?base64?YWRl?="},
            {"Mcp-Name": "=?base64?YWR?="},
            {"Mcp-Name": "=?base64?YW==YWRk?="},
            {"Mcp-Method": "tools/list"},
            {"Mcp-Method": None},
            {"MCP-Protocol-Version": "2025-11-25"},
            {"MCP-Protocol-Version": None},
        ):
            answer = web.alone("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, heads, id=9)
            cli.check(
                answer.status == 400 and answer.code == -32020 and answer.json["id"] == 9,
                f"400: {heads}",
                answer,
            )
        for params, heads, code, wanted in (({"_meta": {}}, {}, -32602, 400), ({}, {}, -32602, 400)):
            answer = web.ask(
                "server/discover",
                params,
                9,
                {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover", **heads},
            )
            cli.check(
                answer.status == wanted and answer.code == code, f"{wanted}: no version in {params}", answer
            )
        cli.check(
            web.alone("initialize").status == 404 and web.alone("resources/list").code == -32601,
            "404: no such method",
        )
        other = {**scene.STATELESS, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
        answer = web.alone("tools/list", heads={"MCP-Protocol-Version": "2031-01-01"}, meta=other)
        cli.check(answer.status == 400 and answer.code == -32022, "400: a later version", answer)
        one = web.connect()
        one.request(
            "POST",
            "/mcp",
            json.dumps({**WAIT, "params": {**WAIT["params"], "_meta": scene.STATELESS}}).encode(),
            web.heads({"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "wait"}),
        )
        cli.check(waits(web, mark), "a tool runs")
        one.close()
        cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "closing the connection cancels the call")


def patience():
    """An answer that takes long comes as a stream, which says that it lives."""
    with Web(place, policy) as web:
        web.initialize()
        slow = web.call("slow")
        cli.check(
            slow.heads["content-type"] == "text/event-stream"
            and "done" in slow.json["result"]["content"][0]["text"],
            "a slow answer is a stream",
            slow,
        )
        quick = web.call("add", {"a": 1, "b": 1}, heads={"Accept": "text/event-stream"})
        cli.check(
            quick.heads["content-type"] == "text/event-stream" and status(quick) == "ok",
            "so is one for a client that takes no other",
            quick,
        )


def older():
    """HTTP with one stream a session."""
    with Web(place, policy) as web:
        stream, other = Stream(web), Stream(web)
        cli.check(
            stream.place.startswith("/messages?session_id=") and stream.place != other.place,
            "the stream names its place",
            stream.place,
        )
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "clientInfo": {"name": "x", "version": "0"},
            },
        }
        cli.check(web.send(hello, path=stream.place).status == 202, "a message is accepted")
        event, data = stream.event()
        cli.check(
            event == "message" and json.loads(data)["result"]["protocolVersion"] == "2025-11-25",
            "its answer is an event",
            data,
        )
        web.send(
            {
                "jsonrpc": "2.0",
                "id": 2,
                "method": "tools/call",
                "params": {"name": "add", "arguments": {"a": 3, "b": 4}},
            },
            path=stream.place,
        )
        cli.check(
            json.loads(stream.event()[1])["result"]["content"][0]["text"].endswith("stdout:\n7\n"), "a call"
        )
        cli.check(web.send(b"{", path=stream.place).status == 400, "a body that is not JSON is a bad request")
        for place_of in ("/messages", "/messages?session_id=", "/messages?session_id=" + "0" * 64):
            cli.check(web.send(PING, path=place_of).status == 404, f"404: {place_of}")
        cli.check(
            web.send(PING, {"Authorization": None}, path=stream.place).status == 401,
            "the place alone is no token",
        )
        cli.check(
            web.send(PING, {"Mcp-Session-Id": stream.place[-64:]}).status == 404,
            "nor is it a session of the newer transport",
        )
        web.send({**WAIT, "id": 3}, path=stream.place)
        cli.check(waits(web, mark), "a tool runs")
        stream.close()
        cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "closing the stream ends its calls")
        cli.check(scene.until(lambda: web.send(PING, path=stream.place).status == 404), "and its session")
        other.close()


def hostile():
    with Web(place, policy, env=scene.MEASURED) as web:
        web.initialize()
        lines = []
        for _ in range(400):  # more than it holds, each with half a head
            one = web.raw()
            one.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1")
            lines.append(one)
        began = time.monotonic()
        cli.check(
            web.send(PING).status == 200 and time.monotonic() - began < 10 * PATIENCE,
            "connections that say nothing keep nobody out",
            time.monotonic() - began,
        )
        for one in lines:
            one.close()
        with web.raw() as loris:
            began, open_still = time.monotonic(), True
            loris.sendall(b"POST /mcp HTTP/1.1\r\n")
            while open_still and time.monotonic() - began < 40 * PATIENCE:
                try:
                    loris.sendall(b"X-A: b\r\n")
                    loris.settimeout(0.5)
                    open_still = bool(loris.recv(100)) and False
                except socket.timeout:
                    pass
                except OSError:
                    open_still = False
            cli.check(
                not open_still and time.monotonic() - began < 40 * PATIENCE,
                "a line of a head every half second does not last",
                time.monotonic() - began,
            )
        with web.raw() as large:
            large.sendall(
                f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {web.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {(8 << 20) + 1}\r\n\r\n".encode()
            )
            cli.check(b" 413 " in large.recv(100), "413: a message that says how large it is")
        with web.raw() as endless:
            endless.sendall(
                f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nAuthorization: Bearer {web.token}\r\n"
                f"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            )
            sent, block = 0, b"10000\r\n" + b" " * 65536 + b"\r\n"
            try:
                while sent < 64 << 20:
                    endless.sendall(block)
                    sent += 65536
            except OSError:
                pass
            cli.check(sent < 32 << 20, "a body without end is cut off", sent)
        with web.raw() as endless:
            head, sent = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n".encode(), 0
            try:
                endless.sendall(head)
                while sent < 8 << 20:
                    endless.sendall(b"X-Filler: " + b"y" * 4000 + b"\r\n")
                    sent += 4000
            except OSError:
                pass
            cli.check(sent < 4 << 20, "so is a head", sent)
        mine = web.session
        made = [web.initialize().heads.get("mcp-session-id") for _ in range(300)]
        cli.check(len(set(made)) == 300, "sessions without end may be begun")
        cli.check(
            web.send(PING, {"Mcp-Session-Id": mine}).status == 404
            and web.send(PING, {"Mcp-Session-Id": made[-1]}).status == 200,
            "but the longest silent ones have made room",
        )
        cli.check(resident(web.process.pid) < 100000, "and its memory stays small", resident(web.process.pid))
        streams = [Stream(web) for _ in range(64)]
        cli.check(web.initialize().status == 503, "503: sessions that are all in use make no room")
        for one in streams:
            one.close()
        cli.check(scene.until(lambda: web.initialize().status == 200), "until one ends")


def deaf():
    """A client of the older transport that asks and does not read."""
    with Web(place, policy, env=scene.MEASURED) as web:
        stream, seen = Stream(web), []
        web.send(
            {
                "jsonrpc": "2.0",
                "id": 0,
                "method": "initialize",
                "params": {"protocolVersion": "2025-06-18", "capabilities": {}},
            },
            path=stream.place,
        )
        for n in range(1, 60):
            seen.append(
                web.send(
                    {
                        "jsonrpc": "2.0",
                        "id": n,
                        "method": "tools/call",
                        "params": {"name": "large", "arguments": {}},
                    },
                    path=stream.place,
                ).status
            )
            if seen[-1] == 503:
                break
            time.sleep(0.2)
        cli.check(seen[-1] == 503 and 202 in seen, "503: what is not read ends the asking", seen)
        time.sleep(1)
        cli.check(resident(web.process.pid) < 250000, "the memory stays bounded", resident(web.process.pid))
        answers = {json.loads(stream.event()[1])["id"] for _ in range(seen.count(202) + 1)}
        cli.check(
            answers == set(range(seen.count(202) + 1)), "and nothing was lost that had been accepted", answers
        )
        cli.check(
            web.send({**PING, "id": 99}, path=stream.place).status == 202
            and json.loads(stream.event()[1])["id"] == 99,
            "then it may ask again",
        )
        stream.close()


def many():
    with Web(place, policy) as web:
        web.initialize()
        lines = []
        for n in range(66):
            one = web.connect()
            one.request("POST", "/mcp", json.dumps({**WAIT, "id": n}).encode(), web.heads())
            lines.append(one)
        answer = web.call("wait", id=99)
        cli.check(
            "too many calls" in answer.json["result"]["content"][0]["text"],
            "64 calls at once, over all clients",
            answer,
        )
        web.process.send_signal(signal.SIGTERM)
        cli.check(
            web.process.wait(60 * PATIENCE) == 0 and scene.until(lambda: scene.sleeping(mark) == 0),
            "TERM ends every cage",
        )


def ends():
    with Web(place, policy, "--idle", "1s") as web:
        web.initialize()
        cli.check(
            scene.until(lambda: time.sleep(2) or web.send(PING).status == 404),
            "a session that is silent ends",
        )
    with Web(place, policy) as web:
        web.initialize()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(web.call, "wait")
            cli.check(waits(web, mark), "a tool runs")
            killed = helpers_of(web.process.pid)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            cli.check(killed and "error" in waiting.result().text, "a killed helper is told")
        cli.check(status(web.call("add", {"a": 5, "b": 5})) == "ok", "the next call has a new one")
        one = web.connect()
        one.request("POST", "/mcp", json.dumps(WAIT).encode(), web.heads())
        cli.check(waits(web, mark), "a tool runs again")
        web.process.send_signal(signal.SIGKILL)
        cli.check(scene.until(lambda: scene.sleeping(mark) == 0), "KILL of the server ends every cage")


def options():
    secret = place.write("home/token", "a-token-of-some-length\n", 0o600)
    with Web(place, policy, "--token-file", secret) as web:
        web.token = "a-token-of-some-length"
        cli.check(
            web.initialize().status == 200 and "Bearer" not in web.said,
            "a token of the operator's, which is not shown",
            web.said,
        )
        words = (
            open(f"/proc/{web.process.pid}/cmdline", "rb").read()
            + open(f"/proc/{web.process.pid}/environ", "rb").read()
        )
        cli.check(b"a-token" not in words, "nor in the list of processes", words)
    with Web(place, policy, "--token-env", "THE_TOKEN", env={"THE_TOKEN": "a-token-of-some-length"}) as web:
        web.token = "a-token-of-some-length"
        cli.check(web.initialize().status == 200, "from a variable")
        cli.check(
            b"a-token" not in open(f"/proc/{web.process.pid}/environ", "rb").read(),
            "the server's environment lacks the token",
        )
    with Web(place, policy, "--no-token") as web:
        cli.check(
            web.initialize().status == 200 and "every user" in web.said, "none, with a warning", web.said
        )
    with Web(place, policy, "--remote", "--host", "tools.example", listen="0.0.0.0:0") as web:
        web.name = "127.0.0.1"
        cli.check(
            web.send(PING, {"Host": f"tools.example:{web.port}"}).status == 400 and "without TLS" in web.said,
            "a name of the operator's",
            web.said,
        )
        cli.check(web.send(PING, {"Host": f"other.example:{web.port}"}).status == 403, "and no other")
    with Web(place, policy, "--name", "data-tools") as web:
        info = web.initialize().json["result"]["serverInfo"]
        cli.check(
            info["name"] == info["title"] == "data-tools", "a name of the operator's for the server", info
        )
    certificate, key = place.write("home/cert.pem", ""), place.write("home/key.pem", "", 0o600)
    self_signed(certificate, key, "localhost")
    with Web(place, policy, "--tls-cert", certificate, "--tls-key", key) as web:
        cli.check(
            web.scheme == "https"
            and web.initialize().status == 200
            and status(web.call("add", {"a": 1, "b": 1})) == "ok",
            "TLS",
        )
        with web.raw() as plain:
            plain.sendall(b"POST /mcp HTTP/1.1\r\n\r\n")
            plain.settimeout(10 * PATIENCE)
            cli.check(b"HTTP" not in plain.recv(100), "and nothing else on that port")
    loose = place.write("home/loose", "a-token-of-some-length", 0o644)
    planted = place.write("home/planted/file", "a-token-of-some-length", 0o600)
    place.run("exec", "--write", os.path.dirname(planted), "true")
    for args, words in (
        (["--listen", "0.0.0.0:0"], "other hosts"),
        (["--listen", "localhost:1"], "not an address"),
        (["--token-file", secret], "--listen"),
        (["--listen", "127.0.0.1:0", "--name", "-x"], "starting with a letter"),
        (["--listen", "127.0.0.1:0", "--token-file", loose], "other users can read"),
        (["--listen", "127.0.0.1:0", "--token-file", planted], "written by a tool"),
        (["--listen", "127.0.0.1:0", "--tls-key", planted, "--tls-cert", certificate], "written by a tool"),
        (["--listen", "127.0.0.1:0", "--tls-key", key, "--tls-cert", planted], "written by a tool"),
        (["--listen", "127.0.0.1:0", "--token-file", place.write("home/short", "x", 0o600)], "characters"),
        (["--listen", "127.0.0.1:0", "--token-env", "NONE"], "no variable NONE"),
        (["--listen", "127.0.0.1:0", "--no-token", "--token-file", secret], "both set the token"),
        (["--listen", "0.0.0.0:0", "--no-token", "--remote"], "must require a token"),
        (["--listen", "127.0.0.1:0", "--idle", "x"], "not a duration"),
        (["--listen", "127.0.0.1:0", "--tls-key", key], "needs its"),
        (
            [
                "--listen",
                "127.0.0.1:0",
                "--tls-key",
                place.write("home/open.pem", "x", 0o644),
                "--tls-cert",
                certificate,
            ],
            "other users can read",
        ),
        (["--listen", "127.0.0.1:0", "--tls-key", secret, "--tls-cert", certificate], "no pair"),
    ):
        answer = place.run("mcp", "--policy", policy, *args)
        cli.check(
            answer.code in (125, 126) and words in answer.err and not answer.out,
            f"refused: {' '.join(args[1:])}",
            answer,
        )


with place:
    with open(policy, "a", encoding="utf-8") as more:
        more.write('\n[tool.slow]\ndescription = "Is slow."\ncommand = ["sh", "-c", "sleep 11; echo done"]\n')
    for part in (admission, framing, sessions, alone, older, many, ends, options, patience, deaf, hostile):
        part()
cli.finish()
