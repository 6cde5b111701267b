# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Collected files that results link: only the session of their call reads them, and only so many are stored."""

import scene
from scene import cli
from web import Web

POLICY = """
[defaults]
memory = { max = "256MiB", by = "any" }
[tool.make]
command = ["sh", "-c", "cd /workspace && for i in $(seq $1); do { echo $i; head -c $2 /dev/zero; } > $i.bin; done; seq 20000 > long.txt; echo a > short.txt", "make", "{count}", "{bytes}"]
arguments.count = { type = "integer" }
arguments.bytes = { type = "integer" }
filesystem = { writable = ["/workspace"] }
collect = ["*"]
"""
OLDER = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "lines", "version": "0"}}


def links(answer):
    return [part for part in answer["result"]["content"] if part["type"] == "resource_link"]


def kinds(answer):
    return sorted(part["type"] for part in answer["result"]["content"])


def results_link_long_files(ask, call):
    answer = call(2, 9000)
    by_name = {link["name"]: link for link in links(answer)}
    cli.check(
        kinds(answer) == ["resource", "resource_link", "resource_link", "resource_link", "text"]
        and sorted(by_name) == ["1.bin", "2.bin", "long.txt"]
        and by_name["1.bin"]["size"] == 9002,
        "bytes and long texts are links, a short text is in the result",
        answer,
    )
    cli.check("AAAAAAAA" not in str(answer), "a link comes without the content", answer)
    contents = ask("resources/read", {"uri": by_name["long.txt"]["uri"]})["result"]["contents"]
    cli.check(
        len(contents) == 1 and contents[0]["text"].endswith("\n20000\n"),
        "a linked text can be read",
        contents,
    )
    blob = ask("resources/read", {"uri": by_name["1.bin"]["uri"]})["result"]["contents"][0]["blob"]
    cli.check(blob.startswith("MQoAAAAA") and len(blob) == 12004, "and bytes, as base64", blob[:80])
    listed = ask("resources/list", {})["result"]["resources"]
    cli.check({r["uri"] for r in listed} == {link["uri"] for link in links(answer)}, "all are listed", listed)
    answer = call(30, 4000)
    cli.check(
        len(links(answer)) == 16 and kinds(answer).count("resource") == 16,
        "a result has 16 links, further files are in it",
        kinds(answer),
    )
    listed = ask("resources/list", {})["result"]["resources"]
    old = ask("resources/read", {"uri": by_name["1.bin"]["uri"]})
    cli.check(
        len(listed) == 16 and old["error"]["code"] == -32002, "newer files replace the oldest", (listed, old)
    )
    return links(answer)[0]["uri"]


cli.require_user()
with cli.Place() as place:
    policy = place.write("home/project/tools.toml", POLICY)

    with scene.Server(place, policy) as server:
        told = server.ask("initialize", {**OLDER, "protocolVersion": "2025-11-25"}, "init")
        cli.check(
            told["result"]["capabilities"].get("resources") == {}, "a session's server has resources", told
        )
        results_link_long_files(
            server.ask, lambda count, size: server.call("make", {"count": count, "bytes": size})
        )
    with scene.Server(place, policy) as server:
        server.ask("initialize", OLDER, "init")
        answer = server.call("make", {"count": 1, "bytes": 9000})
        cli.check(not links(answer), "an older client, which has no links, gets the file itself", answer)
    with Web(place, policy) as web:
        web.initialize("2025-11-25")
        uri = results_link_long_files(
            lambda method, params: web.ask(method, params).json,
            lambda count, size: web.call("make", {"count": count, "bytes": size}).json,
        )
        mine = web.session
        web.initialize("2025-11-25")
        other = web.ask("resources/read", {"uri": uri}).json
        listed = web.ask("resources/list", {}).json
        cli.check(
            other["error"]["code"] == -32002 and listed["result"]["resources"] == [],
            "another session reads and lists none of them",
            (other, listed),
        )
        lone = web.alone("tools/call", {"name": "make", "arguments": {"count": 1, "bytes": 9000}}).json
        told = web.alone("server/discover").json
        refused = web.alone("resources/read", {"uri": uri}).json
        cli.check(
            not links(lone) and "resources" not in told["result"]["capabilities"] and "error" in refused,
            "stateless clients get the files themselves",
            (told, refused),
        )
        web.session = mine
        web.send(None, method="DELETE")
        gone = web.ask("resources/read", {"uri": uri})
        cli.check(gone.status == 404, "after the session's end they are gone", gone)
cli.finish()
