# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage-engine against engines that are slow, broken, hostile or gone: what it says, how long it takes, what it asks."""

import array
import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import tap
from fake import NAME, Engine, answer, good

PROGRAM = sys.argv[1]
ABOUT, STARTED, FAILED, GONE, LEFT, SWEPT = range(1000, 1006)
PATIENCE = 600  # ms
SECRET = "\x1b]0;owned\x07"


def wire(*fields):
    out = b""
    for one in fields:
        if isinstance(one, str):
            out += struct.pack("<q", len(one.encode())) + one.encode()
        else:
            out += struct.pack("<q", int(one))
    return out


class Run:
    """The program, with this engine; leaves when it has ended."""

    def __init__(
        self,
        engine,
        about=False,
        sweep=False,
        stale=120,
        kind="docker",
        name=NAME,
        program=None,
        patience=PATIENCE,
    ):
        self.engine, self.began = engine, time.monotonic()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control = ours

        def hand():
            os.dup2(theirs.fileno(), 3)

        self.process = subprocess.Popen(
            [PROGRAM],
            preexec_fn=hand,
            pass_fds=(3,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=True,
        )
        theirs.close()
        config = wire(
            kind,
            "localhost/toolcage-init",
            "0123",
            name,
            '{"Image":"x"}',
            "",
            "",
            "",
            "",
            patience,
            stale,
            about,
            sweep,
            True,
            True,
            False,
            False,
        )
        self.image = program or open("/bin/true", "rb")
        found = os.open(f"{engine.place}/socket", os.O_PATH)
        ours.sendmsg(
            [struct.pack("<II", len(config), 2), config],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [self.image.fileno(), found]))],
        )
        os.close(found)

    def end(self, limit=20):
        said = []
        while True:
            if not select.select([self.control], [], [], limit)[0]:
                said.append((None, "it hangs"))
                self.process.kill()
                break
            record = self.control.recv(4096)
            if not record:
                break
            (kind,) = struct.unpack("<i", record[:4])
            said.append((kind, record[4:].split(b"\0")[0].decode("ascii")))
        self.code = self.process.wait(10)
        self.seconds = time.monotonic() - self.began
        self.engine.gone()
        self.noise = self.process.stdout.read() + self.process.stderr.read()
        return said


def said_of(said, kind):
    return [text for k, text in said if k == kind]


def at(place, what):
    """A good engine, but for its answer where the path has this in it."""

    def script(self, method, path):
        here = place in path if place != "delete" else method == "DELETE"
        if not here:
            return good(self, method, path)
        if place == "/create":
            self.containers.add(NAME)
        return what(self) if callable(what) else what

    return script


def whole_life():
    engine = Engine(good)
    run = Run(engine)
    said = run.end()
    tap.check(
        [k for k, _ in said] == [STARTED, GONE] and run.code == 0,
        "a container is made, started, waited for and removed",
        said,
    )
    tap.check(
        engine.asked[0] == ("POST", f"/v1.40/containers/create?name={NAME}")
        and engine.bodies[0] == b'{"Image":"x"}',
        "the container is made as the helper wrote",
        engine.asked,
    )
    tap.check(not run.noise, "nothing is written elsewhere", run.noise)


def image_once():
    seen = []

    def script(self, method, path):
        if "/create?name" in path and not seen:
            return answer(404, '{"message":"no such image"}')
        if "/images/" in path:
            seen.append(path)
            return answer(200, '{"status":"sha256:1"}')
        return good(self, method, path)

    for kind, server, where in (
        (
            "docker",
            "Docker/20.10 (linux)",
            "/v1.40/images/create?fromSrc=-&repo=localhost/toolcage-init&tag=0123",
        ),
        (
            "podman",
            "Libpod/4.3.1 (linux)",
            "/v4.0.0/libpod/images/import?reference=localhost/toolcage-init:0123",
        ),
    ):
        seen.clear()
        engine = Engine(script, server)
        said = Run(engine, kind=kind).end()
        tap.check(
            [k for k, _ in said] == [STARTED, GONE] and seen == [where],
            f"{kind}: an image that is missing is made, once",
            (said, engine.asked),
        )
        tar = engine.bodies[[p for _, p in engine.asked].index(where)]
        with tempfile.NamedTemporaryFile() as file:
            file.write(tar)
            file.flush()
            names = subprocess.run(["tar", "-tvf", file.name], capture_output=True, text=True, check=False)
            same = subprocess.run(
                ["tar", "-xOf", file.name, ".toolcage/engine-init"], capture_output=True, check=False
            ).stdout
        with open("/bin/true", "rb") as true:
            tap.check(
                names.returncode == 0 and "rwxr-xr-x" in names.stdout and same == true.read(),
                f"{kind}: the image is the program, bit by bit",
                names,
            )


def never():
    """Each step is bounded in time, whatever the engine does with it, and the container goes."""
    shapes = {
        "nothing": None,
        "half a head": [b"HTTP/1.1 20", None],
        "half a body": [answer(200, "{", length=1000), None],
        "a byte now and then": [b"HTTP/1.1 200 OK\r\n"] + [b"X: y\r\n", 0.1] * 100,
        "100 Continue for ever": [b"HTTP/1.1 100 Continue\r\n\r\n", 0.1] * 100,
    }
    for place, doing in (("/create", "creating the container"), ("/start", "starting the container")):
        for name, what in shapes.items():
            engine = Engine(at(place, what))
            run = Run(engine)
            said = run.end()
            why = said_of(said, FAILED)
            tap.check(
                len(why) == 1
                and why[0].startswith(doing)
                and f"within {PATIENCE} ms" in why[0]
                and run.seconds < 5,
                f"{place} answered by {name}: an error with the time",
                (said, run.seconds),
            )
            tap.check(
                engine.count("DELETE", NAME) >= 1
                and NAME not in engine.containers
                and bool(said_of(said, GONE)),
                f"{place} answered by {name}: the container is removed",
                (said, engine.asked),
            )


def garbage():
    shapes = {
        "no HTTP": b"220 mail.example ESMTP\r\n" + b"x" * 100,
        "NUL bytes": b"\0" * 4096,
        "the end": "close",
        "a body without end": [answer(200, b"x" * 100, length=1 << 40)] + [b"x" * 65536] * 64,
        "a head without end": [b"HTTP/1.1 200 OK\r\n"] + [b"A: " + b"b" * 4000 + b"\r\n"] * 64,
        "one line without end": b"HTTP/1.1 200 OK\r\nA: " + b"b" * (1 << 21),
        "a status of 99": b"HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n",
        "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "a way elsewhere": answer(307, "", "Location: http://127.0.0.1:1/\r\n"),
        "an error with words": answer(500, json.dumps({"message": "disk full " + SECRET + "\nnext line"})),
        "an error without": answer(500, b"\xff\xfe"),
        "an error of lists": answer(500, "[" * 100000),
        "a wrong success": answer(200, '{"Id":"00ff"}'),
    }
    for name, what in shapes.items():
        engine = Engine(at("/create", what))
        run = Run(engine)
        said = run.end()
        why = said_of(said, FAILED)
        tap.check(
            len(why) == 1 and why[0] and run.code == 0 and run.seconds < 5,
            f"{name}: one error",
            (said, run.code, run.seconds),
        )
        tap.check(
            all(31 < ord(c) < 127 for _, text in said for c in text),
            f"{name}: nothing that a terminal obeys",
            said,
        )
    engine = Engine(at("/create", answer(500, json.dumps({"message": "disk full"}))))
    said = Run(engine).end()
    tap.check(
        said_of(said, FAILED) == ["creating the container: status 500: disk full"],
        "an engine's own words are passed on",
        said,
    )
    tap.check(
        not engine.count("DELETE", ""),
        "a container that the engine refused to make is not removed: the name may be somebody's",
        engine.asked,
    )


def who():
    for kind, server in (("podman", "Docker/20.10 (linux)"), ("docker", "Libpod/4.3.1 (linux)")):
        engine = Engine(good, server)
        said = Run(engine, kind=kind).end()
        tap.check(
            any(f"not {kind}" in text for text in said_of(said, FAILED)) and not said_of(said, STARTED),
            f"another engine is not taken for {kind}",
            said,
        )
        tap.check(engine.count("DELETE", NAME) == 1, "the container is removed", engine.asked)
    parts = {
        "Components": [
            {"Name": "Engine", "Version": "20.10.24+dfsg1"},
            {"Name": "runc", "Version": "1.1.5+ds1"},
        ]
    }

    def script(self, method, path):
        if path.endswith("/version"):
            return answer(200, json.dumps(parts))
        return good(self, method, path)

    said = Run(Engine(script), about=True).end()
    tap.check(
        said_of(said, ABOUT) == ["Docker Engine 20.10.24+dfsg1, runc 1.1.5+ds1"],
        "it tells who the engine is",
        said,
    )
    for odd in (
        [],
        {"Components": 7},
        {"Components": [7, {"Name": 3}]},
        {"Components": [{"Name": SECRET * 100, "Version": SECRET}]},
    ):
        parts = odd
        said = Run(Engine(script), about=True).end()
        tap.check(
            len(said_of(said, ABOUT)) == 1 and bool(said_of(said, GONE)),
            "malformed component lists of an engine are tolerated",
            said,
        )


def ends():
    """The helper's wish to end, its death, and engines that do not remove."""
    slow = at("/wait", None)
    for name, go in (
        ("a word", lambda run: run.control.send(b"x")),
        ("a hang-up", lambda run: run.control.shutdown(socket.SHUT_WR)),
        ("the helper's death", lambda run: run.control.close()),
    ):
        engine = Engine(slow)
        run = Run(engine)
        while ("POST", f"/v1.40/containers/{NAME}/wait") not in engine.asked:
            time.sleep(0.01)
        time.sleep(0.05)
        begun = time.monotonic()
        go(run)
        code = run.process.wait(10)
        tap.check(
            code == 0
            and time.monotonic() - begun < 3
            and engine.count("DELETE", f"{NAME}?force=1") == 1
            and NAME not in engine.containers,
            f"{name} ends a container that runs, and removes it",
            engine.asked,
        )
    engine = Engine(at("/create", [0.3, answer(201, '{"Id":"00ff"}')]))
    run = Run(engine)
    while not engine.asked:
        time.sleep(0.01)
    run.control.close()
    run.process.wait(10)
    tap.check(
        engine.count("DELETE", NAME) == 1 and not engine.count("POST", "/start"),
        "the helper's death while a container is made: it is not started, and goes",
        engine.asked,
    )

    def already(self, method, path):
        if method == "DELETE":
            threading.Timer(0.3, self.containers.discard, (NAME,)).start()
            return answer(409, '{"message":"removal is already in progress"}')
        return good(self, method, path)

    engine = Engine(already)
    said = Run(engine).end()
    tap.check(
        bool(said_of(said, GONE)) and engine.count("GET", f"{NAME}/json") > 1,
        "one that removes it already is waited for",
        said,
    )
    for name, what in (("refuses", answer(500, "{}")), ("is silent", None)):
        run = Run(Engine(at("delete", what)))
        said = run.end()
        tap.check(
            len(said_of(said, LEFT)) == 1 and run.seconds < 6,
            f"an engine that {name} to remove is given up, and that is said",
            (said, run.seconds),
        )
    said = Run(Engine(lambda *asked: [good(*asked), "close"])).end()
    tap.check(
        [k for k, _ in said] == [STARTED, GONE], "one that closes each connection is connected to again", said
    )
    engine = Engine(good)
    engine.deaf()
    said = Run(engine).end()
    tap.check(
        len(said_of(said, FAILED)) == 1 and "connect" in said_of(said, FAILED)[0],
        "one that is not there any more is an error",
        said,
    )


def leftovers():
    """Ours, still, and old: those go, and nobody else's, whatever the engine lists."""
    old, label = int(time.time()) - 1000, {"toolcage.call": "01OLD"}
    rows = [
        {"Id": "aa01", "State": "created", "Created": old, "Labels": label},
        {"Id": "aa02", "State": "exited", "Created": old, "Labels": label},
        {"Id": "bb01", "State": "running", "Created": old, "Labels": label},
        {"Id": "bb02", "State": "exited", "Created": int(time.time()), "Labels": label},
        {"Id": "bb03", "State": "exited", "Created": old, "Labels": {"mine": "1"}},
        {"Id": "bb04", "State": "exited", "Created": old, "Labels": None},
        {"Id": "bb05/../../x", "State": "exited", "Created": old, "Labels": label},
        {"Id": "", "State": "exited", "Created": old, "Labels": label},
        {"Id": "bb06", "State": "paused", "Created": old, "Labels": label},
        {"Id": "bb07", "State": "exited", "Created": "old", "Labels": label},
        {"Id": "bb08", "State": "exited", "Created": -5, "Labels": label},
        {"Id": "bb09", "State": 7, "Created": old, "Labels": label},
        7,
        None,
        "x",
    ]

    def script(self, method, path):
        return answer(200, json.dumps(rows)) if "/containers/json" in path else good(self, method, path)

    engine = Engine(script)
    said = Run(engine, sweep=True).end()
    gone = [p for m, p in engine.asked if m == "DELETE"]
    tap.check(
        gone
        == [
            "/v1.40/containers/aa01?v=1",
            "/v1.40/containers/aa02?v=1",
            f"/v1.40/containers/{NAME}?force=1&v=1",
        ],
        "old containers of ours that do not run go, without force, and no other",
        gone,
    )
    tap.check(said_of(said, SWEPT) == ["2"], "it says how many", said)
    for odd in ("{}", "[", "[" * 50000, "null", b"\xff"):
        engine = Engine(
            lambda self, m, p, o=odd: answer(200, o) if "/containers/json" in p else good(self, m, p)
        )
        said = Run(engine, sweep=True).end()
        tap.check([k for k, _ in said] == [STARTED, SWEPT, GONE], "a list that is none changes nothing", said)


def orders():
    """What the program is told is looked at, too."""
    for name in ("a b", "../x", "x?force=1", "x\r\nHost: y", "", "x%2e"):
        engine = Engine(good)
        run = Run(engine, name=name)
        said = run.end()
        tap.check(
            run.code == 2 and not engine.asked and not said,
            f"no container is called {name!r}",
            (said, engine.asked),
        )
    bare = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    tap.check(
        bare.returncode == 2 and b"started by toolcage" in bare.stderr, "by itself it says what it is", bare
    )
    with tempfile.TemporaryFile() as empty:
        engine = Engine(lambda self, m, p: answer(404, "{}") if "/create?name" in p else good(self, m, p))
        said = Run(engine, program=empty).end()
        tap.check(
            len(said_of(said, FAILED)) == 1 and "cannot be read" in said_of(said, FAILED)[0],
            "of an empty program no image is made",
            said,
        )


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
for part in (whole_life, image_once, never, garbage, who, ends, leftovers, orders):
    part()
tap.finish()
