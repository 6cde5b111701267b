# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""exec and call on real cages: exit codes, streams, signals, bad input."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

from cli import FIELDS, TOOLCAGE, Place, check, expect, finish, require_user, skip, skip_all

POLICY = """
[defaults]
filesystem = { readable = ["."] }
memory = { max = "512MiB", by = "any" }

[tool.greet]
command = ["echo", "hello", "{name}"]
arguments.name = { type = "string", maxLength = 10 }
memory = { max = "512MiB", by = "any" }
timeout = "5s"

[tool.fixed]
command = ["true"]

[tool.shell]
filesystem = { writable = ["/workspace"] }
memory = { max = "512MiB", by = "any" }
"""


def codes(place):
    place.write("home/project/data.txt", "data\n")
    place.write("home/project/plain", "no program\n")
    place.write(
        "home/project/foreign", b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x02\0\xf3\0" + b"\0" * 60, 0o755
    )
    rows = [
        ("success", ["true"], 0, []),
        ("the tool's own code", ["sh", "-c", "exit 7"], 7, []),
        ("a signal", ["sh", "-c", "kill -9 $$"], 137, []),
        ("another signal", ["sh", "-c", "kill -15 $$"], 143, []),
        ("not found", ["no-such-command"], 127, ["toolcage: ", "no-such-command"]),
        ("not found by path", ["/no/such/command"], 127, ["/no/such/command"]),
        (
            "a whole command line in one word",
            ["ls -l"],
            127,
            ["hint: write it as separate arguments", "toolcage exec ls -l"],
        ),
        ("a pipeline in one word", ["ls | wc"], 127, ["needs a shell", "sh -c 'ls | wc'"]),
        ("not executable", ["./plain"], 126, ["plain"]),
        ("a directory", ["/usr"], 126, ["/usr"]),
        ("another architecture", ["./foreign"], 126, ["foreign"]),
        ("timeout", ["-t", "300ms", "sleep", "20"], 124, ["toolcage: timeout: ended after 0."]),
        ("a working directory that is missing", ["--cwd", "/nowhere", "true"], None, ["/nowhere"]),
        ("a read grant that is missing", ["--read", "/nowhere", "true"], 126, ["/nowhere"]),
        (
            "a workspace that is missing",
            ["--workspace", "/nowhere", "--read", "/workspace", "true"],
            None,
            ["/nowhere"],
        ),
        ("512m", ["-m", "512m", "true"], 125, ["512m", "512MiB", "512MB"]),
        ("a bare number", ["-m", "512", "true"], 125, ["512"]),
        ("a negative size", ["--memory=-1MiB", "true"], 125, ["-1MiB"]),
        ("an overflow", ["-m", "99999999999999999999GiB", "true"], 125, ["99999999999999999999GiB"]),
        ("a wrong time", ["-t", "soon", "true"], 125, ["soon"]),
        ("no time", ["-t", "0s", "true"], 125, ["0s"]),
        ("no processes", ["--pids=-3", "true"], 125, ["-3"]),
        ("an unknown backend", ["--backend", "submarine", "true"], None, ["submarine"]),
        ("a wildcard path", ["--read", "/data/*", "true"], 125, ["/data/*"]),
        ("a variable that is not there", ["-e", "NO_SUCH_VARIABLE", "true"], 125, ["--env NAME=VALUE"]),
    ]
    for name, args, code, texts in rows:
        answer = place.run("exec", *args)
        good = answer.code == code if code is not None else answer.code in (125, 126)
        missing = [text for text in texts if text not in answer.err]
        check(good and not missing, name, f"expected {code}; missing {missing}\n{answer}")
        if answer.code in (124, 125, 126, 127):
            check("hint: " in answer.err, f"{name}: with the next step", answer)


def habits(place):
    """What the hints for options of other sandboxes advise does what those did."""
    place.write("home/project/data.txt", "data\n")
    here = place.project
    for foreign, words in (
        (["-v", f"{here}:/data:ro", "cat", "/data/data.txt"], ["--read", f"/data={here}"]),
        (["--ro-bind", here, "/data", "cat", "/data/data.txt"], ["--read", f"/data={here}"]),
        (
            ["--bind", here, "/data", "sh", "-c", "echo > /data/new; cat /data/data.txt"],
            ["--write", f"/data={here}"],
        ),
    ):
        hint = f"hint: write {' '.join(words)}\n"
        answer = place.run("exec", *foreign)
        check(
            answer.code == 125 and answer.err.endswith(hint),
            f"{foreign[0]} is answered with {words[0]}",
            f"{hint} {answer}",
        )
        command = foreign[2 if foreign[0] == "-v" else 3 :]
        answer = place.run("exec", *words, *command)
        check(answer.code == 0 and answer.out == "data\n", "and that works", answer)
    check(os.path.exists(here + "/new"), "and writes")
    for words, told in (
        (["--cwd", "/usr", "pwd"], "/usr\n"),
        (["--env", "A=b", "sh", "-c", "echo $A"], "b\n"),
        (["--network", "none", "echo", "x"], "x\n"),
        (["--pids", "50", "echo", "x"], "x\n"),
        (["--disk", "8MiB", "echo", "x"], "x\n"),
    ):
        answer = place.run("exec", *words)
        check(answer.code == 0 and answer.out == told, f"so does {' '.join(words[:2])}", answer)
    answer = place.run("exec", "cat", stdin=b"given")
    check(answer.out == "given", "standard input passes by default", answer)
    answer = place.run(
        "exec", "sh", "-c", "id -u; grep CapEff /proc/self/status; echo x > /tmp/x; ls /dev | wc -l"
    )
    uid, capabilities, devices = answer.out.split("\n")[:3]
    check(
        answer.code == 0 and uid != "0" and not int(capabilities.split()[1], 16) and int(devices) < 20,
        "no root, no capabilities, a /tmp and a /dev of its own",
        answer,
    )


def variables(place):
    """Values by file: no word of the command line shows them, and no error does."""
    lines = place.write("home/vars", "# comment\n\nA=one\r\nB= two # more\nC=\nA=last\n", 0o600)
    script = 'printf "%s|" "$A" "$B" "${C-none}"'
    answer = place.run("exec", "--env-file", lines, "sh", "-c", script)
    check(answer.code == 0 and answer.out == "last| two # more||", "--env-file, a line each", answer)
    entries = place.write("home/entries", b"A=first\nsecond\0B=\xc3\xa4\0")
    answer = place.run("exec", "--env-file", entries, "sh", "-c", script)
    check(
        answer.code == 0 and answer.out == "first\nsecond|\u00e4|none|",
        "--env-file, entries that end in NUL bytes",
        answer,
    )
    answer = place.run("exec", "--env", "A=flag", "--env-file", lines, "--env", "B=flag", "sh", "-c", script)
    check(answer.code == 0 and answer.out == "last|flag||", "with --env what is given last counts", answer)
    steered = place.write("home/steered", "TOOLCAGE_POLICY=/nowhere\nHOME=/nowhere\nLD_PRELOAD=/nowhere.so\n")
    answer = place.run("exec", "--env-file", steered, "sh", "-c", 'echo "$TOOLCAGE_POLICY"')
    check(
        answer.code == 0 and answer.out == "/nowhere\n",
        "they are the tool's, and steer nothing outside its cage",
        answer,
    )
    for name, text, number in (
        ("no =", "A=1\nSECRET\n", 2),
        ("no name", "=SECRET\n", 1),
        ("a wrong name", "A B=SECRET\n", 1),
        ("an empty entry", b"A=SECRET\0\0", 2),
        ("a comment among entries", b"# SECRET=\0A=1\0", 1),
    ):
        answer = place.run("exec", "--env-file", place.write("home/wrong", text), "true")
        check(
            answer.code == 125
            and f"entry {number} is not NAME=VALUE" in answer.err
            and "hint: " in answer.err,
            f"--env-file, {name}",
            answer,
        )
        check("SECRET" not in answer.err, "and no message shows what it holds", answer)
    for path, told in (
        ("/nowhere/vars", "/nowhere/vars: No such file"),
        ("-", "standard input is the tool's"),
        ("/", "Is a directory"),
        ("/dev/zero", "File too large"),
    ):
        answer = place.run("exec", "--env-file", path, "true")
        check(
            answer.code == 125 and told in answer.err and "hint: " in answer.err, f"--env-file {path}", answer
        )
    for make in ("echo A=tool > left/vars", "ln -sfn ../../vars left/vars"):
        place.write("home/project/left/vars", "A=own\n")
        place.run("exec", "--write", "left", "sh", "-c", make)
        answer = place.run("exec", "--env-file", "left/vars", "env")
        check(
            answer.code == 126
            and "left/vars may have been written by a tool" in answer.err
            and "hint: " in answer.err,
            f"--env-file, after {make}",
            answer,
        )
    for option in ("--keyring", "--kernel"):
        expect(
            place,
            f"image build {option}: no file of a tool",
            ["image", "build", option, "left/vars", "guest"],
            126,
            "left/vars may have been written by a tool",
        )
    held = place.write(
        "home/project/held.toml",
        '[tool.t]\nenv = { pass = ["TZ"] }\nmemory = { max = "64MiB", by = "any" }\n',
    )
    wide = place.write("home/wide", "TZ=CET\nLD_PRELOAD=x\n")
    answer = place.run("exec", "--policy", held, "--tool", "t", "--env-file", wide, "true")
    check(
        answer.code == 126 and "LD_PRELOAD" in answer.err,
        "a file grants no name that the policy does not pass",
        answer,
    )


def streams(place):
    block = os.urandom(3 << 20)
    answer = place.run("exec", "--output", "8MiB", "sha256sum", stdin=block)
    check(hashlib.sha256(block).hexdigest() in answer.out, "standard input passes, whole", answer)
    answer = place.run("exec", "--output", "8MiB", "cat", stdin=block)
    check(answer.bytes == block, "and comes back byte for byte", f"{len(answer.bytes)} bytes\n{answer.err}")
    answer = place.run("exec", "--stdin", "none", "cat", stdin=b"secret")
    check(answer.code == 0 and not answer.out, "--stdin none", answer)
    answer = place.run("exec", "true", stdin=block)
    check(answer.code == 0, "input that nobody reads", answer)
    answer = place.run("exec", "sh", "-c", "echo out; echo err >&2")
    check(answer.out == "out\n" and answer.err == "err\n", "output passes, each on its stream", answer)
    answer = place.run("exec", "--output", "1KiB", "sh", "-c", "yes | head -c 100000")
    check(
        answer.code == 0
        and "standard output was truncated: the tool wrote 100000 bytes" in answer.err
        and len(answer.out) < 4096,
        "output over the limit is cut, and that is said",
        answer,
    )
    answer = place.run(
        "exec", "-e", "A=b c", "-e", "PLACE", "sh", "-c", 'echo "$A,$PLACE"', env={"PLACE": "here"}
    )
    check(answer.out == "b c,here\n", "variables", answer)
    answer = place.run("exec", "--", "sh", "-c", 'echo "$1"', "sh", "--json")
    check(answer.out == "--json\n", "options after the command are its own", answer)
    pipeline = place.shell('timeout 20 "$@" | head -1; exit 0', "exec", "--output", "16MiB", "yes")
    check(
        pipeline.stdout == "y\n" and not pipeline.stderr,
        "a reader that goes away ends the call in silence",
        pipeline,
    )
    closed = place.shell('"$@" <&- >&- 2>&-', "exec", "true")
    check(closed.returncode == 0, "closed standard descriptors", closed)
    for args, code in [(("true",), 0), (("--json", "true"), 125), (("echo", "x"), 125)]:
        lost = place.shell('"$@" >&-', "exec", *args)
        check(
            lost.returncode == code and ("standard output: it is closed" in lost.stderr) == (code != 0),
            f"{args}: output that a closed standard output loses is an error",
            lost,
        )
    full = place.shell('"$@" >/dev/full', "exec", "echo", "x")
    check(full.returncode == 125 and "No space left" in full.stderr, "standard output that is full", full)


def as_json(place):
    answer = place.run("exec", "--json", "sh", "-c", "printf 'a\\377'; echo err >&2; exit 3")
    result = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
    check(answer.code == 3 and not answer.err and list(result) == FIELDS, "one line, every field", answer)
    check(
        result.get("status") == "failed"
        and result.get("exit_code") == 3
        and result.get("stdout", {}).get("base64") == "Yf8="
        and result.get("stderr", {}).get("text") == "err\n",
        "status and streams",
        answer,
    )
    rows = [
        (["no-such-command"], 127, "error", "command_not_found"),
        (["/usr"], 126, "error", "not_executable"),
        (["--read", "/nowhere", "true"], 126, "denied", "path"),
        (["-m", "512m", "true"], 125, "error", "policy"),
        (["--tool", "x", "true"], 125, "error", "not_found"),
    ]
    for args, code, status, word in rows:
        answer = place.run("exec", "--json", *args)
        result = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
        check(
            answer.code == code
            and not answer.err
            and list(result) == FIELDS
            and result["status"] == status
            and result["error"]["code"] == word,
            f"--json of {word}",
            answer,
        )
    answer = place.run("exec", "--json", "-t", "300ms", "sleep", "9")
    check(answer.code == 124 and json.loads(answer.out)["status"] == "timeout", "--json of a timeout", answer)
    answer = place.run("exec", "--timings", "true")
    check(
        "toolcage: policy" in answer.err
        and "toolcage: engine" in answer.err
        and " ms\n" in answer.err
        and not answer.out,
        "--timings",
        answer,
    )


def signals(place):
    for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
        process = place.popen(
            "exec",
            "sh",
            "-c",
            "echo ready; sleep 30",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.readline()
        start = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
        check(
            process.returncode == 128 + number and time.monotonic() - start < 5,
            f"{name} cancels",
            f"{process.returncode} {err}",
        )
    process = place.popen(
        "exec",
        "sh",
        "-c",
        "trap '' TERM; echo ready; while :; do sleep 1; done",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    check(
        process.returncode == 130 and time.monotonic() - start < 1,
        "a second one ends at once",
        process.returncode,
    )


JOB = """
import os, signal, sys, time
os.setsid()
terminal = os.open(sys.argv[1], os.O_RDWR)  # without a controlling terminal so far: this one becomes it
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.dup2(terminal, 0)
    os.execvp(sys.argv[2], sys.argv[2:])
time.sleep(0.7)
stopped = os.waitpid(child, os.WUNTRACED | os.WNOHANG)[0] != 0
print("stopped" if stopped else "running", flush=True)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.tcsetpgrp(terminal, child)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def terminals(place):
    ours, theirs = os.openpty()
    process = place.popen(
        "exec",
        "readlink",
        "/proc/self/fd/0",
        stdin=theirs,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    out, _ = process.communicate(timeout=20)
    check(out == b"/dev/null\n", "a terminal is no input", out)
    process = place.popen(
        "exec", "--stdin", "pass", "cat", stdin=theirs, stdout=subprocess.PIPE, start_new_session=True
    )
    os.write(ours, b"typed\n\x04")
    out, _ = process.communicate(timeout=20)
    check(process.returncode == 0 and out == b"typed\n", "a terminal as standard input", out)
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, os.ttyname(theirs), *place.argv("exec", "--stdin", "pass", "cat")],
        cwd=place.project,
        env=place.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    os.write(ours, b"early\n")
    first = process.stdout.readline()
    check(first == b"running\n", "a background job is not stopped by what is typed", first)
    os.write(ours, b"\x04")
    out, _ = process.communicate(timeout=20)
    check(process.returncode == 0 and out == b"early\n", "and reads it in the foreground", out)
    os.close(ours)
    os.close(theirs)


def on_a_terminal(place, *args):
    """What a terminal gets of both streams."""
    place.environ["TERM"] = "xterm"
    return place.shown(*args)


def persons(place):
    """Whoever sits at a terminal has time, and hears of the shell."""

    def at_a_terminal(*args):
        ours, theirs = os.openpty()
        process = place.popen(
            *args, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True
        )
        os.close(theirs)
        os.write(ours, b"\x04")
        err = process.communicate(timeout=60)[1]
        os.close(ours)
        return process.returncode, err.decode()

    check(
        at_a_terminal("exec", "sh")[1] == "hint: sh has no terminal here; `toolcage shell sh` gives it one\n",
        "an interactive program is told of the shell",
        at_a_terminal("exec", "sh"),
    )
    check(at_a_terminal("exec", "sh", "-c", "true") == (0, ""), "a command is not")
    check(
        at_a_terminal("exec", "cat")
        == (0, "hint: cat gets no input from a terminal; --stdin pass passes what is typed\n"),
        "a program that reads its input is told how to pass it",
    )
    check(at_a_terminal("exec", "--stdin", "pass", "cat") == (0, ""), "not when it is passed")
    check(at_a_terminal("exec", "--json", "sh")[1] == "", "nor who wants JSON")
    elsewhere = place.popen(
        "exec", "sleep", "32", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    check(at_a_terminal("exec", "sleep", "32") == (0, ""), "30 s are not the end at a terminal")
    check(elsewhere.wait(timeout=60) == 124, "where nobody sits they are")
    begun = time.monotonic()
    code, err = at_a_terminal("exec", "-t", "1s", "sleep", "20")
    check(code == 124 and time.monotonic() - begun < 15, "--timeout holds at a terminal", (code, err))


def words(place):
    """A tool's words never act on a terminal and never pass for ours."""
    evil = "\\033[31m\\033]0;t\\007 \\342\\200\\256gpj \\302\\233 \\377 \\342\\202\\254\\n"
    shown = b"\\x1b[31m\\x1b]0;t\\x07 \\u{202e}gpj \\u{9b} \\xff \xe2\x82\xac\n"
    for name, to in (("output", ""), ("errors", " >&2")):
        seen = on_a_terminal(place, "exec", "sh", "-c", f"printf '{evil}'{to}")
        check(seen == shown, f"a tool's {name} on a terminal are shown, not obeyed", seen)
    answer = place.run("exec", "sh", "-c", f"printf '{evil}' | od -An -tx1")
    check("1b 5b 33 31 6d" in answer.out, "the tool did write them", answer)
    done = subprocess.run(
        place.argv("exec", "sh", "-c", f"printf '{evil}'"),
        env=place.environ,
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=30,
    )
    check(done.stdout.startswith(b"\x1b[31m"), "into a pipe they go byte for byte", done)
    seen = on_a_terminal(place, "exec", "-t", "500ms", "sh", "-c", "printf 'toolcage: fine'; sleep 9")
    check(
        seen.startswith(b"toolcage (said by the tool): fine\n\x1b[1mtoolcage:\x1b[0m timeout"),
        "our line is bold and a line of its own",
        seen,
    )
    forged = "/home/x\ntoolcage: all is well\x1b[2J"
    answer = place.run("exec", forged)
    check(
        answer.code == 127
        and answer.err.count("\n") == 2
        and "\\x0atoolcage: all is well\\x1b[2J" in answer.err,
        "a line break in a command's name makes no line of ours",
        answer,
    )
    code = (
        f"import os\ntry: os.execv({forged!r}, ['x'])\nexcept OSError: pass\nprint('denied: forged'); exit(3)"
    )
    answer = place.run("exec", "python3", "-c", code)
    check("denied exec /home/x\\x0atoolcage: all is well\\x1b[2J" in answer.err, "nor in a denial", answer)
    message = json.loads(place.run("exec", "--json", "python3", "-c", code).out)["message"].split("\n")
    check(
        message[1].startswith("denied: exec /home/x\\x0atoolcage")
        and message[2:] == ["stdout:", "denied: forged", ""],
        "a message has our words first, a line each",
        message,
    )
    seen = on_a_terminal(place, "exec", "--json", "sh", "-c", f"printf '{evil}'")
    check(b"\x1b" not in seen and b"\xe2\x80\xae" not in seen, "nor does JSON steer a terminal", seen)
    seen = on_a_terminal(place, "exec", "--json", "sh", "-c", "printf '\\302\\233 \\342\\200\\256'")
    check(
        json.loads(seen)["stdout"]["text"] == "\x9b \u202e" and b"\\u009b \\u202e" in seen,
        "and still means the same",
        seen,
    )


def default_grant(place):
    place.write("home/project/data.txt", "data\n")
    expect(place, "the working directory can be read", ["exec", "cat", "data.txt"], 0, "data", stream="out")
    answer = place.run("exec", "sh", "-c", "echo x > new")
    check(
        answer.code == 2
        and "Read-only file system" in answer.err
        and not os.path.exists(os.path.join(place.project, "new")),
        "but not written",
        answer,
    )
    answer = place.run("exec", "--write", place.project, "sh", "-c", "echo x > new")
    check(
        answer.code == 0 and os.path.exists(os.path.join(place.project, "new")), "--write grants it", answer
    )
    answer = place.run("exec", "--write", ".", "sh", "-c", "echo x > newer")
    check(
        answer.code == 0 and os.path.exists(os.path.join(place.project, "newer")),
        "a relative path is the caller's",
        answer,
    )
    expect(place, "HOME is no working directory", ["exec", "true"], 126, "hint: ", cwd=place.home)
    answer = place.run("exec", "--disk", "1MiB", "dd", "if=/dev/zero", "of=/tmp/x", "bs=64k", "count=64")
    check(answer.code not in (0, 125, 126, 127), "a full disk", answer)
    answer = place.run("exec", "-m", "64MiB", "python3", "-c", "x = bytearray(1 << 30)")
    check(answer.code not in (0, 125, 126, 127), "no memory", answer)
    answer = place.run(
        "exec", "--pids", "8", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 3 & done; wait"
    )
    check(answer.code not in (0, 125, 126, 127), "no processes left", answer)
    answer = place.run("exec", "-t", "20s", "--cpu-time", "300ms", "sh", "-c", "while :; do :; done")
    check(
        answer.code == 137 and "limit: the tool reached its cpu_time limit" in answer.err,
        "no processor time left",
        answer,
    )


def absent_paths(place):
    """A path that is not there: what to do about an option is not what to do about a policy."""
    out = os.path.join(place.project, "absent")
    answer = expect(
        place,
        "an option's path to write",
        ["exec", "--write", "./absent", "true"],
        126,
        f"granted path {out} does not exist",
        f"hint: for a new directory: mkdir {out}; for a new file grant its directory",
    )
    check("policy" not in answer.err, "no word of a policy", answer)
    answer = expect(
        place,
        "an option's path to read",
        ["exec", "--read", "./absent", "true"],
        126,
        "create it first, or leave the option out",
    )
    check("policy" not in answer.err, "nor there", answer)
    policy = place.write("absent.toml", f'[tool.t]\ncommand = ["true"]\nfilesystem.writable = ["{out}"]\n')
    expect(place, "a policy's", ["call", "--policy", policy, "t"], 126, "optional = true", "absent.toml:3")


def tools(place):
    policy = place.write("tools.toml", POLICY)
    use = ["--policy", policy]
    expect(place, "call", ["call", *use, "greet", '{"name":"you"}'], 0, "hello you\n", stream="out")
    expect(
        place,
        "arguments from standard input",
        ["call", *use, "greet", "-"],
        0,
        "hello me\n",
        stream="out",
        stdin=b'{"name":"me"}',
    )
    given = place.write("arguments.json", '{"name":"it"}')
    expect(
        place, "arguments from a file", ["call", *use, "greet", "@" + given], 0, "hello it\n", stream="out"
    )
    rows = [
        ("arguments out of bounds", ["greet", '{"name":"01234567890"}'], 126, ["name"]),
        ("arguments of a wrong type", ["greet", '{"name":7}'], 126, ["name"]),
        ("arguments unknown", ["greet", '{"name":"x","more":1}'], 126, ["more"]),
        ("arguments missing", ["greet"], 126, ["name"]),
        ("arguments that are no JSON", ["greet", "{"], 126, []),
        ("no such file of arguments", ["greet", "@/nowhere.json"], 125, ["/nowhere.json"]),
        ("no such tool", ["gret", "{}"], 125, ["gret"]),
        ("widening a timeout", ["-t", "1h", "greet", '{"name":"x"}'], 126, ["1h", "5s"]),
        ("widening a path", ["--write", "/var", "greet", '{"name":"x"}'], 126, ["/var"]),
        (
            "widening the network",
            ["--network", "example.com:443", "greet", '{"name":"x"}'],
            126,
            ["example.com"],
        ),
    ]
    for name, args, code, texts in rows:
        expect(place, name, ["call", *use, *args], code, "toolcage: ", *texts)
    expect(
        place,
        "narrowing a timeout",
        ["call", *use, "-t", "1s", "greet", '{"name":"x"}'],
        0,
        "hello x\n",
        stream="out",
    )
    expect(
        place,
        "a tool with a command of its own takes no other",
        ["exec", *use, "--tool", "fixed", "id"],
        126,
        "fixed",
    )
    answer = place.run("exec", *use, "--tool", "shell", "sh", "-c", "echo x > /workspace/made; pwd")
    check(
        answer.out == "/workspace\n" and os.path.exists(os.path.join(place.project, "made")),
        "exec under a tool's grant",
        answer,
    )
    expect(
        place,
        "without --tool it says whose grant holds",
        ["exec", *use, "true"],
        0,
        f"toolcage: no --tool: running under [defaults] of {policy}",
    )
    answer = expect(
        place,
        "explain",
        ["policy", "explain", *use, "--tool", "shell"],
        0,
        "/workspace",
        policy,
        stream="out",
    )
    check(all(len(line) <= 160 for line in answer.out.splitlines()), "its lines are not too long", answer)
    json.loads(place.run("policy", "explain", *use, "--tool", "shell", "--json").out)
    expect(
        place,
        "explain: allowed",
        ["policy", "explain", *use, "--tool", "shell", "--write", "/workspace/x"],
        0,
        "allowed: write /workspace/x",
        stream="out",
    )
    expect(
        place,
        "explain: denied",
        ["policy", "explain", *use, "--tool", "shell", "--read", "/etc/shadow"],
        1,
        "denied: read /etc/shadow",
        stream="out",
    )
    expect(
        place,
        "explain: connect",
        ["policy", "explain", *use, "--tool", "shell", "--connect", "example.com:443"],
        1,
        "denied: connect example.com:443",
        stream="out",
    )


def refusals(place):
    """A machine that lacks something: refused with the next step, and nothing ran or is left."""
    lacks = [
        (
            "no user namespace can be made",
            [
                "unshare",
                "-U",
                "-r",
                "sh",
                "-c",
                'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"',
                "sh",
            ],
        ),
        ("no descriptor is left", ["sh", "-c", 'ulimit -n 6 && exec "$@"', "sh"]),
    ]
    for name, wrapper in lacks:
        argv = place.argv("exec", "--write", ".", "sh", "-c", "echo ran > ran")
        at = argv.index(TOOLCAGE)
        answer = subprocess.run(
            argv[:at] + wrapper + argv[at:],
            cwd=place.project,
            env=place.environ,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if "unshare failed" in answer.stderr:
            skip(name, answer.stderr.strip())
            continue
        check(
            answer.returncode in (125, 126)
            and answer.stderr.startswith("toolcage: ")
            and "\nhint: " in answer.stderr
            and not os.listdir(place.project),
            name,
            answer,
        )


require_user()
with Place() as probe:
    found = probe.run("doctor")
    if found.code != 0:
        lines = (found.out + found.err).strip().splitlines()
        skip_all("no cage on this machine: " + " / ".join(lines[-2:]))
for part in (
    codes,
    habits,
    variables,
    streams,
    as_json,
    signals,
    terminals,
    persons,
    words,
    default_grant,
    absent_paths,
    tools,
    refusals,
):
    with Place() as own:
        part(own)
finish()
