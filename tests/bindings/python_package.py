# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The Python package as a host meets it: calls, refusals, output as it comes, cancels, threads, asyncio, misuse; and that a tool
in its cage has what the same words have without one, and no more."""

import asyncio
import gc
import json
import os
import pathlib
import pickle
import signal
import subprocess
import tempfile
import threading
import time

import tap
import toolcage
from toolcage import Again, Call, Policy, Status

POLICY = """
[tool.greet]
description = "Greets."
command = ["echo", "hello", "{name}"]
arguments.name = { type = "string", pattern = "^[a-z]+$" }
memory = { max = "256MiB", by = "any" }

[tool.sleep]
command = ["sleep", "60"]
timeout = "500ms"
memory = { max = "256MiB", by = "any" }

[tool.make]
command = ["sh", "-c", "echo one > made.txt; printf 'a\\\\0b\\\\377'"]
filesystem = { writable = ["/workspace"] }
collect = ["*.txt"]
memory = { max = "256MiB", by = "any" }

[tool.deploy]
tier = "HumanApprove"
backend = "process"
command = ["cat", "{file}"]
arguments.file = { read = ["/var/tmp"] }
memory = { max = "256MiB", by = "any" }

[tool.edit]
backend = "process"
command = ["sh", "-c", "echo a > a; echo b > b; mkdir d; echo c > d/c"]
filesystem = { writable = ["/workspace"] }
workspace = { mode = "copy", commit = "ask" }
memory = { max = "256MiB", by = "any" }
"""
default = Policy.default()
checked = Policy.from_text(POLICY)


def sh(line, **more):
    return Call(default, command=["sh", "-c", line], memory="256MiB", **more)


def raised(kind, function, *words):
    """The exception of this kind that the function raises, or what came in its place."""
    try:
        return function(*words)
    except kind as error:
        return error


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def check_results(engine):
    result = engine.run(Call(checked, "greet", {"name": "you"}))
    tap.check(
        result.status is Status.OK and result.ok and result.exit_code == 0 and result.signal is None,
        "a call works",
        result,
    )
    tap.check(
        result.stdout == b"hello you\n" and result.stdout_text == "hello you\n" and result.check() is result,
        "output as bytes and text",
    )
    tap.check(
        engine.run(Call(checked, "greet", '{"name":"raw"}')).stdout == b"hello raw\n",
        "arguments as the model wrote them",
    )
    result = engine.run(Call(checked, "make"))
    tap.check(
        result.stdout == b"a\0b\xff" and "�" in result.stdout_text,
        "bytes that are no text are whole",
        result.stdout,
    )
    tap.check(
        [(c.path, c.path_bytes, c.kind, c.size) for c in result.changes]
        == [("/workspace/made.txt", b"/workspace/made.txt", "added", 4)],
        "changes",
        result.changes,
    )
    tap.check(
        [(f.path, f.content, f.mime) for f in result.files]
        == [("/workspace/made.txt", b"one\n", "text/plain")],
        "files",
        result.files,
    )
    tap.check(
        result.usage.wall_ms >= 0 and result.enforcement["net.none"] and not result.truncated,
        "usage and enforcement",
        result.details,
    )
    result = engine.run(sh("exit 3"))
    error = raised(toolcage.CallError, result.check)
    tap.check(
        result.status is Status.FAILED
        and result.exit_code == result.shell_code == 3
        and "'failed'" in str(error),
        "a tool that fails",
        error,
    )
    result = engine.run(sh("cat; echo E >&2", stdin=b"fed\0"))
    tap.check(result.stdout == b"fed\0" and result.stderr == b"E\n", "standard input is bytes", result)
    result = engine.run(sh("echo $X; pwd", env={"X": "a=b"}, cwd="/tmp"))
    tap.check(result.stdout == b"a=b\n/tmp\n", "environment and directory", result)


def check_cage(engine):
    """The five that every way in has; each is tried without a cage, too."""
    words = ["sh", "-c", "cat /etc/hostname && test -e /etc/shadow"]
    bare = subprocess.run(words, capture_output=True, check=False).returncode
    result = engine.run(Call(default, command=words, memory="256MiB"))
    tap.check(
        bare == 0 and result.status is Status.FAILED and not result.stdout,
        "files of the host are absent",
        result,
    )
    result = engine.run(sh("! test -e /etc/shadow && ! test -e /root/. && ! test -e /home/."))
    tap.check(result.ok, "/etc/shadow, /root and /home are absent", result)
    line = "import socket,sys\nsocket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"
    with __import__("socket").create_server(("127.0.0.1", 0)) as server:
        words = ["/usr/bin/python3", "-c", line, str(server.getsockname()[1])]
        bare = subprocess.run(words, capture_output=True, check=False).returncode
        result = engine.run(Call(default, command=words, memory="256MiB"))
    tap.check(
        bare == 0 and result.status is Status.FAILED and b"Error" in result.stderr,
        "there is no network",
        result,
    )
    began = time.monotonic()
    result = engine.run(Call(checked, "sleep"))
    tap.check(
        result.status is Status.TIMEOUT and result.shell_code == 124 and time.monotonic() - began < 30,
        "killed at its timeout",
        result,
    )
    result = engine.run(Call(checked, "greet", {"name": "$(id)"}))
    tap.check(
        result.status is Status.DENIED
        and result.error
        and result.error.code == "arguments"
        and "name" in result.message
        and result.exit_code is None,
        "a refusal is a sentence that the model can act on",
        result,
    )


def check_approval(engine):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        file = os.path.join(place, "plan")
        pathlib.Path(file).write_text("plan A\n")
        asked = []

        def deploy(answer):
            def approve(request):
                asked.append(request)
                return answer() if callable(answer) else answer

            return engine.run(Call(checked, "deploy", {"file": file}, approve=approve))

        result = engine.run(Call(checked, "deploy", {"file": file}))
        tap.check(
            result.status is Status.DENIED and "needs a person's approval" in result.message,
            "nobody to ask is a no",
            result.message,
        )
        result = deploy(True)
        subject = asked[0]["subject"]
        tap.check(
            result.ok
            and result.stdout == b"plan A\n"
            and subject["arguments"] == {"file": file}
            and any(one["path"].endswith("plan") and one["bytes"] == 7 for one in subject["files"]),
            "a yes runs the call",
            (result.message, asked),
        )
        for answer, words in (
            (False, "it was refused"),
            (None, "it was refused"),
            (1, "it was refused"),
            ("use plan B", "it was refused: use plan B"),
            (lambda: bool(pathlib.Path(file).write_text("plan B\n")), "something has changed"),
        ):
            result = deploy(answer)
            tap.check(
                result.status is Status.DENIED and words in result.message and b"plan" not in result.stdout,
                f"an answer that is no yes: {words}",
                result.message,
            )
        free = []
        engine.run(Call(checked, "greet", {"name": "you"}, approve=free.append))
        tap.check(not free, "a tool without a tier asks nobody", free)
        tap.check(
            raised(ZeroDivisionError, deploy, lambda: 1 // 0).__class__ is ZeroDivisionError,
            "an exception while asking is no yes",
        )


def check_again():
    """A yes that a person meant for equal calls, too: the log counts them."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        state = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = os.path.join(place, "state")
        file = os.path.join(place, "plan")
        pathlib.Path(file).write_text("plan A\n")
        logged = Policy.from_text("[audit]\n" + POLICY)
        approved = {}

        def approve(request):
            if request["digest"] not in approved:
                approved[request["digest"]] = 0
                return True
            approved[request["digest"]] += 1
            return Again(approved[request["digest"]])

        with toolcage.Engine() as engine:

            def deploy(answer):
                return engine.run(Call(logged, "deploy", {"file": file}, approve=answer))

            results = [deploy(approve) for _ in range(3)]
            pathlib.Path(file).write_text("plan B\n")
            results.append(deploy(approve))
            tap.check(all(result.ok for result in results), "an answer can be repeated", results)
            tap.check(sorted(approved.values()) == [0, 2], "a changed file is another request", approved)
            for count in (0, -1, 2**63, True, "1"):
                error = raised(toolcage.UsageError, deploy, lambda _, count=count: Again(count))
                tap.check(getattr(error, "hint", ""), f"Again({count!r}) is refused", error)
        if state is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = state
        log = "".join(path.read_text() for path in pathlib.Path(place).glob("state/toolcage/audit/*.jsonl"))
        records = [json.loads(line) for line in log.splitlines()]
        counts = [record.get("approval_again") for record in records if record["kind"] == "run"]
        tap.check(counts == [None, 1, 2, None], "the log counts the repeated ones", counts)


def check_changes(engine):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        there = pathlib.Path(place)
        result = engine.run(Call(checked, "edit", workspace=place))
        tap.check(result.ok and not list(there.iterdir()), "changes wait for a person", result.message)
        shown = engine.changes(result.call)
        paths = {change["path"] for change in shown["changes"]}
        tap.check(
            {"/workspace/a", "/workspace/b", "/workspace/d/c"} <= paths
            and shown["digest"].startswith("sha256:"),
            "they are listed with a digest",
            shown,
        )
        some = engine.changes(result.call, paths=["/workspace/d"])
        tap.check(
            all(change["path"].startswith("/workspace/d") for change in some["changes"])
            and some["digest"] is None,
            "a part is listed without one",
            some,
        )
        error = raised(
            toolcage.DeniedError, lambda: engine.changes(result.call, "commit", seen="sha256:" + 64 * "0")
        )
        tap.check(
            isinstance(error, toolcage.DeniedError) and not list(there.iterdir()),
            "another digest commits nothing",
            error,
        )
        engine.changes(result.call, "commit", paths=["/workspace/a"], seen=shown["digest"])
        tap.check([path.name for path in there.iterdir()] == ["a"], "the seen digest commits one file")
        error = raised(
            toolcage.DeniedError, lambda: engine.changes(result.call, "commit", seen=shown["digest"])
        )
        tap.check(isinstance(error, toolcage.DeniedError), "the rest has another digest", error)
        engine.changes(result.call, "discard", seen=engine.changes(result.call)["digest"])
        error = raised(toolcage.UsageError, engine.changes, result.call)
        tap.check(
            isinstance(error, toolcage.UsageError) and [path.name for path in there.iterdir()] == ["a"],
            "a discard leaves nothing",
            error,
        )
        for words, more in (
            (("x", "commit"), {"paths": "/workspace/a"}),
            (("x", "commit"), {"seen": "sha256:\0"}),
            (("x",), {"seen": shown["digest"]}),
        ):
            error = raised(toolcage.UsageError, lambda words=words, more=more: engine.changes(*words, **more))
            tap.check(getattr(error, "hint", ""), f"changes{words} with {more} is refused", error)


def check_errors(engine):
    error = raised(toolcage.PolicyError, Policy.from_text, "[tool.x]\nnetwerk = 1\n", "there/tools.toml")
    tap.check(
        error.code == "policy"
        and error.hint == 'did you mean "network"?'
        and (error.location.file, error.location.line) == ("there/tools.toml", 2)
        and "^~~" in error.report,
        "an invalid policy has place, hint and caret",
        vars(error),
    )
    again = pickle.loads(pickle.dumps(error))
    tap.check(
        type(again) is type(error) and vars(again) == vars(error) and str(again) == str(error),
        "errors can be pickled",
        again,
    )
    tap.check(
        raised(toolcage.NotFoundError, Policy.from_file, "/no/such.toml").code == "not_found",
        "a file that is not there",
    )
    tap.check(
        raised(toolcage.NotFoundError, engine.run, Call(checked, "nothing")).code == "not_found",
        "a tool that is not there",
    )
    result = engine.run(Call(checked, "greet", {"name": "x"}, timeout=3600))
    tap.check(
        result.status is Status.DENIED
        and result.error.code == "denied"
        and "timeout" in result.error.message,
        "no call may have more than its policy",
        result,
    )
    error = raised(toolcage.DeniedError, engine.run, Call(checked, "greet", {"name": "x"}, command=["id"]))
    tap.check(getattr(error, "code", getattr(error, "status", "")) == "denied", "nor another command", error)
    for name, call in {
        "a word": sh("echo a\0; id"),
        "a path": sh("id", read=["/usr\0/x"]),
        "arguments": Call(checked, "greet", '{"name":"a"}\0'),
        "a tool's name": Call(checked, "greet\0x"),
        "a variable": sh("id", env={"A": "b\0c"}),
    }.items():
        error = raised(toolcage.UsageError, engine.run, call)
        tap.check("NUL byte" in str(error), f"{name} with a NUL byte is refused, not cut", error)
    for name, call in {
        "one text as command": Call(default, command="id"),
        "text as input": sh("cat", stdin="text"),
        "a variable's name with =": sh("id", env={"A=B": "c"}),
        "an unknown key": sh("id", options=[("speed", "1")]),
    }.items():
        tap.check(
            getattr(raised(toolcage.UsageError, engine.run, call), "code", "") == "usage",
            f"{name} is refused",
        )


def check_running(engine):
    with engine.start(sh("for i in 1 2 3; do echo $i; sleep 0.2; done; echo e >&2"), stream=True) as running:
        tap.check(running.result is None, "a call that runs has no result")
        seen = [(piece.stream, piece.text, time.monotonic()) for piece in running]
    out = "".join(text for stream, text, _ in seen if stream == 1)
    tap.check(
        out == "1\n2\n3\n" and (2, "e\n") in [row[:2] for row in seen] and seen[-1][2] - seen[0][2] > 0.3,
        "output as it comes",
        seen,
    )
    tap.check(
        running.result.stdout == b"1\n2\n3\n" and running.wait() is running.result,
        "the result has it, too, and stays after the end",
    )
    with engine.start(sh("cat", stdin=toolcage.PIPE), stream=True) as running:
        running.stdin.write(b"ping\n")
        first = next(iter(running)).data
        running.stdin.close()
        tap.check(first == b"ping\n" and running.wait().ok, "standard input while it runs", first)
    with engine.start(sh("sleep 60")) as running:
        tap.check(
            isinstance(raised(TimeoutError, running.wait, 0.05), TimeoutError),
            "waiting may have an end of its own",
        )
        running.cancel()
        tap.check(running.wait().status is Status.CANCELLED, "cancel", running.result)
    running = engine.start(sh("sleep 60"))
    running.close()
    tap.check(
        getattr(raised(toolcage.UsageError, running.wait), "code", "") == "usage",
        "a closed call has no result",
    )
    running = engine.start(sh("sleep 60"))
    threading.Timer(0.2, running.cancel).start()
    other = []
    waiting = threading.Thread(target=lambda: other.append(running.wait()))
    waiting.start()
    time.sleep(0.05)
    tap.check(
        isinstance(raised(toolcage.UsageError, running.close), toolcage.UsageError),
        "a second thread is refused, not let in",
    )
    waiting.join()
    tap.check(other[0].status is Status.CANCELLED, "a cancel from another thread")
    tap.check(
        isinstance(raised(toolcage.UsageError, next, iter(engine.start(sh("true")))), toolcage.UsageError),
        "no output without stream=True",
    )


def check_signal(engine):
    """^C ends a call that is waited for."""
    before, began = (
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt())),
        time.monotonic(),
    )
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    error = raised(KeyboardInterrupt, engine.run, sh("sleep 60"))
    signal.signal(signal.SIGALRM, before)
    tap.check(
        isinstance(error, KeyboardInterrupt) and time.monotonic() - began < 30,
        "a signal's exception ends the call",
        error,
    )


def check_threads(engine):
    results, lock = [], threading.Lock()

    def work(number):
        for step in range(4):
            result = engine.run(sh(f"echo {number}.{step}"))
            with lock:
                results.append((f"{number}.{step}\n".encode(), result.stdout))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.check(
        len(results) == 24 and all(asked == got for asked, got in results), "threads share an engine", results
    )


async def check_asyncio(engine):
    open_before, ticks, threads = descriptors(), 0, threading.active_count()

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    results = await asyncio.gather(*(engine.run_async(sh(f"sleep 0.2; echo {n}")) for n in range(8)))
    tap.check(
        [r.stdout for r in results] == [f"{n}\n".encode() for n in range(8)]
        and threading.active_count() == threads,
        "eight at once, in one thread",
        results,
    )
    try:
        await asyncio.wait_for(engine.run_async(sh("sleep 60")), 0.2)
        tap.check(False, "a cancelled task ends its call")
    except asyncio.TimeoutError:
        tap.check(True, "a cancelled task ends its call")
    async with engine.start(sh("echo a; sleep 0.2; echo b"), stream=True) as running:
        pieces = [piece.data async for piece in running]
        tap.check(b"".join(pieces) == b"a\nb\n" and (await running).ok, "output as it comes, awaited", pieces)
    async with engine.start(sh("sleep 60")) as running:
        asyncio.get_running_loop().call_later(0.1, running.cancel)
        tap.check((await running).status is Status.CANCELLED, "cancel, awaited")
    ticking.cancel()
    tap.check(ticks > 10, "the loop was never blocked", ticks)
    tap.check(descriptors() == open_before, "no descriptor is left", (open_before, descriptors()))


def check_ends():
    with toolcage.Engine() as engine:
        running = engine.start(sh("sleep 60"))
    tap.check(
        running.wait().status is Status.CANCELLED, "the end of an engine ends its calls", running.result
    )
    tap.check(
        "closed" in str(raised(toolcage.UsageError, engine.run, sh("true"))), "a closed engine is no engine"
    )
    engine = toolcage.Engine()
    open_before = descriptors()
    for _ in range(3):
        engine.start(sh("sleep 60"))
    tap.check(
        descriptors() == open_before,
        "calls that nobody holds are ended and freed",
        (open_before, descriptors()),
    )
    pid = os.fork()
    if pid == 0:
        error = raised(toolcage.Error, engine.run, sh("true"))
        os._exit(0 if getattr(error, "code", "") == "forked" else 1)
    tap.check(os.waitpid(pid, 0)[1] == 0, "a child of a fork is refused")
    tap.check(engine.run(sh("echo still")).ok, "and its parent's engine still works")


def check_questions(engine):
    tools = checked.tools("openai")
    tap.check(
        tools[0]["function"]["name"] == "greet" and len(tools) == 4,
        "the tools as a model is told of them",
        tools,
    )
    tap.check(
        checked.digest.startswith("sha256:") and checked.digest == Policy.from_text(POLICY).digest,
        "a policy's digest",
    )
    verdict = engine.explain(Call(checked, "greet", {"name": "x"}), "read /etc/shadow")["verdict"]
    tap.check(verdict["allowed"] is False and verdict["reason"], "explain", verdict)
    tap.check(
        engine.doctor() and "sessions" in engine.sessions() and "held" in engine.changes(),
        "doctor, sessions, changes",
    )
    for ask, words in (
        (engine.changes, ("none", "eat")),
        (engine.sessions, (None, "eat")),
        (engine.sessions, ("x",)),
        (engine.changes, (None, "discard")),
        (engine.changes, ("none", "discard")),
    ):
        error = raised(toolcage.UsageError, ask, *words)
        tap.check(getattr(error, "hint", ""), f"{ask.__name__}{words} is refused with a hint", error)
    name = f"python-{os.getpid()}"  # of this test alone
    engine.run(sh("true", session=name))
    ended = [row["name"] for row in engine.sessions(name, "end")["sessions"]]
    left = [row["name"] for row in engine.sessions()["sessions"]]
    tap.check(ended == [name] and name not in left, "a session can be ended", (ended, left))


def check_library(package):
    """Which library is loaded is never left to a relative path."""
    env = {**os.environ, "PYTHONPATH": str(package), "TOOLCAGE_LIBRARY": "libtoolcage.so.0"}
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import toolcage"], env=env, capture_output=True, text=True, check=False
    )
    tap.check(
        done.returncode == 1 and "absolute path" in done.stderr,
        "a relative path to the library is refused",
        done.stderr,
    )
    env["TOOLCAGE_LIBRARY"] = "/usr/lib/x86_64-linux-gnu/libc.so.6"
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import toolcage"], env=env, capture_output=True, text=True, check=False
    )
    tap.check(
        done.returncode == 1 and "cannot be used" in done.stderr,
        "a library that is another one is refused",
        done.stderr,
    )


def main():
    with toolcage.Engine() as engine:
        first = engine.run(sh("true"))
        if first.error and first.error.code == "unenforceable":
            tap.skip_all("this machine cannot make the cage: " + first.error.message)
        check_results(engine)
        check_cage(engine)
        check_approval(engine)
        check_again()
        check_changes(engine)
        check_errors(engine)
        check_running(engine)
        check_signal(engine)
        check_threads(engine)
        check_questions(engine)
        asyncio.run(check_asyncio(engine))
    check_ends()
    check_library(pathlib.Path(toolcage.__file__).parent.parent)


with tempfile.TemporaryDirectory(prefix="toolcage-python-") as here:
    os.chmod(here, 0o755)
    os.chdir(here)
    try:
        main()
    finally:
        os.chdir("/")
tap.finish()
