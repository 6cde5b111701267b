# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The console of toolcage serve over HTTP: who may do what with which token, what the page's files are sent with, and
the history. browser.py opens the page."""

import json
import os
import pathlib
import re
import time

from server import PATIENCE, POLICY, Server, cli
from scene import sleeping, until

cli.require_user()
check = cli.check
PAGE = pathlib.Path(__file__).resolve().parents[3] / "src/serve/console"
TCP = ("--listen", "127.0.0.1:0", "--console")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TOKEN, OTHER = "client-" + "a" * 32, "person-" + "b" * 32


def arrange(policy="[audit]\n" + POLICY):
    place = cli.Place()
    mark = f"60.{os.getpid()}{time.monotonic_ns() % 1000000}"
    return place, place.write("home/project/tools.toml", policy.replace("MARK", mark)), mark


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def files():
    place, policy, _ = arrange()
    with place, Server(place, policy, *TCP) as server:
        size = 0
        index = server.ask("GET", "/", Authorization=None)
        names = [f"/console/{path.name}" for path in PAGE.iterdir() if path.name != "index.html"]
        check(re.search(r'src="(\S+)"', index.text).group(1) in names, "the page names its script", index)
        for path in ["/", *sorted(names)]:
            answer = server.ask("GET", path, Authorization=None)
            size += len(answer.text.encode())
            heads = answer.heads
            check(
                answer.status == 200
                and heads["content-security-policy"].startswith(CSP)
                and "require-trusted-types-for 'script'" in heads["content-security-policy"]
                and heads["x-content-type-options"] == "nosniff"
                and heads["referrer-policy"] == "no-referrer"
                and heads["cross-origin-opener-policy"] == "same-origin"
                and heads["cache-control"] == "no-store"
                and "access-control-allow-origin" not in heads,
                f"{path} is sent with strict headers",
                answer,
            )
        check(size < 100000, "all files have less than 100 kB", size)
        for method, path, heads, wanted in (
            ("GET", "/", {"Host": "evil.example"}, 403),
            ("GET", "/", {"Origin": "http://evil.example"}, 403),
            ("GET", "/console/console.js", {"Host": "evil.example"}, 403),
            ("POST", "/", {}, 401),
            ("GET", "/console/", {}, 401),
            ("GET", "/console/../v1/approvals", {}, 401),
            ("GET", "/console/console.js/", {}, 401),
            ("GET", "//", {}, 401),
        ):
            answer = server.ask(method, path, Authorization=None, **heads)
            check(answer.status == wanted, f"{wanted}: {method} {path} {heads or ''}", answer)
    place, policy, _ = arrange()
    with place, Server(place, policy, "--listen", "127.0.0.1:0") as server:
        check(server.ask("GET", "/").status == 404, "without --console there is no page")
        check(server.operator is None, "nor an operator's token")
    for path in PAGE.glob("*.js"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|\.on\w+ =|style=",
            path.read_text(),
        )
        check(not found, f"{path.name} makes no markup of text", found)


def roles():
    place, policy, mark = arrange()
    with place, Server(place, policy, *TCP) as server:
        check(server.operator and server.operator != server.token, "the operator has a second token")
        person, client = bearer(server.operator), bearer(server.token)
        begun = server.run("asked", detach=True).json
        check("id" in begun, "a client starts a call", begun)
        waiting = server.ask("GET", "/v1/approvals", **person).json["approvals"]
        body = {"answer": "approve", "digest": waiting[0]["digest"]}
        place_of = f"/v1/approvals/{waiting[0]['id']}"
        for what, heads, wanted in (
            ("the client's token", client, 403),
            ("a wrong token", bearer("x" * 64), 401),
            ("no token", {"Authorization": None}, 401),
            ("an empty token", bearer(""), 401),
            ("half of the operator's token", bearer(server.operator[:32]), 401),
            ("the operator's token and more", bearer(server.operator + "0"), 401),
            ("both tokens", bearer(server.token + server.operator), 401),
            ("two tokens in a list", bearer(f"{server.token}, {server.operator}"), 401),
            ("the operator's token of another scheme", {"Authorization": f"Basic {server.operator}"}, 401),
        ):
            for method, path, sent in (
                ("GET", "/v1/approvals", None),
                ("POST", place_of, body),
                ("GET", "/v1/audit", None),
            ):
                answer = server.ask(method, path, sent, **heads)
                check(answer.status == wanted, f"{wanted}: {what}, {method} {path[:16]}", answer)
        state = server.ask("GET", f"/v1/calls/{begun['id']}").json["state"]
        check(state == "waiting", "none of them lets the call run", state)
        answer = server.ask("POST", "/v1/calls", {"tool": "say", "arguments": {"text": "x"}}, **person)
        check(
            answer.status == 403 and "starts no calls" in answer.text,
            "403: the operator starts no call",
            answer,
        )
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        answer = server.ask("POST", "/mcp", ping, **person)
        check(answer.status == 403, "403: nor as an MCP client", answer)
        check(
            server.ask("POST", place_of, body, Origin="http://evil.example", **person).status == 403,
            "403: nor answers from another page",
        )
        check(server.ask("POST", place_of, body, **person).status == 202, "the operator approves")
        result = server.ask("GET", f"/v1/calls/{begun['id']}/result")
        check(result.json["stdout"]["text"] == "approved\n", "the approved call runs", result)
        begun = server.run("wait", detach=True).json
        check(
            server.ask("DELETE", f"/v1/calls/{begun['id']}", **person).status == 202,
            "the operator cancels a call",
        )
        check(until(lambda: not sleeping(mark)), "it ends")
        verdict = server.ask(
            "POST", "/v1/explain", {"tool": "say", "access": "read /etc/shadow"}, **person
        ).json["verdict"]
        check(verdict["allowed"] is False, "the operator asks what a tool may do", verdict)
        answer = server.run("say", {"text": "x"}, access="read /")
        check(answer.status == 422, "422: a call with a question", answer)


def crowd():
    place, policy, _ = arrange()
    with place, Server(place, policy, *TCP) as server:
        person = bearer(server.operator)
        for _ in range(12):
            server.run("asked", stdin="x" * 900000, detach=True)
        answer = server.ask("GET", "/v1/approvals", **person)
        check(
            answer.json["more"] and 8 <= len(answer.json["approvals"]) < 12 and len(answer.text) < 10000000,
            "requests of clients are listed up to a limit",
            (answer.json["more"], len(answer.json["approvals"]), len(answer.text)),
        )
        first = answer.json["approvals"][0]
        server.ask(
            "POST", f"/v1/approvals/{first['id']}", {"answer": "deny", "digest": first["digest"]}, **person
        )
        check(
            until(lambda: first["id"] not in server.ask("GET", "/v1/approvals", **person).text),
            "a listed one can be answered",
        )


def tokens():
    place, policy, _ = arrange()
    with place:
        mine = place.write("home/mine", TOKEN + "\n", 0o600)
        same = place.write("home/same", TOKEN + "\n", 0o600)
        theirs = place.write("home/theirs", OTHER + "\n", 0o600)
        shared = place.write("home/shared", OTHER + "\n", 0o644)
        short = place.write("home/short", "short\n", 0o600)
        listen = ("--listen", "127.0.0.1:0")
        for args, said in (
            ((*listen, "--token-file", mine, "--operator-token-file", same), "the same token"),
            ((*listen, "--operator-token-file", shared), "other users can read"),
            ((*listen, "--operator-token-file", short), "characters"),
            ((*listen, "--operator-token-file", place.home + "/none"), "cannot read"),
            (("--operator-token-file", theirs), "--operator-token-file is only for"),
            (("--console", "--socket", place.home + "/s"), "cannot open the console"),
        ):
            answer = place.run("serve", "--policy", policy, *args)
            check(answer.code in (125, 126) and said in answer.err, f"refused: {said}", answer)
        with Server(place, policy, *TCP, "--token-file", mine, "--operator-token-file", theirs) as server:
            check(
                TOKEN not in server.said and OTHER not in server.said,
                "tokens of files are not printed",
                server.said,
            )
            check(
                server.ask("GET", "/v1/approvals", **bearer(OTHER)).status == 200, "the file's token operates"
            )
            check(server.ask("GET", "/v1/approvals", **bearer(TOKEN)).status == 403, "the clients' does not")
        with Server(place, policy, *TCP, "--no-token") as server:
            check(
                server.run("say", {"text": "x"}).json["status"] == "ok", "with --no-token a client needs none"
            )
            check(server.ask("GET", "/v1/approvals").status == 403, "403: it approves nothing")
            answer = server.ask("GET", "/v1/approvals", **bearer(server.operator))
            check(answer.status == 200, "the operator's token is needed all the same", answer)
            answer = server.ask("POST", "/v1/calls", {"tool": "say"}, **bearer(server.operator))
            check(answer.status == 403, "403: and starts nothing", answer)


def record(**members):
    return json.dumps({"prev": "x", "seq": 0, **members, "hash": "x"})


def history():
    place, policy, _ = arrange(POLICY)
    with place, Server(place, policy, *TCP) as server:
        person = bearer(server.operator)
        answer = server.ask("GET", "/v1/audit", **person)
        check(
            answer.json == {"calls": [], "more": False, "log": False},
            "without a log the history is empty",
            answer,
        )
    place, policy, _ = arrange()
    with place, Server(place, policy, *TCP) as server:
        person = bearer(server.operator)
        for text in ("one", "two"):
            server.run("say", {"text": text})
        server.run("say", {"text": 1})
        found = server.ask("GET", "/v1/audit", **person).json
        check(
            found["log"] and [call["status"] for call in found["calls"]] == ["denied", "ok", "ok"],
            "the newest call comes first",
            found,
        )
        check(
            found["calls"][1]["command"] == ["echo", "two"] and found["calls"][1]["us"] > 0,
            "a call has its command and time",
            found,
        )
        server.run("echo", {}, stdin="x")
        found = server.ask("GET", "/v1/audit", **person).json["calls"]
        check(len(found) == 4 and found[0]["tool"] == "echo", "later calls are read", found)
        for query, wanted in (
            ("tool=echo", 1),
            ("status=denied", 1),
            ("status=ok&tool=say", 2),
            ("limit=2", 2),
            ("since=1h", 4),
            ("since=2999-01-01", 0),
            ("tool=none", 0),
            ("tool=&status=&since=", 4),
        ):
            found = server.ask("GET", f"/v1/audit?{query}", **person)
            check(len(found.json["calls"]) == wanted, f"?{query}: {wanted} calls", found)
        check(server.ask("GET", "/v1/audit?limit=2", **person).json["more"], "it says that there are more")
        for query in (
            "limit=0",
            "limit=10001",
            "limit=-1",
            "limit=x",
            "limit=",
            "since=soon",
            "since=" + "1" * 500,
        ):
            check(server.ask("GET", f"/v1/audit?{query}", **person).status == 422, f"422: ?{query[:20]}")
        log = next(pathlib.Path(place.home, ".local/state/toolcage/audit").glob("*.jsonl"))
        with open(log, "a", encoding="utf-8") as out:
            out.write("damaged\n{}\n[1]\n")
            out.write(
                record(kind="run", call="A" * 26, time="2030", tool="t" * 5000, command=["w" * 100000] * 9)
                + "\n"
            )
            out.write(record(kind="run", call="B" * 26, time=7, tool={}, command={"bytes": 1}) + "\n")
            out.write(
                record(
                    kind="result", call="C" * 26, denials=[{"target": "\u202e" * 4000}] * 20, status="ok\x00x"
                )
                + "\n"
            )
        found = server.ask("GET", "/v1/audit", **person)
        check(found.status == 200 and len(found.json["calls"]) == 7, "damaged records are left out", found)
        check(len(found.text) < 30000, "a long record is shortened", len(found.text))
        check(server.ask("GET", "/v1/health").status == 200, "the server is well")
        with open(log, "a", encoding="utf-8") as out:
            for number in range(12000):
                call = f"{number:026}"
                out.write(
                    record(
                        kind="run",
                        call=call,
                        time=f"2031-01-01T00:00:00.{number:06}Z",
                        tool="t",
                        command=["true"],
                    )
                    + "\n"
                )
                out.write(record(kind="result", call=call, status="ok", total_us=number) + "\n")
        began = time.monotonic()
        found = server.ask("GET", "/v1/audit?limit=10000", **person)
        check(
            len(found.json["calls"]) == 10000 and found.json["calls"][0]["us"] == 11999,
            "the newest 10,000 calls are kept",
            len(found.json["calls"]),
        )
        check(
            time.monotonic() - began < 5 * PATIENCE,
            "24,000 records are read in seconds",
            time.monotonic() - began,
        )
        again = server.ask("GET", "/v1/audit?limit=10000", **person)
        check(again.text == found.text, "the same log has the same history")


def watchers():
    place, policy, mark = arrange()
    stream = {"Accept": "text/event-stream"}
    with place, Server(place, policy, *TCP) as server:
        person = bearer(server.operator)
        caller = server.begin("POST", "/v1/calls", {"tool": "wait"}, **stream)
        check(until(lambda: sleeping(mark)), "the tool runs")
        call = server.ask("GET", "/v1/calls").json["calls"][0]["id"]
        viewer = server.begin("GET", f"/v1/calls/{call}", **person, **stream)
        time.sleep(0.5)
        viewer.close()
        time.sleep(1)
        check(sleeping(mark) == 1, "an onlooker who leaves ends nothing")
        viewer = server.begin("GET", f"/v1/calls/{call}", **person, **stream)
        time.sleep(0.5)
        caller.close()
        check(until(lambda: not sleeping(mark)), "the call ends with its client, whoever looks on")
        check("cancelled" in viewer.getresponse().read().decode(), "the onlooker gets the result")
        viewer.close()


for part in (files, roles, crowd, tokens, history, watchers):
    part()
cli.finish()
