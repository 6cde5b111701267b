#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Which program a command names, and what is said of one that cannot be executed: the cause and the next step."""

import os
import shutil
import struct
import subprocess
import tempfile

from cli import TOOLCAGE, Place, check, finish, require_user, skip

FIXED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MEMORY = 'memory = { max = "256MiB", by = "any" }\n'


def said(place, name, args, code, *words, **more):
    answer = place.run(*args, **more)
    text = answer.err + answer.out
    check(answer.code == code and all(word in text for word in words), name, f"{answer}\nnot all of {words}")
    return answer


# ---- PATH ----


def search_path(place):
    """Directories of the caller's PATH that every cage shows are on the cage's, in the same order."""
    os.symlink("/usr/lib", os.path.join(place.project, "lib"))
    rows = [
        ("none", "/usr/bin:/bin", FIXED),
        ("one before", "/usr/lib:/usr/bin", f"/usr/lib:{FIXED}"),
        ("one after", "/usr/bin:/usr/lib/:/bin:/usr/lib", f"{FIXED}:/usr/lib"),
        ("a missing one", "/usr/bin:/usr/no/such", FIXED),
        ("a file", "/usr/bin/env:/usr/bin", FIXED),
        ("relative ones", "usr/lib::.:/usr/bin", FIXED),
        ("others", f"{place.project}:/etc:/tmp:/usr/bin", FIXED),
        ("a link to one", f"{place.project}/lib:/usr/bin", FIXED),
        ("a way out", "/usr/bin:/usr/../etc", FIXED),
    ]
    for name, callers, wanted in rows:
        answer = place.run("exec", "sh", "-c", 'echo "$PATH"', env={"PATH": callers})
        check(answer.out == wanted + "\n", f"PATH: {name}", answer)
    answer = place.run(
        "exec", "-e", "PATH=/usr/bin", "sh", "-c", 'echo "$PATH"', env={"PATH": "/usr/lib:/usr/bin"}
    )
    check(answer.out == "/usr/bin\n", "PATH: one that the call sets", answer)
    policy = place.write("path.toml", f'[tool.t]\ncommand = ["sh", "-c", \'echo "$PATH"\']\n{MEMORY}')
    answer = place.run("call", "--policy", policy, "t", env={"PATH": "/usr/lib:/usr/bin"})
    check(answer.out == FIXED + "\n", "PATH: of a tool it is fixed", answer)


def below_system(place):
    """A program in a subdirectory of a system directory; where none can be made, one of git's."""
    made = f"/usr/local/toolcage-test-{os.getpid()}"
    core = "/usr/lib/git-core"
    name, directory = "git-status", core
    try:
        os.makedirs(made + "/bin")
        directory, name = made + "/bin", "toolcage-test-program"
        with open(
            os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT, 0o755), "w", encoding="utf-8"
        ) as out:
            out.write("#!/bin/sh\necho usage: ran\nexit 129\n")
    except OSError:
        pass
    try:
        if not os.access(f"{directory}/{name}", os.X_OK):
            print(f"# not tried here: no {core}/{name}, and {made} cannot be made")
            return
        path = {"PATH": f"{os.environ['PATH']}:{directory}"}
        said(place, "it is found", ["exec", name, "-h"], 129, "usage: ", env=path)
        said(place, "also by a child", ["exec", "sh", "-c", f"{name} -h"], 129, "usage: ", env=path)
        said(
            place, "also by a preset", ["exec", "--preset", "read-only", name, "-h"], 129, "usage: ", env=path
        )
        policy = place.write(
            "below.toml",
            f'[tool.bare]\ncommand = ["{name}", "-h"]\n{MEMORY}'
            f'[tool.named]\ncommand = ["{name}", "-h"]\nprograms = ["{name}"]\n{MEMORY}',
        )
        said(place, "by programs", ["call", "--policy", policy, "named"], 129, "usage: ", env=path)
        said(
            place,
            "a tool is told of programs",
            ["call", "--policy", policy, "bare"],
            127,
            "`programs`",
            env=path,
        )
        answer = said(
            place, "and so does check", ["policy", "check", policy], 1, f'programs = ["{name}"]', env=path
        )
        check(answer.out.count("cannot start") + answer.err.count("cannot start") == 1, "once", answer)
        policy = place.run("learn", "sh", "-c", f"{name} -h >/dev/null; true", env=path)
        check(policy.code == 0 and f'programs = ["{name}"]' in policy.out, "learn names it", policy)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def planted(place):
    """A directory that a tool could write is not searched, whatever name a cage has for it."""
    made = f"/usr/local/toolcage-planted-{os.getpid()}"
    try:
        os.makedirs(made)
        place.own(made)
    except OSError:
        print(f"# not tried here: {made} cannot be made")
        return
    try:
        script = "printf '#!/bin/sh\\necho planted\\n' >/data/planted; chmod +x /data/planted"
        answer = place.run("exec", "--write", f"/data={made}", "sh", "-c", script)
        check(answer.code == 0 and os.access(f"{made}/planted", os.X_OK), "a tool leaves a program", answer)
        path = {"PATH": f"{made}:{os.environ['PATH']}"}
        for name, args in [("bare", ["planted"]), ("of a child", ["sh", "-c", "planted"])]:
            answer = place.run("exec", *args, env=path)
            check(answer.code == 127 and "planted\n" not in answer.out, f"it is not found: {name}", answer)
    finally:
        shutil.rmtree(made)


def linked(place):
    """A directory of the PATH inside a granted one, whose programs are links to files elsewhere in it, as npm makes them."""
    top = f"{place.project}/packages"
    place.write("home/project/packages/modules/p/bin/y.cjs", "#!/bin/sh\necho linked\n", 0o755)
    os.makedirs(f"{top}/modules/.bin")
    place.own(top)
    os.symlink("../p/bin/y.cjs", f"{top}/modules/.bin/y")
    path = {"PATH": f"{top}/modules/.bin:{os.environ['PATH']}"}
    for granted in (top, f"{top}/modules"):
        answer = place.run("exec", "--read", granted, "y", env=path)
        check(answer.out == "linked\n", f"a linked program in a granted directory runs: {granted}", answer)


# ---- files that cannot be executed ----


def elf(machine=62, loader=b"/lib64/ld-linux-x86-64.so.2\0"):
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, machine, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    return (
        head + struct.pack("<IIQQQQQQ", 3, 4, 120, 0x400078, 0x400078, len(loader), len(loader), 1) + loader
    )


def files(place):
    outside = tempfile.mkdtemp(prefix="toolcage-cli-", dir="/var/tmp")
    os.chmod(outside, 0o755)
    try:
        table(place, outside)
    finally:
        shutil.rmtree(outside)


def table(place, outside):
    for root in (place.root, outside):
        os.makedirs(f"{root}/py/bin")
        shutil.copy("/bin/sh", f"{root}/py/bin/py")
    put = {
        "crlf": "#!/bin/sh\r\necho\r\n",
        "missing": "#!/opt/nowhere/bin/py -x\n",
        "temporary": f"#!{place.root}/py/bin/py\n",
        "elsewhere": f"#!{outside}/py/bin/py\n",
        "system": "#!/usr/bin/no-such-interpreter\n",
        "relative": "#!sh\n",
        "bare": "echo hi\n",
        "empty": "",
        "windows": b"MZ\x90\0",
        "module": b"\0asm\1\0\0\0",
        "damaged": b"\x7fELF\2\1\1",
        "foreign": elf(machine=22),
        "musl": elf(loader=b"/lib/ld-musl-x86_64.so.1\0"),
        "throughdir": "#!%s/adir\n" % place.project,
    }
    for name, text in put.items():
        place.write(f"home/project/{name}", text, 0o755)
    place.write("home/project/unset.py", "print(1)\n")
    place.write("home/project/adir/x", "")
    for name, first in (("env", "#!/usr/bin/env sh"), ("option", "#!/bin/sh -e")):
        place.write(f"home/project/{name}-crlf", first + "\r\n", 0o755)
        answer = place.run("exec", f"./{name}-crlf")
        check(
            answer.code in (2, 127) and f"toolcage: ./{name}-crlf has Windows line ends" in answer.err,
            f"Windows line ends, which the kernel does not see: {name}",
            answer,
        )
    os.symlink("nowhere", f"{place.project}/dangling")
    os.symlink("crlf", f"{place.project}/good")
    here = place.project
    rows = [
        (
            "Windows line ends",
            "./crlf",
            127,
            "Windows line ends",
            'named "sh\\r"',
            "sed -i 's/\\r$//' ./crlf",
        ),
        ("the same by a link", "./good", 127, "Windows line ends"),
        (
            "no interpreter",
            "./missing",
            127,
            f"(named by {here}/missing); if this machine has none",
            "hint: --read /opt/nowhere\n",
        ),
        ("one below /tmp", "./temporary", 127, "the cage's /tmp is private", f"--read {place.root}/py"),
        ("one elsewhere", "./elsewhere", 127, f"hint: --read {outside}/py\n"),
        ("one of the system", "./system", 127, "no-such-interpreter", "install it, or name another one in"),
        ("a relative one", "./relative", 127, "by a relative path", "as in #!/bin/sh"),
        ("no #! line", "./bare", 126, "is a script without a #! line", "sh ./bare"),
        ("an empty file", "./empty", 126, "it is empty"),
        ("Windows", "./windows", 126, "is a Windows program"),
        ("WebAssembly", "./module", 126, "is a WebAssembly module"),
        ("a cut file", "./damaged", 126, "it is cut off"),
        ("another CPU", "./foreign", 126, "is built for s390x", "use a build for"),
        ("another C library", "./musl", 127, "ld-musl", f"named by {here}/musl", "built for musl"),
        (
            "no execute bit",
            "./unset.py",
            126,
            "its mode is 0644",
            "chmod +x ./unset.py",
            "python3 ./unset.py",
        ),
        ("a directory", "./adir", 126, "it is a directory"),
        ("as interpreter", "./throughdir", 126, f"its interpreter {here}/adir is a directory"),
        ("a broken link", "./dangling", 127, f"leads to {here}/nowhere", "the link is broken"),
        (
            "no such file",
            "./nothing",
            127,
            "not found in the cage: ./nothing",
            f"the command starts in {here}",
        ),
        ("a file for a directory", "./crlf/x", 127, "check the path"),
        ("a path outside", "/opt/nowhere/x", 127, "hint: --read /opt/nowhere/x"),
        ("a tilde", "~/x", 127, "no shell replaces ~ here"),
        ("cd", "cd", 127, "cd is built into shells", "sh -c"),
        ("another builtin", "source", 127, "source is built into shells"),
        ("a typing error", "pyhton3", 127, "did you mean python3?"),
        ("root", "sudo", 127, "leave sudo out: a tool never runs as root"),
        ("no such name", "no-such-command-at-all", 127, "install it, or name it by its path", "aliases"),
    ]
    for name, command, code, *words in rows:
        answer = said(place, name, ["exec", command], code, *words)
        check(
            answer.err.count("hint: ") == 1 and answer.err.count("\n") == 2,
            f"{name}: one line and one hint",
            answer,
        )


def presets(place):
    """The workspace has another name there."""
    os.makedirs(f"{place.project}/venv/bin")
    os.symlink("/usr/bin/echo", f"{place.project}/venv/bin/python")
    place.write("home/project/venv/bin/tool", f"#!{place.project}/venv/bin/python\n", 0o755)
    said(
        place,
        "a script of a virtual environment",
        ["exec", "--preset", "read-only", "./venv/bin/tool"],
        127,
        f"its interpreter is not: {place.project}/venv/bin/python (named by /workspace/venv/bin/tool)",
        "name it in the command: /workspace/venv/bin/python ./venv/bin/tool",
    )
    answer = place.run(
        "exec",
        "--preset",
        "read-only",
        "tool",
        env={"PATH": f"{place.project}/venv/bin:{os.environ['PATH']}"},
    )
    check(answer.out == f"{place.project}/venv/bin/tool\n", "a script found by its name runs", answer)


def written(place):
    """What a tool may have written asks for no grant."""
    place.run("exec", "--write", ".", "sh", "-c", "printf '#!/opt/nowhere/bin/py\\n' >made; chmod +x made")
    said(place, "a script of a tool", ["exec", "./made"], 127, "a tool may have chosen that")


def nested(place):
    with open(TOOLCAGE, "rb") as file:
        if b"__asan_init" in file.read():
            skip("toolcage in a cage", "this build has sanitizers, which do not start there")
            return
    own = place.write("home/project/toolcage", "")
    shutil.copyfile(os.path.realpath(TOOLCAGE), own)
    os.chmod(own, 0o755)
    for args in (["exec", "true"], ["doctor"]):
        said(
            place,
            f"{args[0]} in a cage",
            ["exec", "./toolcage", *args],
            125,
            "a cage cannot hold another one",
        )


def main():
    require_user()
    probe = subprocess.run([TOOLCAGE, "--version"], capture_output=True, check=False)
    check(probe.returncode == 0, "the program runs", probe)
    for part in (search_path, below_system, planted, linked, files, presets, written, nested):
        with Place() as place:
            part(place)
    finish()


main()
