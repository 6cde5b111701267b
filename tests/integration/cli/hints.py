# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What was refused leads to the option or the line of the policy that allows it, at the command line and in the message for a model."""

import json
import os
import shutil
import socket
import struct
import subprocess

from cli import Place, check, expect, finish
from tap import skip

PYTHON = "/usr/bin/python3"
# what Node, Go and Rust ask for, and the C library before each look-up of a user
STREAM = "socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK"
OWN_SOCKET = f"import socket; socket.socket(socket.AF_UNIX, {STREAM})"
GIT = "git -c user.name=a -c user.email=a@example.com"
LOOK_UP = "import pwd\ntry: pwd.getpwnam('no-such-user')\nexcept KeyError: raise SystemExit(3)"
CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 3).recv(9)"


def denials(place, *words):
    """The denials that matter, by target; and the message."""
    answer = place.run("exec", "--json", *words)
    result = json.loads(answer.out)
    return {d["target"]: d for d in result["denials"] if not d.get("probe")}, result["message"]


def shown(place, *words):
    """What `allow` prints for the call denied last."""
    place.run("exec", *words)
    last = place.run("allow", "--last")
    call = last.err.split("toolcage allow ")[1].split()[0] if "toolcage allow " in last.err else "--last"
    return place.run("allow", call)


def sockets(place):
    got, message = denials(place, "--", PYTHON, "-c", OWN_SOCKET)
    check(
        "--unix-sockets own" in got.get("socket(AF_UNIX)", {}).get("hint", "")
        and "--unix-sockets own" in message,
        "a unix socket of the kind that Node and Go open is a denial with its option",
        (got, message),
    )
    got, message = denials(place, "--", PYTHON, "-c", LOOK_UP)
    check("socket(AF_UNIX)" not in got, "the C library's look for a name service is none", got)
    answer = shown(place, "--", PYTHON, "-c", OWN_SOCKET)
    check(answer.out == "--unix-sockets own\n", "allow prints the option", answer)
    path = place.write("u.toml", '[tool.t]\nmemory = { max = "256MiB", by = "any" }\n')
    got, message = denials(place, "--policy", path, "--tool", "t", "--", PYTHON, "-c", OWN_SOCKET)
    check('unix_sockets = "own"' in message, "under a policy the hint is its line", message)


def tracing(place):
    code = "import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) and 3)"
    got, message = denials(place, "--", PYTHON, "-c", code)
    check('syscalls.allow = ["ptrace"] in a policy file' in message, "ptrace names its key", (got, message))
    path = place.write(
        "p.toml", '[tool.t]\nmemory = { max = "256MiB", by = "any" }\nsyscalls.allow = ["ptrace"]\n'
    )
    answer = place.run("exec", "--policy", path, "--tool", "t", "--", PYTHON, "-c", code)
    check(answer.code == 0, "the key allows it", answer)
    code = "import ctypes; ctypes.CDLL(None).mount(0, 0, 0, 0, 0); raise SystemExit(3)"
    got, message = denials(place, "--", PYTHON, "-c", code)
    check("no policy allows it: it changes what the tool sees" in message, "mount never is", message)


def terminals(place):
    code = (
        "import os, pty, sys\npid, fd = pty.fork()\nif not pid: print(os.ttyname(0), os.isatty(1)); sys.exit(4)\n"
        "said = b''\nwhile True:\n try: more = os.read(fd, 99)\n except OSError: break\n said += more\n"
        "print(said.decode().split(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sorted(os.listdir('/dev/pts')))"
    )
    answer = place.run("exec", "--", PYTHON, "-c", code)
    check(
        answer.code == 0 and answer.out == "['/dev/pts/0', 'True'] 4 ['0', 'ptmx']\n",
        "a tool can open a terminal of its own, and sees no other",
        answer,
    )
    if shutil.which("script"):
        answer = place.run("exec", "--", "script", "-qc", "test -t 1 && echo yes", "/dev/null")
        check(answer.code == 0 and "yes" in answer.out, "script runs", answer)
    else:
        skip("script", "it is not installed")


def hosts(place):
    """Each way to ask for a host that is not granted, without a policy and under one."""
    got, message = denials(
        place, "--network", "a.example:443", "--", PYTHON, "-c", CONNECT, "b.example", "80"
    )
    check(
        got.get("b.example", {}).get("hint") == "--network b.example:443"
        and got["b.example"].get("endpoint") == "b.example:443"
        and "allowed: a.example:443 (" in message
        and "Hint: --network b.example:443" in message,
        "a name that is not in the allowlist",
        (got, message),
    )
    got, message = denials(place, "--", PYTHON, "-c", CONNECT, "192.0.2.1", "80")
    check(
        "--network 192.0.2.1:80" in got.get("192.0.2.1:80", {}).get("hint", "")
        and "Hint: the tool has no network; --network 192.0.2.1:80 allows it" in message,
        "an address without a network",
        (got, message),
    )
    answer = shown(place, "--", PYTHON, "-c", CONNECT, "192.0.2.1", "80")
    check(answer.out == "--network 192.0.2.1:80\n", "allow prints the option", answer)
    answer = shown(place, "--", PYTHON, "-c", CONNECT, "a.example", "80")
    check(
        answer.code == 1 and "--network HOST:443 grants a host" in answer.err,
        "allow names the form of an option where the host is not known",
        answer,
    )
    got, message = denials(place, "--", PYTHON, "-c", CONNECT, "127.0.0.1", "9")
    check("--network localhost:9 reaches the host's" in message, "the host's loopback", message)
    got, message = denials(place, "--network", "localhost:8", "--", PYTHON, "-c", CONNECT, "127.0.0.1", "9")
    check(
        "the grant has port 8 only; --network localhost:9 grants this one" in message,
        "another port of the host's loopback",
        message,
    )


def private(place):
    """A name that leads to this machine: a company's registry leads to its own network."""
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError:
        address = ""
    if not address.startswith("127.") or name == "localhost":
        skip("a name with an address that is not public", "this machine's name has none")
        return
    words = ("--network", f"{name}:9")
    got, message = denials(place, *words, "--", PYTHON, "-c", CONNECT, name, "9")
    check(
        f"resolves to {address}, which is not public; --network {address}:9 in addition" in message,
        "a name with an address that is not public",
        (got, message),
    )
    answer = place.run(
        "exec", *words, "--", "curl", "-sS", "-x", "http://198.18.0.1:3128", f"http://{name}:9/"
    )
    check(
        f'network = [\\"{address}:9\\"] in the policy, or --network {address}:9' in answer.out,
        "and the proxy's refusal says so",
        answer,
    )


def paths(place):
    """Options' paths: links, equals signs, names that do not exist yet, and trees that are too deep."""
    real, work = os.path.join(place.project, "real"), os.path.join(place.project, "g=h")
    for directory in (real, work):
        os.makedirs(directory)
        place.own(directory)
    os.symlink("real", os.path.join(place.project, "link"))
    for option in ("--read", "--write"):
        expect(
            place,
            f"a link is refused: {option}",
            ["exec", option, "link", "true"],
            126,
            real,
            "real path instead",
        )
    answer = place.run("exec", "--write", "./g=h", "--", "sh", "-c", "echo x > g=h/f")
    check(
        answer.code == 0 and os.path.exists(os.path.join(work, "f")),
        "a name with an equals sign is granted",
        answer,
    )
    answer = place.run("exec", "--write", "/data=./g=h", "--", "ls", "/data")
    check(answer.out == "f\n", "PATH=FROM is read as before", answer)
    place.write("home/project/h", "")
    expect(
        place,
        "two readings are refused",
        ["exec", "--read", "g=h", "true"],
        125,
        "this path exists, and so does h",
        "\\=",
    )
    answer = place.run("exec", "--read", "g\\=h", "true")
    check(answer.code == 0, "an escaped equals sign belongs to the name", answer)
    got, message = denials(place, "--why", "--", "touch", "new")
    new = os.path.join(place.project, "new")
    check(
        got.get(new, {}).get("hint") == f"--write {place.project}",
        "a new file leads to its directory",
        got,
    )
    own = os.path.join(place.home, ".config/toolcage")
    answer = place.run("exec", "--write", place.home, "--", "mkdir", "-p", own)
    check(
        answer.code == 0 and not os.path.exists(own),
        "toolcage's own directories are not made in a writable home",
        answer,
    )
    deep = os.open(place.project, os.O_PATH)
    for _ in range(12):
        os.mkdir("d" * 200, dir_fd=deep)
        inner = os.open("d" * 200, os.O_PATH, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    answer = place.run("exec", "--in-place", "--write", ".", "true")
    check("2048 bytes deep are read-only" in answer.err, "a tree that is too deep is reported", answer)


POLICY = """[tool.web]
network = ["a.example:443"] # the API
memory = { max = "256MiB", by = "any" }
"""


def edits(place):
    path = place.write("e.toml", POLICY)
    words = ("--policy", path, "--tool", "web", "--", PYTHON, "-c", CONNECT, "b.example", "443")
    got, message = denials(place, *words)
    check('Hint: network = ["b.example:443"]' in message, "the line of the policy", (got, message))
    answer = shown(place, *words)
    check(
        answer.code == 0 and '+network = ["a.example:443", "b.example:443"] # the API' in answer.out,
        "allow prints the change",
        answer,
    )


FILES = [
    ("curly quotes", "q.toml", "[tool.a]\ncommand = [\u201ctrue\u201d]\n", ["replace the curly quotes"]),
    ("JSON", "j.toml", '{"tool": {"a": {}}}', ["this is JSON", "NAME.yaml may hold JSON"]),
    ("a program", "b.toml", b"\x7fELF\0\0\0", ["NUL byte", "name a text file, in TOML or YAML"]),
    ("UTF-16", "w.toml", "\ufeff[tool.a]\n".encode("utf-16-le"), ["the file is UTF-16: save it as UTF-8"]),
    ("two profiles", "e.toml", 'extends = ["profile:nope", "profile:nada"]\n', ['"nope"', '"nada"']),
    (
        "keywords of JSON Schema",
        "s.toml",
        '[tool.d]\ncommand = ["true", "{x}"]\narguments.x = { type = "number", min = 3, required = true }\n',
        ['did you mean "minimum"?', "required unless it has optional = true"],
    ),
    ("a tag", "i.toml", '[tool.x]\nimage = "a:-b"\n', ["begins with none of . and -"]),
]


def files(place):
    """Mistakes in a policy and in a file of variables."""
    for name, path, text, wanted in FILES:
        full = place.write(path, text)
        answer = place.run("policy", "check", full)
        said = answer.out + answer.err
        check(answer.code == 1 and all(word in said for word in wanted), f"{name} is explained", answer)
    variables = place.write("variables", "export A=1\n")
    expect(
        place,
        "export in a file of variables is refused",
        ["exec", "--env-file", variables, "true"],
        125,
        "remove the word export",
    )
    answer = place.run("call", "--policy", place.write("starts.toml", STARTS), "x", cwd="/tmp")
    check('readable = ["/tmp/absent"]' in answer.err, "a tool of a caller in /tmp starts in /tmp", answer)
    answer = place.run("exec", "--read", "/tmp", "true")
    check("--read /data=/tmp" in answer.err, "a path that cannot keep its name gets another one", answer)
    answer = place.run("exec", "--", "sh", "-c", "echo EROFS: read-only file system >&2; exit 1")
    check("--why names it, and --write PATH grants it" in answer.err, "so is Node's word for it", answer)
    path = place.write(
        "words.toml", '[tool.t]\ncommand = ["ls -la"]\nmemory = { max = "256MiB", by = "any" }\n'
    )
    answer = place.run("call", "--policy", path, "t")
    check('command = ["ls", "-la"]' in answer.err, "a command in one string is explained", answer)
    answer = place.run("call", "--policy", path, "t", "{a: 1}")
    check("in a shell in single quotes" in answer.err, "arguments without their quotes are explained", answer)
    path = place.write("cat.toml", CAT)
    answer = place.run("call", "--policy", path, "cat", '{"f": "missing"}')
    check(
        "give the path of a file or directory that exists" in answer.err,
        "an argument that is missing",
        answer,
    )


STARTS = '[tool.x]\ncommand = ["./absent"]\n'
CAT = """[tool.cat]
command = ["cat", "{f}"]
arguments.f = { read = ["/workspace"] }
memory = { max = "256MiB", by = "any" }
"""
SERVER = "python3 -m http.server %d >/dev/null 2>&1"
TOOLS = """[tool.fetch]
command = ["false"]
env.pass = ["NOT_SET_ANYWHERE"]
timeout = "300ms"
[tool.wait]
command = ["sleep", "9"]
timeout = "300ms"
"""


def ends(place):
    """A tool that failed, and what else its end says."""
    answer = place.run("exec", "touch", "new")
    check("--why names it, and --write PATH grants it" in answer.err, "a read-only path is explained", answer)
    got, message = denials(place, "touch", "new")
    check("read-only: --why names it" in message, "the model reads the same", message)
    place.environ["VIRTUAL_ENV"] = "/srv/venv"
    answer = place.run("exec", "--", PYTHON, "-c", "import no_such_module")
    check("--read /srv/venv" in answer.err, "an ungranted virtual environment is named", answer)
    del place.environ["VIRTUAL_ENV"]
    answer = place.run("exec", "ls", "--timeout", "5s")
    check("write it before the command" in answer.err, "an option after the command is explained", answer)
    answer = place.run("exec", "--timeout", "200ms", "sleep", "9")
    check("--timeout TIME allows more" in answer.err, "an option's time can be raised", answer)
    path = place.write("tools.toml", TOOLS)
    answer = place.run("call", "--policy", path, "wait")
    check("--timeout cannot raise it" in answer.err, "a policy's time cannot be raised", answer)
    answer = place.run("call", "--policy", path, "fetch")
    check(
        "NOT_SET_ANYWHERE, which env.pass names, is not set" in answer.err,
        "a missing variable is named",
        answer,
    )
    answer = place.run("call", "--policy", path, "fetsh")
    check(
        "did you mean fetch? its tools are fetch, wait" in answer.err,
        "a wrong name leads to the tools",
        answer,
    )
    os.chmod(path, 0o666)
    expect(
        place,
        "a policy that every user can write is refused",
        ["call", "--policy", path, "fetch"],
        126,
        "can be written by every user",
        f"chmod o-w {path}",
    )
    answer = place.run("policy", "check", path)
    check(f"calls refuse it: chmod o-w {path}" in answer.err, "a check of such a policy says so", answer)


def repositories(place):
    """git in a part of a repository, and in a work tree of another."""
    if not shutil.which("git"):
        skip("git finds no repository", "git is not installed")
        return
    main, tree, forged = (os.path.join(place.project, name) for name in ("main", "tree", "forged"))
    part = os.path.join(main, "src", "deep")
    script = (
        f"git init -q -b main main && mkdir -p {part} forged && cd main && {GIT} commit -q --allow-empty -m 1"
        f" && git worktree add -q {tree} -b tree"
        f" && echo 'gitdir: {main}/.git/worktrees/tree' > {forged}/.git"
    )
    user = place.argv()[:-1]  # whom the program runs as
    subprocess.run([*user, "sh", "-c", script], cwd=place.project, env=place.environ, check=True)
    for option, words, cwd in (("--read", [], part), ("--workspace", ["--workspace", part], None)):
        answer = place.run("exec", *words, "git", "status", cwd=cwd)
        check(
            f"the repository is in {main}, which is not granted: {option} {main}\n" in answer.err,
            f"the repository above the workspace is named with {option}",
            answer,
        )
        answer = place.run("exec", option, main, "git", "status", cwd=cwd)
        check(answer.code == 0, f"{option} shows it", answer)
    answer = place.run("exec", "git", "status", cwd=tree)
    check(
        f"belongs to the repository {main}/.git, which is not granted: --write {main}/.git\n" in answer.err,
        "the repository of a linked work tree is named",
        answer,
    )
    options = ["--write", ".", "--write", f"{main}/.git"]
    script = f"echo 1 > a; git add a; {GIT} commit -qm 2 && git status --short"
    answer = place.run("exec", *options, "sh", "-c", script, cwd=tree)
    check(answer.code == 0 and not answer.out and "steers" not in answer.err, "a commit works in it", answer)
    link = f"{main}/.git/worktrees/tree/gitdir"
    for words in ([], ["--in-place"]):
        answer = place.run("exec", *words, *options, "sh", "-c", f"echo x > {link}", cwd=tree)
        with open(link, encoding="utf-8") as file:
            check(
                file.read() == f"{tree}/.git\n",
                f"its link to the repository stays{' in place' * bool(words)}",
                answer,
            )
    answer = place.run("exec", "git", "status", cwd=forged)
    check(
        answer.code == 128 and "granted" not in answer.err,
        "a file that a tool could have written names no repository",
        answer,
    )


def overlays(place):
    """What fails in an overlay alone."""
    if not shutil.which("git"):
        skip("a clone by hard links is explained", "git is not installed")
        return
    script = f"git init -q a && cd a && {GIT} commit -q --allow-empty -m 1"
    subprocess.run([*place.argv()[:-1], "sh", "-c", script], cwd=place.project, env=place.environ, check=True)
    answer = place.run("exec", "--write", ".", "git", "clone", "-q", "a", "b")
    check(
        answer.code == 128 and "git clone --no-hardlinks, or --in-place" in answer.err,
        "a clone by hard links is explained",
        answer,
    )
    answer = place.run("exec", "--write", ".", "git", "clone", "-q", "--no-hardlinks", "a", "b")
    check(
        answer.code == 0 and os.path.exists(f"{place.project}/b/.git/HEAD"), "and works without them", answer
    )
    shutil.rmtree(f"{place.project}/b")
    answer = place.run("exec", "--in-place", "--write", ".", "git", "clone", "-q", "a", "b")
    check(answer.code == 0, "and in place", answer)


def foreign_abi(place):
    """A 32-bit program makes exit(7), in a cage of its own and started by a shell."""
    code = bytes.fromhex("b801000000bb07000000cd80")  # mov eax, 1; mov ebx, 7; int 0x80
    size, start = 52 + 32 + len(code), 0x10000
    header = struct.pack(
        "<16sHHIIIIIHHHHHH", b"\x7fELF\1\1\1", 2, 3, 1, start + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0
    )
    segment = struct.pack("<8I", 1, 0, start, start, size, size, 5, 4096)
    path = place.write("i386", "")
    with open(path, "wb") as out:
        out.write(header + segment + code)
    os.chmod(path, 0o755)
    if run_outside(path) != 7:
        return skip("a 32-bit program is named", "the kernel here does not run 32-bit programs")
    answer = place.run("exec", "--read", path, "--", path)
    check("it made a system call of a foreign ABI" in answer.err, "a 32-bit program is named", answer)
    answer = place.run("exec", "--read", path, "--", "sh", "-c", path)
    check(
        answer.code == 159 and "a command of it made a system call of a foreign ABI" in answer.err,
        "a 32-bit program that a shell started is named",
        answer,
    )
    return None


def run_outside(path):
    try:
        return subprocess.run([path], check=False).returncode
    except OSError:
        return None


def servers(place):
    """A tool's own server is no denial, whether its port is open at once or later."""
    wait = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -s -o /dev/null localhost:%d && exit 3; sleep 0.3; done; exit 4"
    for name, script in (
        ("at once", f"{SERVER % 8123} & sleep 1; {wait % 8123}"),
        ("later", f"(sleep 1; {SERVER % 8124}) & {wait % 8124}"),
    ):
        got, message = denials(place, "--", "sh", "-c", script)
        check("code 3" in message and not got, f"an own server is no denial: {name}", (got, message))


with Place() as here:
    for part in (
        sockets,
        tracing,
        terminals,
        hosts,
        private,
        edits,
        paths,
        files,
        ends,
        repositories,
        overlays,
        foreign_abi,
        servers,
    ):
        part(here)
finish()
