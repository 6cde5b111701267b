# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Live sessions and sandboxes of the Python package: commands, files both ways, terminals, ports, asyncio, the end; and what a hostile
session can do to the host that reads its files.

usage: python_sandbox.py self|ordinary"""

import asyncio
import gc
import hashlib
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import urllib.request

import tap
import toolcage
from tap import check
from toolcage import PIPE, Call, Command, Policy, Sandbox, Status

LIMIT = 'memory = { max = "512MiB", by = "any" }\n'
POLICY = f"""
[tool.shell]
filesystem = {{ writable = ["/workspace"] }}
session_lifetime = "1h"
timeout = "30s"
{LIMIT}
[tool.copy]
filesystem = {{ writable = ["/workspace"] }}
workspace = {{ mode = "copy", commit = "on_success" }}
session_lifetime = "1h"
timeout = "30s"
{LIMIT}
[tool.call]
{LIMIT}
"""
default = Policy.default()
checked = Policy.from_text(POLICY)
SERVER = (
    "import http.server as h; h.HTTPServer(('127.0.0.1', 8000), h.SimpleHTTPRequestHandler).serve_forever()"
)


def sh(line, **more):
    return Command(["sh", "-c", line], **more)


def raised(kind, function, *words, **more):
    """The exception of this kind that the function raises, or what came in its place."""
    try:
        return function(*words, **more)
    except kind as error:
        return error


def is_raised(kind, function, *words, **more):
    return isinstance(raised(kind, function, *words, **more), kind)


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def check_commands(session):
    result = session.run(
        sh("echo $X; pwd; cat; echo E >&2; exit 3", stdin=b"in\0", cwd="/tmp", env={"X": "a=b"})
    )
    check(
        result.status is Status.FAILED
        and result.exit_code == 3
        and result.details["live_session"] == session.id,
        "a command has its result",
        result,
    )
    check(
        result.stdout == b"a=b\n/tmp\nin\0" and result.stderr == b"E\n",
        "a command has its streams, variables and directory",
        result,
    )
    session.run(Command(shell="cd /tmp; export KEPT=1"))
    check(session.run(Command(shell="pwd; echo $KEPT")).stdout == b"/tmp\n1\n", "the shell keeps its state")
    session.run(sh("sleep 300 >/dev/null 2>&1 & echo $! > /tmp/pid"))
    check(session.run(sh("kill -0 $(cat /tmp/pid)")).ok, "a process in the background stays")
    began = time.monotonic()
    result = session.run(sh("sleep 60", timeout=0.3))
    check(
        result.status is Status.TIMEOUT and time.monotonic() - began < 20 and session.run(sh("true")).ok,
        "the timeout of a command ends the command alone",
        result,
    )
    check(not session.run(sh("test -e /etc/shadow")).ok, "files of the host are absent")
    for name, command in {
        "neither words nor text": Command(),
        "words and text": Command(["true"], "true"),
        "one text as words": Command("true"),
        "a NUL byte in the text": Command(shell="echo a\0"),
        "text as input": Command(["cat"], stdin="text"),
        "an input beside a terminal": Command(["cat"], stdin=b"x", terminal=(24, 80)),
        "a terminal without rows": Command(["cat"], terminal=(0, 80)),
    }.items():
        check(is_raised(toolcage.UsageError, session.run, command), f"{name} is refused")


def check_running(session):
    line = "trap 'echo got; exit 4' USR1; echo up; while :; do sleep 0.05; done"
    with session.start(sh(line), stream=True) as process:
        pieces = []
        for piece in process:
            pieces.append(piece.data)
            process.signal(signal.SIGUSR1)
        check(
            b"got\n" in b"".join(pieces) and process.result.exit_code == 4,
            "a signal reaches a command",
            pieces,
        )
        process.signal(signal.SIGUSR1)
        check(process.wait().exit_code == 4, "a signal after the end does nothing")
    process = session.start(sh("sleep 60"))
    threading.Timer(0.2, process.signal, (signal.SIGKILL,)).start()
    check(process.wait(20).signal == signal.SIGKILL, "another thread signals while one waits", process.result)
    check(is_raised(toolcage.UsageError, session.start(sh("sleep 9")).signal, 65), "signal 65 is refused")
    line = "tty; read x; stty size; echo got $x"
    with session.start(sh(line, terminal=(30, 90), stdin=PIPE)) as process:
        said = b""
        for piece in process:
            said += piece.data
            if b"/dev/pts/" in said and process.stdin:
                process.resize(40, 100)
                process.stdin.write(b"yo\n")
                process.stdin, _ = None, process.stdin
        check(b"40 100" in said and b"got yo" in said, "a terminal has keys and a size", said)
    with session.start(sh("cat", stdin=PIPE), stream=True) as process:
        process.stdin.write(b"ping")
        process.stdin.close()
        check(b"".join(piece.data for piece in process) == b"ping", "input is written while it runs")


def check_files(session, place):
    for content in (b"", b"a\0b\xff", os.urandom(3 << 20)):
        session.put("/tmp/f", content)
        check(session.get("/tmp/f") == content, f"{len(content)} bytes go in and come back")
    check(
        session.stat("/tmp/f").mode == 0o644 and session.stat("/tmp/f").size == 3 << 20,
        "stat tells of a file",
    )
    session.put("/tmp/run", b"#!/bin/sh\necho ran\n", 0o755)
    check(session.run(Command(["/tmp/run"])).stdout == b"ran\n", "a file has the mode that it was given")
    (place / "tree/sub").mkdir(parents=True)
    (place / "tree/sub" / os.fsdecode(b"name\xff")).write_bytes(b"x")
    session.put("/tmp/tree", place / "tree")
    names = session.list("/tmp/tree/sub")
    check(
        [entry.name_bytes for entry in names] == [b"name\xff"] and names.complete and len(names) == 1,
        "a directory goes in, and names that are no UTF-8 are listed",
        names,
    )
    session.get_to("/tmp/tree", place / "back", tree=True)
    check(os.listdir(os.fsencode(place / "back/sub")) == [b"name\xff"], "a directory comes back")
    big = place / "big"
    with open(big, "wb") as file:
        file.truncate(100 << 20)
        file.write(b"start")
    session.put("/tmp/big", big)
    session.get_to("/tmp/big", place / "big-back", mode=0o600)
    with open(big, "rb") as one, open(place / "big-back", "rb") as other:
        same = hashlib.file_digest(one, "sha256").digest() == hashlib.file_digest(other, "sha256").digest()
    check(
        same and (place / "big-back").stat().st_mode & 0o777 == 0o600, "a large file goes in and comes back"
    )
    check(
        is_raised(FileExistsError, session.get_to, "/tmp/f", place / "big-back"),
        "an existing file is not replaced",
    )
    session.get_to("/tmp/run", place / "big-back", replace=True)
    check((place / "big-back").read_bytes().endswith(b"ran\n"), "an existing file is replaced on request")
    session.remove("/tmp/f")
    session.remove("/tmp/tree", tree=True)
    check({entry.name for entry in session.list("/tmp")} >= {"run", "big"}, "the others stay after a removal")
    for kind, name, ask, *words in (
        (FileNotFoundError, "a missing file", session.get, "/tmp/f"),
        (FileNotFoundError, "a missing path", session.stat, "/tmp/tree"),
        (FileNotFoundError, "a missing directory", session.put, "/tmp/tree/f", b""),
        (IsADirectoryError, "a directory as a file", session.get, "/tmp"),
        (IsADirectoryError, "a directory without `tree`", session.remove, "/tmp"),
        (OSError, "a read-only directory", session.put, "/usr/f", b""),
        (OSError, "a file over the limit", session.get, "/tmp/big", 1000),
        (toolcage.UsageError, "a NUL byte", session.get, "/tmp/\0"),
        (toolcage.CallError, "dots", session.get, "/tmp/../tmp/run"),
        (FileExistsError, "a directory over a file", session.put, "/tmp/run", place / "tree"),
    ):
        check(is_raised(kind, ask, *words), f"{name} is a {kind.__name__}", raised(kind, ask, *words))
    check(sorted(os.listdir(place)) == ["back", "big", "big-back", "tree"], "failures leave nothing behind")


def check_hostile(session, place):
    """A session that wants a file of the host, or the host's own writes elsewhere."""
    secret = place / "secret"
    secret.write_text("secret\n")
    session.put("/tmp/run", b"#!/bin/sh\n")
    session.run(
        sh(
            f"ln -s {secret} /tmp/link; mkfifo /tmp/fifo; mkdir /tmp/out; ln -s / /tmp/out/root; ln -s f /tmp/out/g"
        )
    )
    for path in ("/tmp/link", "/tmp/fifo", "/proc/self/mem", "/dev/zero"):
        check(is_raised((toolcage.CallError, OSError), session.get, path), f"{path} is not read")
    session.get_to("/tmp/out", place / "out", tree=True)
    check(os.listdir(place / "out") == ["g"], "a link that leads out is left out", os.listdir(place / "out"))
    (place / "planted").symlink_to("/tmp")
    for local in ("planted/new", "planted"):
        check(
            is_raised((toolcage.UsageError, FileExistsError), session.get_to, "/tmp/run", place / local),
            f"{local} is not followed on the host",
        )
    check(
        is_raised(toolcage.UsageError, session.put, "/tmp/x", place / "planted"),
        "a link of the host is no source",
    )
    line = "while :; do for p in /proc/[0-9]*; do p=${p#/proc/}; [ $p = 1 ] || [ $p = $$ ] || kill -STOP $p; done; done"
    process = session.start(sh(f"exec 2>/dev/null; {line}"))
    stopped = threading.Timer(1, process.signal, (signal.SIGKILL,))
    stopped.start()
    began = time.monotonic()
    raised((toolcage.CallError, toolcage.Error, OSError), session.put, "/tmp/held", b"x" * (8 << 20))
    check(
        time.monotonic() - began < 60,
        "a transfer that is stopped in the session ends",
        time.monotonic() - began,
    )
    process.close()
    stopped.cancel()


async def check_asyncio(session):
    before, threads = descriptors(), threading.active_count()
    results = await asyncio.gather(
        *(session.run_async(sh(f"sleep 0.2; echo {number}")) for number in range(6)),
        session.put_async("/tmp/async", b"x" * 70000),
    )
    check(
        [r and r.stdout for r in results] == [*(f"{n}\n".encode() for n in range(6)), None],
        "six at once",
        results,
    )
    content, entry = await asyncio.gather(session.get_async("/tmp/async"), session.stat_async("/tmp/async"))
    check(len(content) == entry.size == 70000, "files are awaited")
    check("async" in {entry.name for entry in await session.list_async("/tmp")}, "a list is awaited")
    await session.remove_async("/tmp/async")
    error = None
    try:
        await session.get_async("/tmp/async")
    except FileNotFoundError as caught:
        error = caught
    check(error, "an error is raised where it is awaited")
    began = time.monotonic()
    try:
        await asyncio.wait_for(session.run_async(sh("sleep 60")), 0.2)
    except asyncio.TimeoutError:
        pass
    check(
        time.monotonic() - began < 20 and (await session.run_async(sh("true"))).ok,
        "a cancelled task ends its command",
    )
    process = session.start(sh("sleep 60"))
    asyncio.get_running_loop().call_later(0.1, process.signal, signal.SIGTERM)
    check((await process).signal == signal.SIGTERM, "another task signals while one waits")
    process.close()
    check(descriptors() <= before + 1, "no descriptor is left", (before, descriptors()))
    check(threading.active_count() <= threads + 32, "transfers leave no thread but the loop's own")


def check_ends(engine, place):
    work = place / "work"
    work.mkdir()
    with engine.open(Call(checked, "copy", workspace=work)) as session:
        session.put("/workspace/made", b"1")
        check(not list(work.iterdir()), "changes wait for the end of the session")
    check(
        (work / "made").exists()
        and [change.path for change in session.result.changes] == ["/workspace/made"],
        "the end applies the changes of all commands",
        session.result,
    )
    try:
        with engine.open(Call(checked, "copy", workspace=work)) as session:
            session.put("/workspace/other", b"1")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    check(not (work / "other").exists(), "an exception applies no changes")
    check(is_raised(toolcage.UsageError, session.run, sh("true")), "a closed session is no session")
    session = engine.open(Call(default, memory="512MiB"), idle=0.3)
    check(session.wait(30).ok, "a session without a command ends by itself", session.result)
    result = session.run(sh("true"))
    check(
        result.error and result.error.code == "not_found",
        "an ended session has an error for a command",
        result,
    )
    check(
        is_raised((toolcage.CallError, toolcage.Error), session.get, "/etc/hostname"),
        "an ended session has no files",
    )
    check(
        is_raised(toolcage.CallError, engine.open, Call(checked, "call")),
        "a tool without session_lifetime is refused",
    )
    check(
        is_raised(toolcage.Error, engine.open, Call(checked, "nothing")),
        "a tool that is not there is refused",
    )
    session = engine.open(Call(default, memory="512MiB"))
    process = session.start(sh("sleep 60"))
    session.close()
    check(process.wait(30).status is not Status.OK, "the end of a session ends its commands", process.result)


def check_sandbox(place):
    open_before = descriptors()
    with Sandbox.create(
        preset="python", memory="512MiB", workspace=place, publish=["8000:127.0.0.1:0"]
    ) as sandbox:
        check(
            sandbox.exec("cd /tmp; pwd").stdout == sandbox.exec("pwd").stdout == b"/tmp\n",
            "text is for the shell",
        )
        check(sandbox.exec(["cat"], stdin=b"in").stdout == b"in", "words are a command")
        sandbox.exec("ln -s /tmp/a/real /tmp/link")
        sandbox.write("/tmp/a/real", b"1")
        sandbox.write("/tmp/link", b"2")
        check(
            sandbox.read("/tmp/link") == sandbox.get("/tmp/a/real") == b"2",
            "links in the sandbox are followed there",
        )
        sandbox.exec("echo > /tmp/locked; chmod 400 /tmp/locked; mkdir -m 500 /tmp/shut")
        for kind, ask, *words in (
            (FileNotFoundError, sandbox.read, "/tmp/nothing"),
            (FileNotFoundError, sandbox.read, "https:/a/b"),
            (IsADirectoryError, sandbox.write, "/tmp", b""),
            (PermissionError, sandbox.write, "/tmp/locked", b""),
            (PermissionError, sandbox.write, "/tmp/shut/a", b""),
            (PermissionError, sandbox.write, "/tmp/shut/a/b", b""),
        ):
            check(
                is_raised(kind, ask, *words),
                f"{ask.__name__}({words[0]}) is a {kind.__name__}",
                raised(Exception, ask, *words),
            )
        with sandbox.stream(["python3", "-c", SERVER], cwd="/tmp/a"):
            sandbox.exec(
                "while ! python3 -c 'import socket as s; s.create_connection((\"127.0.0.1\", 8000))'; do sleep 0.1; done 2>&-"
            )
            with urllib.request.urlopen(f"http://{sandbox.port(8000).address}/real", timeout=20) as answer:
                check(answer.read() == b"2", "a published port answers on the host")
        check(is_raised(toolcage.NotFoundError, sandbox.port, 80), "another port is not published")
        with sandbox.pty("stty size", 20, 70) as process:
            check(b"".join(piece.data for piece in process).strip() == b"20 70", "a terminal has its size")
        for ask, name in ((sandbox.snapshot, "snapshot"), (sandbox.fork, "fork")):
            error = raised(NotImplementedError, ask)
            check(
                isinstance(error, toolcage.UnsupportedError) and error.hint,
                f"{name} is an error of its own",
                error,
            )
            check(name not in sandbox.capabilities, f"capabilities do not have {name}")
        check(
            all(hasattr(sandbox, name) for name in sandbox.capabilities - {"shell", "signal"}),
            "capabilities have methods",
        )
    check(
        sandbox.result.ok and descriptors() <= open_before,
        "the end leaves no descriptor",
        (open_before, descriptors()),
    )
    file = place / "tools.toml"
    file.write_text(POLICY)
    for name, kind, more in (
        ("a policy and a preset", toolcage.UsageError, {"preset": "python"}),
        ("an unknown grant", toolcage.UsageError, {"tool": "shell", "speed": 1}),
        ("more than the policy", toolcage.CallError, {"tool": "shell", "network": "a.example:443"}),
        ("a port that the policy does not publish", toolcage.CallError, {"tool": "shell", "publish": [80]}),
        ("a tool without sessions", toolcage.CallError, {"tool": "call"}),
    ):
        check(
            is_raised(kind, Sandbox.create, file, **more),
            f"{name} is refused",
            raised(Exception, Sandbox.create, file, **more),
        )
    check(is_raised(toolcage.PolicyError, Sandbox.create, preset="no-such"), "an unknown preset is refused")
    check(descriptors() <= open_before + 1, "a refusal leaves no descriptor", (open_before, descriptors()))


async def check_async_sandbox(place):
    async with await Sandbox.create_async(place / "tools.toml", "shell", workspace=place) as sandbox:
        await sandbox.write_async("/workspace/new/file", b"x")
        check(await sandbox.read_async("new/file") == b"x", "a relative path starts at the working directory")
        check((await sandbox.exec_async("cat new/file")).stdout == b"x", "commands are awaited")
        async with sandbox.stream(["sh", "-c", "echo a; sleep 0.2; echo b"]) as process:
            pieces = [piece.data async for piece in process]
            check(b"".join(pieces) == b"a\nb\n" and len(pieces) == 2, "output comes as it is written", pieces)
    check(
        sandbox.result.ok and (place / "new/file").exists(),
        "a sandbox of a policy file ends well",
        sandbox.result,
    )


def main(place):
    with toolcage.Engine() as engine:
        try:
            session = engine.open(Call(default, memory="512MiB"))
        except toolcage.CallError as error:
            if error.result.error and error.result.error.code == "unenforceable":
                tap.skip_all(f"this machine cannot make the cage: {error.result.error.message}")
            raise
        with session:
            check_commands(session)
            check_running(session)
            check_files(session, place / "files")
            asyncio.run(check_asyncio(session))
        with engine.open(Call(default, memory="512MiB")) as session:
            check_hostile(session, place / "hostile")
        check_ends(engine, place / "ends")
    check_sandbox(place / "sandbox")
    asyncio.run(check_async_sandbox(place / "sandbox"))


if sys.argv[1] == "ordinary":
    tap.become(tap.ORDINARY, os.environ["TOOLCAGE_LIBRARY"])
with tempfile.TemporaryDirectory(prefix="toolcage-sandbox-", dir="/var/tmp") as here:
    os.mkdir(os.path.join(here, "project"))
    os.chdir(os.path.join(here, "project"))
    place = pathlib.Path(here)
    os.environ.update(HOME=here, XDG_STATE_HOME=os.path.join(here, "state"))
    for name in ("files", "hostile", "ends", "sandbox"):
        (place / name).mkdir()
    try:
        main(place)
    finally:
        os.chdir("/")
tap.finish()
