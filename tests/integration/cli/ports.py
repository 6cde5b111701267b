# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A published port of a live session leads to that port in the session and to nothing else. Hostile servers and clients only
harm themselves, and no listener survives the session, however it ends."""

import json
import os
import signal
import socket
import stat
import subprocess
import time

from cli import Place, check, expect, finish, require_user

SERVE = """
import socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
server = socket.create_server((sys.argv[1], int(sys.argv[2])), family=family, backlog=64)
def echo(c):
    # the whole request, and then its length: the client must end its side first
    n = 0
    while data := c.recv(65536):
        n += len(data)
    c.sendall(b"%s got %d" % (sys.argv[3].encode(), n))
    c.close()
def chat(c):
    while data := c.recv(65536):
        c.sendall(data.upper())
def pour(c):
    for _ in range(64):
        c.sendall(b"x" * 65536)
    c.close()
def lie(c):
    c.recv(1)
    c.sendall(b"\\x00\\xff" * 5000 + b"HTTP/9.9 -1 \\r\\n")
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
    c.close()
held = []
while True:
    c, _ = server.accept()
    held.append(c)
    if sys.argv[4] != "hold":
        held.clear()
        threading.Thread(target=globals()[sys.argv[4]], args=(c,), daemon=True).start()
"""


class Session:
    def __init__(self, *args, name="work", place=None):
        self.place = place or Place()
        self.own = not place
        self.name = name
        self.started = self.place.run("session", "start", name, *args)
        self.place.write("home/project/serve.py", SERVE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        if self.own:
            self.place.__exit__()

    def exec(self, *command, **more):
        return self.place.run("session", "exec", self.name, "--", *command, **more)

    def serve(self, port, word="here", how="echo", at="127.0.0.1"):
        """Starts a server in the session, and waits until it listens."""
        answer = self.exec(
            "sh",
            "-c",
            'python3 -c "$1" "$2" "$3" "$4" "$5" >/dev/null 2>&1 & i=0; while ! '
            'python3 -c "import socket, sys; socket.create_connection((sys.argv[1], sys.argv[2]), 1)" "$2" "$3" '
            "2>/dev/null && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done",
            "sh",
            SERVE,
            at,
            str(port),
            word,
            how,
        )
        assert answer.code == 0, answer

    def ports(self):
        return json.loads(self.place.run("session", "ports", "--json", self.name).out)["ports"]

    def end(self):
        """Its result, once its owner is gone."""
        result = json.loads(self.place.run("session", "end", self.name, "--json").out)
        until = time.monotonic() + 20
        while (
            f'"{self.name}"' in self.place.run("session", "list", "--json").out and time.monotonic() < until
        ):
            time.sleep(0.05)
        return result


def address_of(port):
    if port["address"].startswith("unix:"):
        return port["address"][5:]
    host, number = port["address"].rsplit(":", 1)
    return host.strip("[]"), int(number)


def connect(address, timeout=10):
    if isinstance(address, str):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(timeout)
        sock.connect(address)
        return sock
    return socket.create_connection(address, timeout)


def ask(address, request=b"", timeout=10):
    """The reply to the request, or the error."""
    try:
        with connect(address, timeout) as sock:
            sock.sendall(request)
            sock.shutdown(socket.SHUT_WR)
            reply = b""
            while data := sock.recv(65536):
                reply += data
            return reply
    except OSError as error:
        return type(error).__name__


def refuses(address, seconds=10):
    """Does nobody listen any more?"""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if ask(address, timeout=2) in ("ConnectionRefusedError", "FileNotFoundError"):
            return True
        time.sleep(0.05)
    return False


def port_leads_into_the_session():
    with Session("--publish", "3000") as s:
        address = address_of(s.ports()[0])
        check(
            f"port 3000 of the session is published at 127.0.0.1:{address[1]}" in s.started.err,
            "the start names the address",
            s.started,
        )
        check(ask(address, b"x") == "ConnectionResetError", "a port without a server resets")
        s.serve(3000)
        check(ask(address, b"x" * 300000) == b"here got 300000", "a half-closed connection gets its reply")
        s.serve(3001, "other")
        check(ask(address) == b"here got 0", "a port that is not published is not reached")
        row = s.ports()[0]
        check(
            (row["port"], row["connections"]) == (3000, 3) and row["received"] >= 300000 and row["sent"] > 20,
            "the list has port, connections and bytes",
            row,
        )
        shown = s.place.run("session", "ports", "work")
        check("3000" in shown.out and f"127.0.0.1:{address[1]}" in shown.out, "the list is readable", shown)
        inside = s.exec("sh", "-c", "ls /sys/class/net 2>/dev/null; cat /proc/net/dev | wc -l")
        check(inside.out.strip().endswith("3"), "the session has no interface but its loopback", inside)
        result = s.end()
        check(
            result["usage"]["published"] == [row] and result["usage"]["ingress_bytes"] == row["received"],
            "the result counts connections and bytes",
            result["usage"],
        )
        check(refuses(address), "nobody listens after the end")
        expect(s.place, "an ended session has no ports", ["session", "ports", "work"], 125, "no live session")


def connections_stay_open_both_ways():
    with Session("--publish", "3000:[::1]:0") as s:
        s.serve(3000, how="chat", at="::1")
        address = address_of(s.ports()[0])
        check(address[0] == "::1", "a port is published at ::1", address)
        with connect(address) as sock:
            for word in (b"one", b"two"):
                sock.sendall(word)
                check(sock.recv(100) == word.upper(), "an open connection carries messages both ways")
                time.sleep(0.3)
            s.end()
            check(sock.recv(100) == b"", "the end of the session closes its connections")


def sessions_publish_the_same_port():
    with Session("--publish", "3000") as a, Session("--publish", "3000", name="other", place=a.place) as b:
        a.serve(3000, "a")
        b.serve(3000, "b")
        check(
            [ask(address_of(s.ports()[0])) for s in (a, b)] == [b"a got 0", b"b got 0"],
            "two sessions publish the same port",
        )
        taken = a.ports()[0]["address"]
        third = a.place.run("session", "start", "third", "--publish", f"3000:{taken}")
        check(
            third.code == 125 and f"{taken} is in use" in third.err,
            "a taken address is refused, named",
            third,
        )
        check(ask(address_of(a.ports()[0])) == b"a got 0", "the refused start takes nothing away")


def unix_socket_belongs_to_the_user():
    with Place() as place:
        safe = os.path.join(place.home, "run")
        os.mkdir(safe, 0o700)
        place.own(safe)
        path = os.path.join(safe, "dev.sock")
        with Session("--publish", f"3000:unix:{path}", place=place) as s:
            s.serve(3000)
            check(ask(path) == b"here got 0", "a unix socket leads into the session", s.started)
            check(stat.S_IMODE(os.lstat(path).st_mode) == 0o600, "only the user may connect")
            again = place.run("session", "start", "again", "--publish", f"3000:unix:{path}")
            check(again.code == 125 and "is in use" in again.err, "a live socket is not replaced", again)
            check(ask(path) == b"here got 0", "the live socket works on")
        check(not os.path.lexists(path), "the socket is removed at the end")

        dead = socket.socket(socket.AF_UNIX)
        dead.bind(path)
        place.own(path)
        dead.close()
        with Session("--publish", f"3000:unix:{path}", place=place) as s:
            check(s.started.code == 0, "a dead socket is replaced", s.started)
            os.unlink(path)
            place.write("home/run/dev.sock", "mine")
        with open(path, encoding="ascii") as file:
            check(file.read() == "mine", "a file that replaced the socket stays")
        refused = place.run("session", "start", "other", "--publish", f"3000:unix:{path}")
        check(refused.code == 125 and "not a socket" in refused.err, "a file is not replaced", refused)
        os.unlink(path)
        os.symlink(os.path.join(place.home, "elsewhere"), path)
        refused = place.run("session", "start", "other", "--publish", f"3000:unix:{path}")
        check(
            refused.code == 125 and not os.path.lexists(os.path.join(place.home, "elsewhere")),
            "a link is not followed",
            refused,
        )
        os.symlink(safe, os.path.join(place.home, "link"))
        for what, where in (
            ("symbolic link", os.path.join(place.home, "link/x.sock")),
            ("others can write", "/tmp/x.sock"),
            ("tool may write", os.path.join(place.project, "x.sock")),
            ("cannot be opened", os.path.join(place.home, "none/x.sock")),
        ):
            refused = place.run(
                "session", "start", "other", "--write", ".", "--publish", f"3000:unix:{where}"
            )
            check(refused.code == 125 and what in refused.err, f"a socket is refused: {what}", refused)


def hostile_servers_harm_themselves():
    with Session("--publish", "3000", "--publish", "3001", "--publish", "3002") as s:
        good, held, lying = (address_of(p) for p in s.ports())
        s.serve(3000)
        s.serve(3001, how="hold")
        s.serve(3002, how="lie")
        waiting = [connect(held) for _ in range(40)]
        for sock in waiting:
            sock.sendall(b"x" * 100000)
        check(ask(good, b"x") == b"here got 1", "a server that never answers delays no other port")
        check(
            ask(lying, b"x") in ("ConnectionResetError", b"\x00\xff" * 5000 + b"HTTP/9.9 -1 \r\n"),
            "a server may say anything",
        )
        check(ask(good, b"xy") == b"here got 2", "a reset inside ends only its connection")
        for sock in waiting:
            sock.close()
        s.exec("sh", "-c", "kill -9 $(pgrep -f 'here echo')")
        s.serve(3000, "other")
        check(ask(good) == b"other got 0", "another process of the session may take the port")
        stopped = s.exec("sh", "-c", "kill -STOP $(pgrep -f 'other echo')")
        flood = [connect(good) for _ in range(200)]
        check(
            s.exec("echo", "on").out == "on\n", "connections that nobody accepts do not hold PID 1", stopped
        )
        for sock in flood:
            sock.close()
        s.exec("sh", "-c", "kill -CONT $(pgrep -f 'other echo')")
        check(ask(good, timeout=30) == b"other got 0", "the port works after that")


def a_thousand_clients_are_bounded():
    with Session("--publish", "3000") as s:
        s.serve(3000, how="hold")
        address = address_of(s.ports()[0])
        clients = [socket.socket() for _ in range(1000)]
        for sock in clients:
            sock.setblocking(False)
            sock.connect_ex(address)
        time.sleep(1)
        row = s.ports()[0]
        check(200 <= row["connections"] <= 257, "at most 256 connections are in the session at a time", row)
        check(s.exec("echo", "on").out == "on\n", "the session answers meanwhile")
        for sock in clients:
            sock.close()
        s.exec("sh", "-c", "kill -9 $(pgrep -f 'here hold')")
        s.serve(3000, "again")
        check(ask(address, timeout=30) == b"again got 0", "the port works after the flood")


def transfer_cuts_connections():
    with Session("--publish", "3000", "--transfer", "1MB") as s:
        s.serve(3000, how="pour")
        address = address_of(s.ports()[0])
        got = 0
        try:
            with connect(address) as sock:
                while data := sock.recv(65536):
                    got += len(data)
        except ConnectionResetError:
            got += 0
        check(0 < got <= 1000000, "the transfer limit cuts a connection", got)
        check(ask(address) == "ConnectionResetError", "and every later one")
        check(s.exec("echo", "on").out == "on\n", "the session goes on")
        usage = s.end()["usage"]
        check(usage["egress_bytes"] + usage["ingress_bytes"] <= 1000000, "no more bytes are counted", usage)


def nothing_listens_after_a_kill():
    word = f"here-{os.getpid()}"  # another test may run this script at the same time
    for what in ("owner", "helper", "PID 1", "egress proxy"):
        with Session("--publish", "3000") as s:
            s.serve(3000, word)
            address = address_of(s.ports()[0])
            check(ask(address) == f"{word} got 0".encode(), f"a port works before the {what} is killed")
            for pid in processes_of(s, word)[what]:
                os.kill(pid, signal.SIGKILL)
            check(refuses(address), f"nobody listens after the {what} was killed")


def processes_of(s, word):
    """The processes behind the session with the server that says the word, by their parents."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                parents[int(pid)] = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                names[int(pid)] = file.read()
        except OSError:
            continue
    owner = json.loads(s.place.run("session", "list", "--json").out)["live"][0]["pid"]
    mark, said = SERVE.encode(), f"\0{word}\0".encode()
    server = [pid for pid in parents if mark in names.get(pid, b"") and said in names[pid]]

    def above(pid):
        while parents.get(pid, 0) > 1:
            pid = parents[pid]
            yield pid

    lines = [[pid, *above(pid)] for pid in server]
    line = next(line for line in lines if owner in line or len(line) > 2)
    first = line[1] if len(line) > 1 else line[0]
    helper = parents[first]
    proxies = [pid for pid in parents if parents[pid] == helper and b"toolcage-egress" in names.get(pid, b"")]
    return {"owner": [owner], "helper": [helper], "PID 1": [first], "egress proxy": proxies}


def policy_publishes():
    policy = (
        '[tool.dev]\nfilesystem.readable = ["/workspace"]\nsession_lifetime = "1h"\n'
        'publish = [{ port = 3000 }, { port = 3001, to = "127.0.0.2:0" }]\n'
    )
    with Place() as place:
        path = place.write("policies/toolcage.toml", policy)
        old = place.write("policies/old.toml", "\n".join(policy.split("\n")[:-2]) + "\n")
        given = ["--policy", path]
        with Session(*given, "--tool", "dev", place=place) as s:
            check(s.started.code == 0, "a policy publishes ports", s.started)
            s.serve(3001)
            addresses = {p["port"]: address_of(p) for p in s.ports()}
            check(ask(addresses[3001]) == b"here got 0", "its port leads into the session")
            check(addresses[3001][0] == "127.0.0.2", "any loopback address can be named", addresses)
        expect(
            place,
            "a flag publishes nothing under a policy",
            ["session", "start", *given, "--tool", "dev", "--publish", "4000", "more"],
            126,
            "more than the policy grants",
        )
        expect(place, "exec has no such flag", ["exec", "--publish", "3000", "true"], 125, "unknown option")
        expect(place, "a single call runs", ["exec", *given, "--tool", "dev", "true"], 0, stream="out")
        explained = place.run("policy", "explain", *given, "--tool", "dev")
        check("3000:127.0.0.1:0" in explained.out, "explain shows the ports", explained)
        diff = place.run("policy", "diff", old, path)
        check(
            "publishes the port" in diff.out and diff.code != 0, "a diff lists published ports as more", diff
        )
        for what, text in (
            ("is not a loopback address", 'publish = [{ port = 3000, to = "0.0.0.0:3000" }]'),
            ("is not a loopback address", 'publish = [{ port = 3000, to = "192.0.2.1:3000" }]'),
            ("is not a loopback address", 'publish = [{ port = 3000, to = "[::]:3000" }]'),
            ("is not a loopback address", 'publish = [{ port = 3000, to = "localhost:3000" }]'),
            ("does not name a unix socket", 'publish = [{ port = 3000, to = "unix:" }]'),
            ("has no port", 'publish = [{ to = "127.0.0.1:0" }]'),
            ("port", "publish = [{ port = 0 }]"),
            (
                "publish at this address",
                'publish = [{ port = 1, to = "127.0.0.1:9" }, { port = 2, to = "127.0.0.1:9" }]',
            ),
            ("backend oci publishes no ports", 'backend = "oci"\npublish = [{ port = 3000 }]'),
        ):
            bad = place.write("policies/bad.toml", f'[tool.dev]\nsession_lifetime = "1h"\n{text}\n')
            checked = place.run("policy", "check", bad)
            line = 4 if "backend" in text else 3
            check(
                checked.code != 0
                and what in checked.err + checked.out
                and f"bad.toml:{line}:" in checked.err + checked.out,
                "the check refuses " + text.replace("\n", ", "),
                checked,
            )
        bad = place.write("policies/bad.toml", "[tool.dev]\npublish = [{ port = 3000 }]\n")
        checked = place.run("policy", "check", bad)
        check(
            checked.code != 0 and "only live sessions publish ports" in checked.err + checked.out,
            "the check refuses ports without sessions",
            checked,
        )


require_user()
for part in (
    port_leads_into_the_session,
    connections_stay_open_both_ways,
    sessions_publish_the_same_port,
    unix_socket_belongs_to_the_user,
    hostile_servers_harm_themselves,
    a_thousand_clients_are_bounded,
    transfer_cuts_connections,
    nothing_listens_after_a_kill,
    policy_publishes,
):
    part()
finish()
