# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""--notify PROGRAM starts a program of the operator for each request in the queue of approvals. It gets the request and nothing else, and
whatever it does, only `toolcage approvals` answers."""

import base64
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import subprocess
import threading
import time

from cli import Place, check, finish, require_user

POLICY = """
[tool.ask]
tier = "HumanApprove"
backend = "process"
command = ["echo", "said", "{text}"]
arguments.text = { type = "string" }
[tool.edit]
backend = "process"
command = ["sh", "-c", "echo a > a"]
filesystem = { writable = ["/workspace"] }
workspace = { mode = "copy", commit = "ask" }
"""
TELL = """#!/bin/sh
cat > {0}/told.part
{{ env; pwd; ls -l /proc/self/fd; }} > {0}/world
echo noise
mv {0}/told.part {0}/told
"""


def arrange(script=TELL):
    place = Place()
    place.environ["TOOLCAGE_POLICY"] = place.write("home/tools.toml", POLICY)
    place.told = os.path.dirname(place.write("home/hook/.keep", ""))
    place.work = os.path.dirname(place.write("home/project/work/.keep", ""))
    place.hook = place.write("home/hook/tell", script.format(place.told))
    os.chmod(place.hook, 0o755)
    return place


def start(place, *words, verb="call"):
    return place.popen(
        verb,
        "--queue",
        "--notify",
        place.hook,
        *words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"SECRET_OF_THE_HOST": "hidden"},
    )


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not condition():
        time.sleep(0.05)
    return condition()


def told(place):
    path = pathlib.Path(place.told, "told")
    return json.loads(path.read_text()) if until(path.exists) else {}


def waiting(place):
    return json.loads(place.run("approvals", "--json").out)["requests"]


def approve(place, request):
    return place.run("approvals", "approve", request["id"], "--digest", request["digest"])


def program_gets_the_request():
    with arrange() as place:
        process = start(place, "ask", '{"text": "one"}')
        request = told(place)
        (listed,) = waiting(place)
        check(
            request == listed and request["subject"]["arguments"] == {"text": "one"},
            "the program reads the request as approvals show --json prints it",
            (request, listed),
        )
        world = pathlib.Path(place.told, "world").read_text()
        names = {line.split("=")[0] for line in world.splitlines() if "=" in line}
        check(
            "SECRET_OF_THE_HOST" not in names
            and "TOOLCAGE_POLICY" not in names
            and "hidden" not in world
            and "\n/\n" in world,
            "it has a new environment and the directory /",
            world,
        )
        check("socket:" not in world, "it has none of the process's sockets", world)
        answer = approve(place, request)
        out, err = process.communicate(timeout=60)
        check(
            answer.code == 0 and out == b"said one\n" and b"notify" not in err,
            "the answer comes by the queue, and nothing of the program is in the output",
            (answer, out, err),
        )


def changes_are_announced():
    with arrange() as place:
        process = start(place, "--workspace", place.work, "edit")
        request = told(place)
        check(
            request.get("subject", {}).get("tool") == "edit" and request["subject"]["changes"]["count"] == 1,
            "the request about staged changes is announced",
            request,
        )
        approve(place, request)
        process.communicate(timeout=60)
        check(os.path.exists(place.work + "/a"), "they are applied by the queue's answer")


def program_decides_nothing():
    for name, script, words in (
        ("fails", "#!/bin/sh\nexit 7\n", b"failed with exit code 7"),
        ("is killed", "#!/bin/sh\nkill -9 $$\n", b"was killed"),
        ("cannot be started", "#!/nothing/here\n", b"could not be started"),
        (
            "hangs",
            f"#!/bin/sh\nsleep 4321.{os.getpid()} & sleep 4321.{os.getpid()}\n",
            b"was ended after 10 seconds",
        ),
        ("says yes", '#!/bin/sh\necho \'{{"answer":"yes"}}\'; exit 0\n', b""),
    ):
        with arrange(script) as place:
            begun = time.monotonic()
            process = start(place, "ask", '{"text": "one"}')
            until(lambda place=place: waiting(place))
            if words:
                time.sleep(11.5 if name == "hangs" else 1)
            (request,) = waiting(place)
            approve(place, request)
            out, err = process.communicate(timeout=60)
            check(
                out == b"said one\n" and words in err and b"request waits all the same" in (err or words)
                if words
                else out == b"said one\n",
                f"a program that {name} changes nothing",
                (out, err, time.monotonic() - begun),
            )
            left = subprocess.run(
                ["pgrep", "-f", f"sleep 4321[.]{os.getpid()}"], capture_output=True, check=False
            )
            check(left.returncode, f"nothing is left of a program that {name}", left.stdout)


def unsafe_programs_are_refused():
    with arrange() as place:
        wide = place.write(
            "home/wide.toml",
            POLICY + '[tool.wide]\ncommand = ["true"]\nfilesystem = { writable = ["%s"] }\n' % place.told,
        )
        link = os.path.join(place.home, "link")
        os.symlink(place.hook, link)
        for name, words, code, said in (
            ("a relative path", ["--queue", "--notify", "hook/tell"], 125, "absolute"),
            ("a missing one", ["--queue", "--notify", "/nothing/here"], 125, "not an executable file"),
            ("a file that is not executable", ["--queue", "--notify", wide], 125, "not an executable file"),
            ("one without a queue", ["--notify", place.hook], 125, "add --queue"),
            (
                "one that a tool may write",
                ["--queue", "--policy", wide, "--notify", place.hook],
                126,
                "by a tool",
            ),
            (
                "a link to one that a tool may write",
                ["--queue", "--policy", wide, "--notify", link],
                126,
                "by a tool",
            ),
        ):
            answer = place.run("call", *words, "ask", '{"text": "x"}')
            check(answer.code == code and said in answer.err, f"{name} is refused", answer)
        os.chmod(place.hook, 0o777)
        answer = place.run("call", "--queue", "--notify", place.hook, "ask", '{"text": "x"}')
        check(
            answer.code == 126 and "other users" in answer.err and not waiting(place),
            "a program that others can write is refused",
            answer,
        )


def policy_cannot_name_one():
    with arrange() as place:
        text = pathlib.Path(place.environ["TOOLCAGE_POLICY"]).read_text()
        path = place.write("home/other.toml", f'notify = "{place.hook}"\n' + text)
        answer = place.run("call", "--policy", path, "--queue", "ask", '{"text": "x"}')
        check(answer.code == 125 and "notify" in answer.err, "a policy has no such key", answer)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what it gets; answers with a redirect to itself if the path says so."""

    got = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.append((self.path, dict(self.headers), body))
        self.send_response(307 if self.path == "/redirect" else 200)
        self.send_header("location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_):
        pass


def webhook_is_signed():
    """The example that docs/cli.md names."""
    example = pathlib.Path(__file__).resolve().parents[3] / "examples/webhook.py"
    secret = b"a secret of this test"
    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for path, words in (("/hook?a=1", b""), ("/redirect", b"status 307"), (None, b"cannot be reached")):
        Receiver.got.clear()
        with arrange(example.read_text().replace("{", "{{").replace("}", "}}")) as place:
            port = server.server_port if path else 1
            settings = {
                "url": f"http://127.0.0.1:{port}{path or '/'}",
                "secret": "whsec_" + base64.b64encode(secret).decode(),
            }
            os.chmod(place.write("home/.config/toolcage/webhook.json", json.dumps(settings)), 0o600)
            process = start(place, "ask", '{"text": "confidential"}')
            until(lambda: Receiver.got, 5) if path else time.sleep(2)
            (request,) = waiting(place)
            approve(place, request)
            out, err = process.communicate(timeout=60)
            check(
                out == b"said confidential\n" and words in err,
                f"the call waits for the queue, whatever the receiver says ({path})",
                (out, err),
            )
            if not path:
                continue
            (got,) = Receiver.got
            headers = {name.lower(): value for name, value in got[1].items()}
            signed = b".".join(
                (headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), got[2])
            )
            wanted = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
            check(
                got[0] == path
                and headers["webhook-signature"] == "v1," + wanted
                and headers["webhook-id"] == "msg_" + request["id"]
                and abs(int(headers["webhook-timestamp"]) - time.time()) < 60
                and json.loads(got[2])["data"]["id"] == request["id"]
                and b"confidential" not in got[2],
                f"the message is signed, has no arguments, and follows no redirect ({path})",
                got,
            )
    server.shutdown()


def server_announces_calls():
    with arrange() as place:
        process = place.popen(
            "mcp",
            "--queue",
            "--notify",
            place.hook,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for message in (
            {
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "t", "version": "1"},
                },
            },
            {"id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {"text": "two"}}},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        request = told(place)
        check(
            request["asker"] == "mcp" and request["subject"]["arguments"] == {"text": "two"},
            "a server announces the calls of its client",
            request,
        )
        approve(place, request)
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        check("said two" in json.dumps(lines[1]), "its output is the protocol only", lines)
        process.communicate(timeout=60)


require_user()
program_gets_the_request()
changes_are_announced()
program_decides_nothing()
unsafe_programs_are_refused()
policy_cannot_name_one()
webhook_is_signed()
server_announces_calls()
finish()
