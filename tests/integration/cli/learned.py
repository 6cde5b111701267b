# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`toolcage learn --from-audit` prints the minimal policy for what recorded calls used: never more than the policy that it
narrows, with the id of a call at each line, and with what the log does not know."""

import glob
import http.server
import json
import os
import socket
import threading

from cli import Place, check, finish, require_user

POLICY = """
[audit]
[tool.sh]
command = ["/bin/sh", "-c", "{{script}}"]
arguments.script = {{ type = "string" }}
{more}
"""
WIDE = 'filesystem = { writable = ["/workspace"] }'


def arrange(more=WIDE):
    place = Place()
    place.policy = write(place, "toolcage.toml", more)
    place.environ["TOOLCAGE_POLICY"] = place.policy
    for name in ("src/a", "src/b", "out/old", "doc/1", "doc/2", "doc/3", "doc/4", "doc/5"):
        place.write("home/project/" + name, name + "\n")
    return place


def write(place, name, more):
    return place.write(f"home/{name}", POLICY.format(more=more))


def call(place, script, **options):
    return place.run("call", "sh", json.dumps({"script": script}), **options)


def learn(place, *args, policy=None):
    """The answer, and the lines of its policy without comments."""
    answer = place.run("learn", "--from-audit", "--policy", policy or place.policy, *args)
    lines = [line.split(" #")[0].strip().rstrip(",") for line in answer.out.splitlines()]
    return answer, [line for line in lines if line and not line.startswith("#")]


def section(lines, key):
    at = lines.index(f"{key} = [")
    return lines[at + 1 : lines.index("]", at)]


def last_id(place):
    ids = []
    for path in sorted(glob.glob(place.home + "/.local/state/toolcage/audit/*.jsonl")):
        with open(path, encoding="utf-8") as file:
            ids += [record["call"] for record in map(json.loads, file) if record["kind"] == "run"]
    return ids[-1]


def writes_are_narrowed():
    with arrange() as place:
        call(place, "echo new > out/new; echo more >> src/a; rm out/old")
        first = last_id(place)
        call(place, "mkdir -p out/x/y; echo 1 > out/x/y/z")
        answer, lines = learn(place)
        check(
            answer.code == 0
            and section(lines, "filesystem.writable") == ['"/workspace/out"', '"/workspace/src/a"'],
            "writes become existing files and directories of new ones",
            answer,
        )
        check(
            f'"/workspace/out", # {first}, and 1 more\n' in answer.out
            and f'"/workspace/src/a", # {first}\n' in answer.out,
            "grants name their calls",
            answer,
        )
        check(
            "what 2 of them read and executed" in answer.out
            and section(lines, "filesystem.readable") == ['"/workspace"']
            and section(lines, "network") == [],
            "readable paths stay as they are where reads are not logged",
            answer,
        )
        check("breaks 0 of 2 recorded calls" in answer.err, "the calls are checked under it", answer)
        narrow = place.write("home/narrow.toml", answer.out)
        diff = place.run("policy", "diff", "--json", place.policy, narrow)
        check(
            '"widened":false' in diff.out and '"less"' in diff.out, "it grants less, and nothing more", diff
        )
        again = call(place, "echo 2 > out/x2; cat doc/1", env={"TOOLCAGE_POLICY": narrow})
        refused = call(place, "echo 2 > doc/1", env={"TOOLCAGE_POLICY": narrow})
        check(again.code == 0 and refused.code != 0, "a cage enforces it", (again, refused))


def steering_files_stay_protected():
    """A policy that names CLAUDE.md lifts its protection."""
    with arrange(WIDE + '\nworkspace.mode = "copy"') as place:
        for name in ("CLAUDE.md", "src/CLAUDE.md"):
            place.write("home/project/" + name, "rules\n")
        call(place, "echo more | tee -a src/a CLAUDE.md src/CLAUDE.md")
        answer, lines = learn(place)
        check(
            answer.code == 0 and section(lines, "filesystem.writable") == ['"/workspace/src/a"'],
            "a held change of a steering file is not granted by name",
            answer,
        )
        named = place.write("home/named.toml", answer.out.replace("/workspace/src/a", "/workspace/CLAUDE.md"))
        diff = place.run("policy", "diff", "--json", place.policy, named)
        check(
            '"widened":true' in diff.out and "steering file" in diff.out,
            "a policy that names a steering file grants more",
            diff,
        )


def all_granted_paths_stay_if_changes_are_cut():
    with arrange() as place:
        call(place, "cd out; i=0; while [ $i -lt 4000 ]; do : > $(printf %0150d $i); i=$((i+1)); done")
        answer, lines = learn(place)
        check(
            answer.code == 0
            and "does not list all changes" in answer.out
            and not [line for line in lines if "/workspace" in line]
            and "breaks 0 of 1" in answer.err,
            "paths stay as in the policy if the log does not list all changes",
            answer,
        )


def readable_directories_do_not_become_writable():
    files = ", ".join(f'"/workspace/doc/{i}"' for i in range(1, 6))
    more = f'filesystem = {{ readable = ["/workspace"], writable = [{files}] }}'
    with arrange(more) as place:
        ran = call(place, "for i in 1 2 3 4 5; do echo 1 > doc/$i; done")
        answer, lines = learn(place)
        check(
            ran.code == 0 and answer.code == 0 and len(section(lines, "filesystem.writable")) == 5,
            "many written files do not become their directory where the policy lets it be read only",
            (ran, answer),
        )


def reads_are_narrowed_where_listed():
    with arrange(WIDE + '\ndenials = "accesses"') as place:
        call(place, "cat src/b; cat doc/1 doc/2 doc/3 doc/4; echo 1 > out/old")
        answer, lines = learn(place)
        check(
            answer.code == 0
            and section(lines, "filesystem.readable") == ['"/workspace/doc"', '"/workspace/src/b"']
            and section(lines, "filesystem.writable") == ['"/workspace/out/old"'],
            "listed reads become files, or the directory of many",
            answer,
        )
        check("not in the log" not in answer.out, "and nothing is unknown", answer)


class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def endpoints_are_narrowed():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
    port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    network = (
        f'network = [{{ host = "127.0.0.1", port = {port}, methods = ["GET"], paths = ["/v1"] }}, '
        '"*.example.com", "unused.example:443"]'
    )
    get = f"python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:{port}/v1/a\")'"
    with arrange(WIDE + "\n" + network) as place:
        ran = call(place, get)
        answer, lines = learn(place)
        check(
            ran.code == 0
            and answer.code == 0
            and section(lines, "network")
            == [f'{{ host = "127.0.0.1", port = {port}, methods = ["GET"], paths = ["/v1"] }}'],
            "a used endpoint keeps its methods and paths, unused ones go",
            (ran, answer),
        )
        narrower = write(place, "narrower.toml", 'filesystem = { readable = ["/workspace"] }')
        answer, lines = learn(place, policy=narrower)
        check(
            answer.code == 0
            and section(lines, "network") == []
            and f"reached # 127.0.0.1:{port}" in answer.out,
            "an endpoint that the policy does not grant becomes a comment",
            answer,
        )
    server.shutdown()


class Web6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


def endpoints_keep_the_entry_that_grants_them():
    """Each server is reached by the address that a policy names in another way, beside entries that do not fit."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web) for _ in range(2)] + [
        Web6(("::1", 0), Web)
    ]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    a, b, c = (server.server_address[1] for server in servers)
    get = "python3 -c 'import urllib.request as u; u.urlopen(\"http://{}/v1/a\")'"
    rules = 'methods = ["GET"]'
    cases = {
        "a local name": (
            f'"localhost:{b}", {{ host = "localhost", port = {a}, {rules} }}',
            f"127.0.0.1:{a}",
            f'{{ host = "127.0.0.1", port = {a}, {rules} }}',
        ),
        "the entry with its port": (
            f'"127.0.0.1:{b}", {{ host = "127.0.0.1", port = {a}, {rules} }}',
            f"127.0.0.1:{a}",
            f'{{ host = "127.0.0.1", port = {a}, {rules} }}',
        ),
        "the range that has it": (
            f'"10.0.0.0/8:{a}", {{ host = "127.0.0.0/12", port = {a}, {rules} }}',
            f"127.0.0.1:{a}",
            f'{{ host = "127.0.0.1", port = {a}, {rules} }}',
        ),
        "an IPv6 address": (f'"[::1]:{c}"', f"[::1]:{c}", f'"[::1]:{c}"'),
    }
    for name, (network, to, wanted) in cases.items():
        with arrange(f"{WIDE}\nnetwork = [{network}]") as place:
            ran = call(place, get.format(to))
            answer, lines = learn(place)
            check(
                ran.code == 0
                and answer.code == 0
                and section(lines, "network") == [wanted]
                and "breaks 0 of 1" in answer.err,
                f"an endpoint is learned from {name}",
                (ran, answer),
            )
    more = f'{WIDE}\narguments.host = {{ host = ["127.0.0.1:{a}"] }}'
    with arrange(more) as place:
        place.write(
            "home/toolcage.toml", POLICY.format(more=more).replace('"{script}"]', '"{script}", "{host}"]')
        )
        script = get.format(f"127.0.0.1:{a}")
        ran = place.run("call", "sh", json.dumps({"script": script, "host": f"127.0.0.1:{a}"}))
        answer, lines = learn(place)
        check(
            ran.code == 0
            and answer.code == 0
            and "network: as in the policy, because it depends on arguments" in answer.out
            and "breaks 0 of 1" in answer.err,
            "a network that depends on arguments stays as it is",
            (ran, answer),
        )
    for server in servers:
        server.shutdown()


def hostile_names_grant_nothing_else():
    with arrange() as place:
        call(
            place,
            "mkdir -p out/d; touch 'out/d/\"]\nnetwork = [\"evil.example:443\"]\n#' \"out/d/$(printf '\\033[31m')\" 'out/d/{x}'",
        )
        answer, lines = learn(place)
        check(
            answer.code == 0
            and section(lines, "filesystem.writable") == ['"/workspace/out"']
            and "evil" not in answer.out
            and "\x1b" not in answer.out,
            "a name that a tool chose adds nothing to the policy",
            answer,
        )


def other_calls_are_named():
    with arrange() as place:
        answer, _ = learn(place)
        check(
            answer.code == 125 and "cannot read the audit log" in answer.err,
            "learning without a log fails",
            answer,
        )
        place.run("exec", "true")
        call(place, "echo 1 > out/old")
        answer, _ = learn(place)
        check(
            "1 calls of servers, or without a tool" in answer.out, "calls without a tool are counted", answer
        )
        answer, _ = learn(place, "--tool", "other")
        check(answer.code == 125 and "no such call" in answer.err, "a tool without calls is an error", answer)
        answer, _ = learn(place, "--since", "never")
        check(answer.code == 125 and "not a time" in answer.err, "so is a wrong time", answer)
        changed = place.write(
            "home/changed.toml",
            '[tool.sh]\ncommand = ["/bin/sh", "-c", "{a}"]\narguments.a = { type = "string" }\n',
        )
        answer, _ = learn(place, policy=changed)
        check(
            answer.code == 0 and "[tool.sh]: left as it is" in answer.out and "refuses now" in answer.out,
            "a call that the policy refuses leaves the tool as it is",
            answer,
        )
        for words in (["--from-audit", "true"], ["--tool", "sh", "true"], []):
            answer = place.run("learn", *words)
            check(answer.code == 125, f"learn {' '.join(words)} is an error", answer)


require_user()
writes_are_narrowed()
steering_files_stay_protected()
all_granted_paths_stay_if_changes_are_cut()
readable_directories_do_not_become_writable()
reads_are_narrowed_where_listed()
endpoints_are_narrowed()
endpoints_keep_the_entry_that_grants_them()
hostile_names_grant_nothing_else()
other_calls_are_named()
finish()
