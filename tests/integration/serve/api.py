# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The HTTP API of toolcage serve: calls, streams, repeated requests, approvals, refusals, and those who mean it ill."""

import concurrent.futures
import fcntl
import json
import os
import re
import signal
import socket
import stat
import subprocess
import time

from server import PATIENCE, POLICY, Server, UnixConnection, cli
from scene import sleeping, until

cli.require_user()
check = cli.check
STREAM = {"Accept": "text/event-stream"}


def arrange():
    place = cli.Place()
    mark = f"60.{os.getpid()}{time.monotonic_ns() % 1000000}"
    return place, place.write("home/project/tools.toml", POLICY.replace("MARK", mark)), mark


def calls():
    place, policy, mark = arrange()
    with place, Server(place, policy) as server:
        mode = os.stat(server.socket).st_mode
        check(stat.S_ISSOCK(mode) and not mode & 0o077, "only this user can connect to the socket", oct(mode))
        health = server.ask("GET", "/v1/health")
        check(
            health.status == 200 and health.json["status"] == "ok", "the server says that it is well", health
        )
        names = [tool["name"] for tool in server.ask("GET", "/v1/tools").json["tools"]]
        check({"say", "wait", "asked"} <= set(names), "all tools are listed", names)
        answer = server.run("say", {"text": "hi"})
        check(
            answer.status == 200 and answer.json["stdout"]["text"] == "hi\n",
            "a call answers with its result",
            answer,
        )
        answer = server.run("echo", stdin="a\u00e9\n")
        check(answer.json["stdout"]["text"] == "a\u00e9\n", "the input reaches the tool", answer)
        answer = server.run("say", {"text": 1})
        check(
            answer.status == 200 and answer.json["status"] == "denied",
            "a refused call is a result, too",
            answer,
        )
        answer = server.run("wait", {}, limits={"timeout": "300ms"})
        check(answer.json["status"] == "timeout", "a limit is reduced", answer)
        answer = server.run("wait", {}, limits={"timeout": "1h"})
        check(answer.status in (200, 403) and "timeout" in answer.text, "a limit is never raised", answer)
        check(until(lambda: not sleeping(mark)), "nothing of them runs any more")
        begun = server.run("wait", {}, detach=True)
        check(
            begun.status == 202 and begun.json["state"] == "running",
            "a detached call is answered at once",
            begun,
        )
        path = f"/v1/calls/{begun.json['id']}"
        check(server.ask("GET", path).json["state"] == "running", "a running call is shown")
        check(server.ask("DELETE", path).status == 202, "it can be cancelled")
        result = server.ask("GET", path + "/result")
        check(result.json["status"] == "cancelled", "the result of a cancelled call says so", result)
        check(server.ask("GET", path).json["status"] == "cancelled", "an ended call is shown")
        listed = server.ask("GET", "/v1/calls").json["calls"]
        check(
            listed[0]["id"] == begun.json["id"] and len(listed) >= 4,
            "calls are listed, the newest first",
            listed,
        )
        grant = server.ask("POST", "/v1/explain", {"tool": "count"})
        check(grant.status == 200 and "/workspace" in grant.text, "a grant is explained", grant)
        metrics = server.ask("GET", "/v1/metrics").text
        check(
            'toolcage_calls_total{status="cancelled"} 1\n' in metrics, "calls are counted by status", metrics
        )
        check(
            re.search(
                r'toolcage_call_seconds_bucket\{le="\+Inf"\} (\d+)\n[^\n]*\n?toolcage_call_seconds_sum',
                metrics,
            ),
            "their times are a histogram",
            metrics,
        )
        answer = server.run("flood", {}, limits={"output": "1MiB"})
        check(answer.json["stdout"]["truncated"], "long output is cut", answer)


def streams():
    place, policy, mark = arrange()
    with place, Server(place, policy) as server:
        answer = server.run("lines", heads=STREAM)
        names = [name for name, _ in answer.events]
        check(
            names[0] == "call" and names[-1] == "result" and names.count("output") >= 2,
            "a stream has the call, what it prints, and its result",
            answer,
        )
        text = "".join(data.get("text", "") for name, data in answer.events if name == "output")
        check(text == "line 1\nline 2\nline 3\n", "all output is in the stream", answer)
        answer = server.run("bytes", heads=STREAM)
        check(
            "\x1b" not in answer.text and "base64" in answer.text, "bytes that are no text are base64", answer
        )
        begun = server.run("lines", detach=True).json
        answer = server.ask("GET", f"/v1/calls/{begun['id']}", **STREAM)
        check(answer.events[-1][0] == "result", "a stream can begin while the call runs", answer)
        answer = server.ask("GET", f"/v1/calls/{begun['id']}", **STREAM)
        check([name for name, _ in answer.events] == ["call", "result"], "or when it has ended", answer)
        connection = server.begin("POST", "/v1/calls", {"tool": "wait"}, **STREAM)
        check(until(lambda: sleeping(mark)), "the tool runs")
        connection.close()
        check(until(lambda: not sleeping(mark)), "a client that leaves cancels its call")
        connection = server.begin("POST", "/v1/calls", {"tool": "wait"}, Idempotency_Key="k")
        check(until(lambda: sleeping(mark)), "the tool runs again")
        connection.close()
        time.sleep(1)
        check(sleeping(mark) == 1, "a call with a key runs on")
        for call in server.ask("GET", "/v1/calls").json["calls"]:
            server.ask("DELETE", f"/v1/calls/{call['id']}")
        check(until(lambda: not sleeping(mark)), "until it is cancelled")


def repeats():
    place, policy, _ = arrange()
    body = {"tool": "count"}
    with place:
        with Server(place, policy) as server:
            first = server.ask("POST", "/v1/calls", body, Idempotency_Key="one")
            again = server.ask("POST", "/v1/calls", body, Idempotency_Key="one")
            check(
                first.json["stdout"]["text"] == "1\n" and first.text == again.text,
                "a repeated request runs once",
                again,
            )
            other = server.ask("POST", "/v1/calls", {"tool": "echo"}, Idempotency_Key="one")
            check(other.status == 422, "a key of another request is refused", other)
            for key in ("a b", "k" * 256, "\u00e9"):
                answer = server.ask("POST", "/v1/calls", body, Idempotency_Key=key.encode())
                check(answer.status == 400, f"400: the key {key[:10]!r}", answer)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
        with Server(place, policy) as server:
            late = server.ask("POST", "/v1/calls", body, Idempotency_Key="one")
            check(
                late.status == 409 and first.json["call"] in late.text,
                "after a restart it runs nothing, and names the call",
                late,
            )
            fresh = server.ask("POST", "/v1/calls", body, Idempotency_Key="two")
            check(fresh.json["stdout"]["text"] == "2\n", "a new key runs", fresh)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                jobs = [
                    pool.submit(server.ask, "POST", "/v1/calls", body, Idempotency_Key="three")
                    for _ in range(8)
                ]
                texts = {job.result().text for job in jobs}
            check(len(texts) == 1 and '"3\\n"' in texts.pop(), "eight at once with one key run once")
            keys = os.path.dirname(server.socket) + "/serve-keys/"
            for number in range(10000):
                os.close(os.open(f"{keys}{number}", os.O_WRONLY | os.O_CREAT, 0o600))
        with Server(place, policy) as server:
            answers = [
                server.ask("POST", "/v1/calls", body, Idempotency_Key=f"full{number}") for number in range(3)
            ]
            check(
                [a.status for a in answers] == [503] * 3,
                "a key is refused while there are too many",
                answers,
            )
            os.unlink(keys + "0")
            late = server.ask("POST", "/v1/calls", body, Idempotency_Key="one")
            check(late.status == 409, "but those that are known are known", late)


def approvals():
    place, policy, _ = arrange()
    with place, Server(place, policy) as server:
        begun = server.run("asked", detach=True)
        check(begun.json["state"] in ("waiting", "running"), "a call that needs a yes is accepted", begun)
        path = f"/v1/calls/{begun.json['id']}"
        check(server.ask("GET", path).json["state"] == "waiting", "it waits for a person")
        waiting = server.ask("GET", "/v1/approvals").json["approvals"]
        check(
            len(waiting) == 1 and json.loads(waiting[0]["subject"])["command"] == ["echo", "approved"],
            "its request is shown",
            waiting,
        )
        place_of = f"/v1/approvals/{waiting[0]['id']}"
        for body, wanted in (
            ({"answer": "approve"}, 409),
            ({"answer": "approve", "digest": "sha256:" + "0" * 64}, 409),
            ({"answer": "yes", "digest": waiting[0]["digest"]}, 422),
            (["approve"], 400),
        ):
            answer = server.ask("POST", place_of, body)
            check(answer.status == wanted, f"{wanted}: the answer {json.dumps(body)[:50]}", answer)
        check(server.ask("GET", path).json["state"] == "waiting", "none of them lets it run")
        answer = server.ask("POST", place_of, {"answer": "approve", "digest": waiting[0]["digest"]})
        check(answer.status == 202, "a yes is taken", answer)
        result = server.ask("GET", path + "/result")
        check(result.json["stdout"]["text"] == "approved\n", "the approved call runs", result)
        answer = server.ask("POST", place_of, {"answer": "approve", "digest": waiting[0]["digest"]})
        check(answer.status == 404, "a yes counts once", answer)
        begun = server.run("asked", detach=True).json
        waiting = server.ask("GET", "/v1/approvals").json["approvals"][0]
        server.ask(
            "POST",
            f"/v1/approvals/{waiting['id']}",
            {"answer": "deny", "digest": waiting["digest"], "reason": "not now"},
        )
        result = server.ask("GET", f"/v1/calls/{begun['id']}/result")
        check(
            result.json["status"] == "denied" and "not now" in result.json["message"],
            "a no is said to the model",
            result,
        )
        begun = server.run("asked", detach=True).json
        waiting = server.ask("GET", "/v1/approvals").json["approvals"][0]
        place.run("approvals", "deny", waiting["id"], "--reason", "from a terminal")
        result = server.ask("GET", f"/v1/calls/{begun['id']}/result")
        check("from a terminal" in result.json["message"], "toolcage approvals answers, too", result)
        begun = server.run("asked", detach=True).json
        server.ask("DELETE", f"/v1/calls/{begun['id']}")
        check(server.ask("GET", "/v1/approvals").json["approvals"] == [], "a cancelled call no longer asks")


def refusals():
    place, policy, mark = arrange()
    with place, Server(place, policy, "--calls", "3") as server:
        for method, path, body, heads, wanted in (
            ("GET", "/v1/nothing", None, {}, 404),
            ("GET", "/v1/calls/../health", None, {}, 404),
            ("GET", "/v1/calls/0", None, {}, 404),
            ("GET", "/v1/calls/" + "0" * 2000, None, {}, 404),
            ("PUT", "/v1/calls", {"tool": "say"}, {}, 405),
            ("DELETE", "/v1/health", None, {}, 405),
            ("GET", "/", None, {}, 404),
            ("POST", "/v1/calls", b"{", {}, 400),
            ("POST", "/v1/calls", b'{"tool": "say", "tool": "wait"}', {}, 400),
            ("POST", "/v1/calls", [], {}, 400),
            ("POST", "/v1/calls", {}, {}, 422),
            ("POST", "/v1/calls", {"tool": "none"}, {}, 404),
            ("POST", "/v1/calls", {"tool": "server.x"}, {}, 404),
            ("POST", "/v1/calls", {"tool": "say", "workspace": "/"}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say", "limits": {"workspace": "/"}}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say", "limits": {"read": "/"}}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say", "limits": {"timeout": 5}}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say", "limits": {"timeout": "soon"}}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say", "arguments": []}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say", "detach": 1}, {}, 422),
            ("POST", "/v1/calls", {"tool": "say"}, {"Content_Type": "text/plain"}, 415),
            ("GET", "/v1/health", None, {"Host": "evil.example"}, 403),
            ("GET", "/v1/health", None, {"Origin": "http://evil.example"}, 403),
        ):
            answer = server.ask(method, path, body, **heads)
            shown = f"{method} {path[:30]} {json.dumps(body)[:60] if not isinstance(body, bytes) else body}"
            check(answer.status == wanted, f"{wanted}: {shown} {heads or ''}", answer)
            if path.startswith("/v1/"):
                check(
                    answer.heads.get("content-type") == "application/problem+json" and answer.json["detail"],
                    f"it says why: {shown}",
                    answer,
                )
        for _ in range(3):
            server.run("wait", detach=True)
        answer = server.run("say", {"text": "x"})
        check(answer.status == 503, "a fourth call at once is refused", answer)
        answer = server.ask("GET", "/v1/health")
        check(answer.json["running"] == 3, "other requests are answered meanwhile", answer)
        server.process.terminate()
        check(server.process.wait(20 * PATIENCE) == 0, "the server ends when asked to")
        check(until(lambda: not sleeping(mark)), "its calls end with it")


def places():
    place, policy, _ = arrange()
    with place, Server(place, policy) as server:
        answer = place.run("serve", "--policy", policy)
        check(
            answer.code == 125 and "another server listens" in answer.err,
            "a second server is refused",
            answer,
        )
        server.process.kill()
        server.process.wait()
        with Server(place, policy) as later:
            check(later.ask("GET", "/v1/health").status == 200, "the socket of a killed server is replaced")
        place.write("home/file", "kept")
        answer = place.run("serve", "--policy", policy, "--socket", place.home + "/file")
        check(answer.code == 125 and "not a socket" in answer.err, "a file is not replaced", answer)
        held = os.open(place.home, os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = place.run("serve", "--policy", policy, "--socket", place.home + "/locked")
        check(answer.code == 125 and "has locked" in answer.err, "a locked directory is no trap", answer)
        os.close(held)
        os.chmod(place.project, 0o777)
        answer = place.run("serve", "--policy", policy, "--socket", place.project + "/s")
        check(
            answer.code == 125 and "others can write" in answer.err,
            "a directory that others can write is refused",
            answer,
        )
        os.chmod(place.project, 0o755)
        answer = place.run("serve", "--policy", policy, "--socket", "s", "--listen", "127.0.0.1:0")
        check(answer.code == 125 and "not both" in answer.err, "a socket and an address are refused", answer)
        for calls_max in ("0", "193", "x", "-1"):
            answer = place.run("serve", "--policy", policy, "--calls", calls_max)
            check(answer.code == 125 and "--calls" in answer.err, f"refused: --calls {calls_max}", answer)
        inside = place.run("exec", "--read", place.home, "--", "ls", os.path.dirname(server.socket))
        check("serve.sock" not in inside.out, "no cage sees the socket", inside)


def activation():
    """The socket of a service manager."""
    place, policy, _ = arrange()
    with place:
        path = place.home + "/activated"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            place.own(path)
            run = 'exec 3<&%d; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"' % listener.fileno()
            argv = ["sh", "-c", run, "sh", *place.argv("serve", "--policy", policy)]
            with subprocess.Popen(
                argv,
                cwd=place.project,
                env=place.environ,
                pass_fds=[listener.fileno()],
                stderr=subprocess.PIPE,
            ) as process:
                process.stderr.readline()
                listener.close()
                connection = UnixConnection(path)
                connection.request("GET", "/v1/health")
                check(connection.getresponse().status == 200, "the socket of a service manager is served")
                connection.close()
                process.kill()
        argv[2] = 'exec 3</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        done = subprocess.run(
            argv, cwd=place.project, env=place.environ, capture_output=True, text=True, check=False
        )
        check(
            done.returncode == 125 and "unix socket" in done.stderr,
            "another descriptor is refused",
            done.stderr,
        )


def tcp():
    place, policy, _ = arrange()
    with place, Server(place, policy, "--listen", "127.0.0.1:0") as server:
        check(server.run("say", {"text": "hi"}).json["status"] == "ok", "a call with the token runs")
        answer = server.ask("GET", "/v1/health", Authorization=None)
        check(answer.status == 401, "401: no token", answer)
        answer = server.ask("GET", "/v1/approvals")
        check(answer.status == 403, "403: clients over TCP approve nothing", answer)
        answer = server.ask("POST", "/v1/approvals/x", {"answer": "approve"})
        check(answer.status == 403, "403: nor answer", answer)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        answer = server.ask("POST", "/mcp", ping, Accept="application/json, text/event-stream")
        check(answer.status in (200, 400) and "jsonrpc" in answer.text, "MCP is served beside it", answer)
        answer = server.ask("GET", "/v1/health", Origin=f"http://127.0.0.1:{server.port}")
        check(answer.status == 200, "a page of its own may use it", answer)
        answer = server.ask("GET", "/v1/health", Origin="http://127.0.0.1")
        check(answer.status == 403, "a page of this host's port 80 may not", answer)
        answer = server.ask("GET", "/v1/health", Transfer_Encoding="chunked")
        check(answer.status == 411, "411: a body without a length", answer)
        half = []
        for _ in range(260):
            half.append(socket.create_connection(("127.0.0.1", server.port)))
            head = f"POST /v1/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n"
            half[-1].sendall(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
        answer = server.run("say", {"text": "hi"})
        check(answer.status == 200, "clients that do not finish their requests shut nobody out", answer)
        for sock in half:
            sock.close()


def crowd():
    place, policy, _ = arrange()
    with place, Server(place, policy, "--calls", "16") as server:

        def patient(number):
            while True:
                answer = server.run("say", {"text": str(number)})
                if answer.status != 503:
                    return answer.status == 200 and answer.json["stdout"]["text"] == f"{number}\n"
                time.sleep(0.05)

        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            good = list(pool.map(patient, range(200)))
        check(all(good), "200 calls of 64 clients end, 16 at once", good.count(False))
        deaf = server.begin("POST", "/v1/calls", {"tool": "flood"}, **STREAM)
        time.sleep(1)
        check(
            server.run("say", {"text": "x"}).json["status"] == "ok", "a client that never reads stops nobody"
        )
        memory = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server.process.pid}/status").read()).group(1))
        check(memory < 200000, "unread output is dropped", memory)
        answer = deaf.getresponse().read().decode()
        check(
            "event: omitted" in answer and "event: result" in answer,
            "it is told what it missed",
            answer[-300:],
        )
        deaf.close()


def bulk():
    """Results as large as tools can make them, and clients that do not read them."""
    place, policy, _ = arrange()
    with place, Server(place, policy) as server:
        answer = server.run("controls", {})
        check(
            answer.json["status"] == "error" and "32 MiB" in answer.json["error"]["message"],
            "a result above 32 MiB is an error that says so",
            answer,
        )
        check("output" in answer.json["error"]["hint"], "and how to get less", answer)
        begun = server.run("controls", limits={"output": "2MiB"}, detach=True).json
        path = f"/v1/calls/{begun['id']}"
        whole = server.ask("GET", path + "/result")
        check(
            len(whole.text) > 12000000 and whole.json["stdout"]["truncated"],
            "a large result arrives whole",
            whole.text[:300],
        )
        answer = server.ask("GET", path, **STREAM)
        check(answer.events[-1] == ("result", whole.json), "and as an event", answer.text[:300])
        deaf = [server.begin("GET", path + "/result") for _ in range(8)]
        deaf += [server.begin("GET", path, **STREAM) for _ in range(8)]
        time.sleep(1)
        check(
            server.run("say", {"text": "x"}).json["status"] == "ok",
            "clients that read nothing stop no other call",
        )
        memory = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{server.process.pid}/status").read()).group(1))
        check(memory < 250000, "they share it", memory)
        for connection in deaf:
            connection.close()


for part in (calls, streams, repeats, approvals, refusals, places, activation, tcp, crowd, bulk):
    part()
cli.finish()
