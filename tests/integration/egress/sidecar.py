#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`toolcage egress`: a tool's proxy alone, in a network namespace of the test's own.

usage: sidecar.py TOOLCAGE self|ordinary
"""

import base64
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import tap  # noqa: E402
from tap import check  # noqa: E402

TOOLCAGE = os.path.abspath(sys.argv[1])
INSIDE = "TOOLCAGE_SIDECAR_TEST_INSIDE"

if INSIDE not in os.environ:
    if sys.argv[2:] == ["ordinary"]:
        tap.become(tap.ORDINARY, TOOLCAGE)
    root = os.geteuid() == 0
    unshare = ["unshare", "--net", "--mount"] + (
        [] if root else ["--user", "--map-current-user", "--keep-caps"]
    )
    for program in ("unshare", "ip", "curl", "openssl"):
        if not shutil.which(program):
            tap.skip_all(f"{program} is missing")
    if subprocess.run(unshare + ["true"], capture_output=True, check=False).returncode:
        tap.skip_all("no network namespace can be made here")
    os.environ[INSIDE] = "root" if root else "mapped"
    python = sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3"
    os.execvp("unshare", unshare + [python] + sys.argv)

import world  # noqa: E402
from upstreams import Upstream  # noqa: E402

SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="toolcage-sidecar-"))
os.chmod(SCRATCH, 0o755)
world.prepare(SCRATCH)
world.certificate(SCRATCH)
world.certificate(SCRATCH, "stranger.pem", "stranger-key.pem")
world.trust(SCRATCH)
w = world.World(SCRATCH)

if os.environ[INSIDE] == "mapped":  # root's files are nobody's here, and no program of ours
    for name in ("toolcage", "toolcage-egress"):
        shutil.copy(pathlib.Path(TOOLCAGE).resolve().parent / name, SCRATCH / name)
    TOOLCAGE = str(SCRATCH / "toolcage")

POLICY = """
[tool.web]
network = ["ok.example:80", "ok.example:443", "ok.example:7", "ok.example:9", "private.example:80", "loop.example:80"]
[tool.api]
network = [{ host = "ok.example", methods = ["GET"] }]
[tool.none]
[tool.secret]
network = ["ok.example"]
secrets.TOKEN = { from = "env:TOKEN", hosts = ["ok.example"], header = "Authorization: Bearer {secret}" }
"""


def policy(text=POLICY):
    (SCRATCH / "policy.toml").write_text(text)
    return str(SCRATCH / "policy.toml")


class Sidecar:
    def __init__(self, *words, tool="web", json_lines=True, text=POLICY, more=None):
        argv = [
            TOOLCAGE,
            "egress",
            "--policy",
            policy(text),
            "--tool",
            tool,
            "--listen",
            "127.0.0.1:0",
            *words,
            *(["--json"] if json_lines else []),
        ]
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={"PATH": "/usr/bin:/bin", "HOME": str(SCRATCH), "CANARY": "x", **(more or {})},
        )
        line = (self.process.stdout if json_lines else self.process.stderr).readline().decode()
        self.first = line
        self.port = int(line.rstrip('"}\n').rsplit(":", 1)[1]) if ":" in line else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "it does not end"
        check(code == 0, "TERM ends it in order", (code, self.process.stderr.read()))

    def curl(self, *words, scheme="http", ca="cert.pem"):
        return subprocess.run(
            [
                "curl",
                "--silent",
                "--show-error",
                "--max-time",
                "20",
                "--proxy",
                f"{scheme}://127.0.0.1:{self.port}",
                "--cacert",
                str(SCRATCH / ca),
                *words,
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def line(self, stream=None):
        stream = stream or self.process.stdout
        return stream.readline().decode() if select.select([stream], [], [], 10)[0] else ""

    def tunnel(self, target):
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += sock.recv(1)
        return sock

    def status(self, key):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return next(line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith(key + ":"))


def test_serves():
    with Sidecar() as p:
        check(
            json.loads(p.first) == {"listening": f"127.0.0.1:{p.port}"}, "it says where it listens", p.first
        )
        for url, scheme in (
            ("http://ok.example/a", "http"),
            ("https://ok.example/b", "http"),
            ("https://ok.example/c", "socks5h"),
            ("http://ok.example/d", "socks5h"),
        ):
            answer = p.curl(url, scheme=scheme)
            check(answer.returncode == 0 and "GET /" in answer.stdout, f"{url} by {scheme}", answer)
        answer = p.curl("http://evil.example/")
        check(
            "not in the allowlist of tool web" in answer.stdout
            and '"rule":"tool.web.network"' in answer.stdout,
            "another host is refused in words",
            answer,
        )
        check(
            json.loads(p.line())
            == {
                "operation": "connect",
                "target": "evil.example:80",
                "reason": "no entry of the allowlist covers it",
                "count": 1,
                "key": "tool.web.network",
            },
            "and told in a line of JSON",
        )
        for host in ("private.example", "loop.example"):
            answer = p.curl(f"http://{host}/")
            told = json.loads(p.line())
            check(
                "not public" in answer.stdout
                and told["target"] == f"{host}:80"
                and "not public" in told["reason"],
                f"the guard stands: {host}",
                (answer, told),
            )
        for _ in range(150):
            p.curl(f"http://evil.example:{1000 + _}/")
        lines = [json.loads(p.line()) for _ in range(150)]
        check(
            {line["target"] for line in lines} == {f"evil.example:{1000 + i}" for i in range(150)},
            "every one of many denials is logged",
            lines[-1],
        )


def test_text():
    with Sidecar(json_lines=False) as p:
        check(p.first == f"toolcage: the proxy listens on 127.0.0.1:{p.port}\n", "in words", p.first)
        p.curl("https://evil.example/")
        line = p.line(p.process.stderr)
        check(
            line == "toolcage: denied connect evil.example:443: no entry of the allowlist covers it\n",
            "refused connections are logged",
            line,
        )
        sock = socket.create_connection(("127.0.0.1", p.port))
        sock.sendall(b"CONNECT \x1b]0;x\x07.example:443 HTTP/1.1\r\n\r\n")
        sock.recv(1000)
        line = p.line(p.process.stderr)
        check("\x1b" not in line and "ambiguous" in line, "nothing of a client's steers a terminal", line)


def test_walls():
    with Sidecar() as p:
        p.curl("http://ok.example/")
        check(
            p.status("Seccomp") == "2"
            and p.status("NoNewPrivs") == "1"
            and p.status("CapEff") == "0" * 16
            and p.status("CapBnd") in ("0" * 16, p.status("CapBnd")),
            "its walls",
        )
        if os.environ[INSIDE] == "root":
            check(
                p.status("Uid").split() == ["65534"] * 4 and p.status("Groups") == "",
                "root's becomes nobody",
                p.status("Uid"),
            )
            check(pathlib.Path(f"/proc/{p.process.pid}/environ").read_bytes() == b"", "it has no environment")
            check(
                pathlib.Path(f"/proc/{p.process.pid}/cmdline").read_bytes() == b"toolcage-egress\0json\0",
                "and no word of the policy",
            )


def test_ends():
    with Sidecar() as p:
        sock = p.tunnel("ok.example:7")
        sock.sendall(b"last words")
        sock.shutdown(socket.SHUT_WR)
        p.process.send_signal(signal.SIGTERM)
        data = b""
        while piece := sock.recv(1000):
            data += piece
        check(data == b"last words<end>", "data under way is delivered", data)
    try:
        socket.create_connection(("127.0.0.1", p.port), timeout=2)
        check(False, "nothing listens any more")
    except OSError:
        check(True, "nothing listens any more")
    with Sidecar() as p:
        held = p.tunnel("ok.example:9")
        begun = time.monotonic()
        p.process.send_signal(signal.SIGTERM)
        p.process.wait(10)
        check(
            1.5 < time.monotonic() - begun < 4,
            "open connections have two seconds to end",
            time.monotonic() - begun,
        )
        held.close()
    with Sidecar() as p:
        held = p.tunnel("ok.example:9")
        begun = time.monotonic()
        p.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        p.process.send_signal(signal.SIGINT)
        p.process.wait(10)
        check(time.monotonic() - begun < 1.5, "a second signal ends it at once", time.monotonic() - begun)
        held.close()


def test_inspects():
    with Sidecar("--authority", str(SCRATCH / "ca.pem"), tool="api") as p:
        answer = p.curl("https://ok.example/x", ca="ca.pem")
        check(answer.returncode == 0 and "GET /x" in answer.stdout, "a request that is allowed", answer)
        answer = p.curl("-X", "DELETE", "https://ok.example/x", ca="ca.pem")
        check(
            "accepts no such request" in answer.stdout and "other methods or paths" in p.line(),
            "and one that is not",
            answer,
        )
    replaced()
    answer = run("--tool", "api", "--listen", "127.0.0.1:0")
    check(
        answer.returncode == 125 and "name a file with --authority" in answer.stderr,
        "it needs a place for its certificate",
        answer,
    )


def replaced():
    """Whatever a tool has left under the certificate's name."""
    place = SCRATCH / "place"
    (place / "inner").mkdir(parents=True)
    kept = place / "kept"
    kept.write_text("kept\n")
    old = place / "old.pem"
    old.write_text("old\n")
    link = place / "ca.pem"
    link.symlink_to(kept)
    for target in (link, old):
        reader = open(target, encoding="ascii")  # pylint: disable=consider-using-with
        with reader, Sidecar("--authority", str(target), tool="api") as p:
            answer = p.curl("https://ok.example/x", ca=str(target.relative_to(SCRATCH)))
            check(
                answer.returncode == 0
                and kept.read_text() == "kept\n"
                and not target.is_symlink()
                and target.stat().st_mode & 0o777 == 0o644,
                f"{target.name}: a new file in the place of the old one or of a link",
                answer,
            )
            check(reader.read() in ("kept\n", "old\n"), "a reader of the old file reads all of it")
    check(
        sorted(os.listdir(place)) == ["ca.pem", "inner", "kept", "old.pem"],
        "and nothing is left beside it",
        os.listdir(place),
    )
    (place / "away").symlink_to("inner")
    for name in ("away/ca.pem", "away/", "inner", "/dev/null", "/dev/stdout"):
        answer = run("--tool", "api", "--listen", "127.0.0.1:0", "--authority", name, cwd=place)
        check(
            answer.returncode == 125
            and f"cannot write {name}: " in answer.stderr
            and "hint: name a file" in answer.stderr,
            f"refused: {name}",
            answer,
        )
    check(not os.listdir(place / "inner"), "nothing is written by way of a link", os.listdir(place / "inner"))


def test_secrets():
    with Sidecar(
        "--authority", str(SCRATCH / "ca.pem"), tool="secret", more={"TOKEN": "s3cret-token-value"}
    ) as p:
        seen = len(w.requests)
        answer = p.curl("https://ok.example/x", ca="ca.pem")
        check(
            "Authorization: Bearer s3cret-token-value" in w.requests[seen]
            and "s3cret" not in answer.stdout
            and "Bearer ****" in answer.stdout,
            "a secret goes in, and not out",
            answer,
        )
        if os.environ[INSIDE] == "root":
            check(
                b"s3cret"
                not in pathlib.Path(f"/proc/{p.process.pid}/environ").read_bytes()
                + pathlib.Path(f"/proc/{p.process.pid}/cmdline").read_bytes(),
                "it stands in no word of it",
            )


def test_upstream():
    site = Upstream("10.0.0.1", 3128)
    with Sidecar(text='[egress]\nupstream = "http://10.0.0.1:3128"\n' + POLICY) as p:
        answer = p.curl("https://ok.example/x")
        check(
            "GET /x" in answer.stdout and site.asked == [(world.PUBLIC, 443)],
            "by the site's proxy",
            (answer, site.asked),
        )
        check(
            "Authorization" not in site.heads[-1],
            "an upstream proxy without a pair gets no credentials",
            site.heads,
        )
    pair = "someone:s3cret:with a colon"
    (SCRATCH / "pair").write_text(pair + "\n")
    basic = base64.b64encode(pair.encode()).decode()
    for where, upstream in (
        ("http://10.0.0.1:3129", Upstream("10.0.0.1", 3129)),
        ("socks5://10.0.0.1:1081", Upstream("10.0.0.1", 1081, socks=True, credentials=pair)),
    ):
        for source in ("env:PAIR", f"file:{SCRATCH}/pair"):
            with Sidecar(
                text=f'[egress]\nupstream = "{where}"\ncredentials = "{source}"\n' + POLICY,
                more={"PAIR": pair},
            ) as p:
                answer = p.curl("https://ok.example/x")
                said = upstream.heads[-1] if upstream.heads else ""
                check(
                    "GET /x" in answer.stdout
                    and (said == pair or f"Proxy-Authorization: Basic {basic}\r\n" in said),
                    f"{where}: credentials from {source}",
                    (answer, said),
                )
                answer = p.curl("http://ok.example/x")
                check(
                    basic not in answer.stdout and "Proxy-Authorization" not in answer.stdout,
                    "no server hears them",
                    answer,
                )
    strict = Upstream("10.0.0.1", 1082, socks=True, credentials="someone:else-wise")
    with Sidecar(
        text='[egress]\nupstream = "socks5://10.0.0.1:1082"\ncredentials = "env:PAIR"\n' + POLICY,
        more={"PAIR": pair},
    ) as p:
        answer = p.curl("http://ok.example/x")
        check(
            "it rejects the credentials" in answer.stdout and strict.heads and "s3cret" not in answer.stdout,
            "wrong ones are told so",
            answer,
        )
    with Sidecar(text='[egress]\nupstream = "socks5://10.0.0.1:1082"\n' + POLICY) as p:
        check("it requires credentials" in p.curl("http://ok.example/x").stdout, "none where some are wanted")
    for value, why in (
        ("no-colon-in-it", "not a user and a password"),
        (":password", "not a user and a password"),
        ("u:" + "x" * 300, "not a user and a password"),
        ("short:x", "fewer than 8"),
    ):
        answer = run(
            "--tool",
            "web",
            text='[egress]\nupstream = "http://10.0.0.1:3128"\ncredentials = "env:PAIR"\n' + POLICY,
            more={"PAIR": value},
        )
        check(
            answer.returncode == 125 and why in answer.stderr and value not in answer.stderr,
            f"no credentials: {value[:20]}",
            answer,
        )


def run(*words, text=POLICY, more=None, cwd=None):
    return subprocess.run(
        [TOOLCAGE, "egress", "--policy", policy(text), *words],
        cwd=cwd,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def wait_for_term(pid):
    """Until the proxy, which the command line becomes, has taken TERM for itself."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            blocked = next(line for line in file if line.startswith("SigBlk:"))
        if int(blocked.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


def test_refusals():
    for words, code, why in (
        (("--tool", "none"), 125, "it has no network"),
        ((), 125, "it has no network"),
        (("--tool", "nobody"), 125, "no tool"),
        (("--tool", "web", "--listen", "localhost:1"), 125, "not an address with a port"),
        (("--tool", "web", "--listen", "127.0.0.1"), 125, "not an address with a port"),
        (("--tool", "web", "--listen", "192.0.2.1:1"), 125, "cannot listen on"),
        (("--tool", "web", "--listen", "[::1:1"), 125, "not an address with a port"),
        (("--tool", "api", "--authority", "/nowhere/x"), 125, "cannot write"),
        (("--tool", "secret"), 125, "has no value that can be used"),
    ):
        answer = run(*words)
        check(
            answer.returncode == code and why in answer.stderr and "hint: " in answer.stderr,
            f"refused: {' '.join(words)}",
            answer,
        )
    p = subprocess.Popen(
        [TOOLCAGE, "egress", "--policy", policy(), "--tool", "web", "--listen", "0.0.0.0:0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    line = p.stderr.readline()
    check("warning: anyone who can connect to 0.0.0.0:" in line, "an address of others is warned of", line)
    wait_for_term(p.pid)
    p.terminate()
    check(p.wait(10) == 0, "and it ends")


for test in (
    test_serves,
    test_text,
    test_walls,
    test_ends,
    test_inspects,
    test_secrets,
    test_upstream,
    test_refusals,
):
    tap.note(test.__name__)
    test()
shutil.rmtree(SCRATCH, ignore_errors=True)
tap.finish()
