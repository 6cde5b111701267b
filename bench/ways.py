# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""usage: bench/ways.py BUILD NOOP POLICY ROUNDS       PYTHONPATH has the package, TOOLCAGE_LIBRARY the library

What one caged call costs by each way in, against the bare call of the same host, all in turns within one run: a program that does
nothing, started by the host itself, or by toolcage under the policy's tool `noop`. A way whose host is not here is named. Root gets
the work besides: the time that processors spent on a call in all processes together, host, helper and cage."""

import http.client
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import toolcage

from group import Group

build, noop, policy, rounds = (
    pathlib.Path(sys.argv[1]).resolve(),
    sys.argv[2],
    os.path.abspath(sys.argv[3]),
    int(sys.argv[4]),
)
ROOT = pathlib.Path(__file__).resolve().parent.parent
CLI, ADDON = build / "toolcage", build / "bindings/node/toolcage.node"
CLIENTS = ROOT / "build-clients"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "noop", "arguments": {}}}
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
NODE = """
const { spawn } = require("node:child_process");
const [root, cli, noop, policy] = process.argv.slice(1);
const { Engine, Policy } = require(root + "/bindings/node");
const engine = new Engine(), held = Policy.fromFile(policy);
const end = (child) => new Promise((good, bad) => child.on("close", (code) => (code ? bad(new Error("code " + code)) : good())).on("error", bad));
const start = (argv, more) => spawn(argv[0], argv.slice(1), { stdio: ["ignore", "pipe", "pipe"], ...more });
(async () => {
  const { createBackend } = await import(root + "/integrations/openclaw/backend.js");
  const claw = createBackend({ policy, command: cli, tool: "shell" }, { workspaceDir: process.cwd(), scopeKey: "bench" }, () => null);
  const ways = {
    bare: () => end(start([noop])),
    node: async () => { const result = await engine.run({ policy: held, tool: "noop" }); if (!result.ok) throw new Error(result.message); },
    "bare-shell": () => end(start(["sh", "-c", noop])),
    openclaw: async () => {
      const spec = await claw.buildExecSpec({ command: noop, env: {}, usePty: false });
      await end(start(spec.argv, { env: spec.env, cwd: spec.cwd }));
      await claw.finalizeExec({ token: spec.finalizeToken });
    },
  };
  for await (const line of require("node:readline").createInterface({ input: process.stdin })) {
    const began = performance.now();
    let said;
    try { await ways[line](); said = performance.now() - began; } catch (error) { said = String(error).slice(0, 300); }
    process.stdout.write(JSON.stringify(said) + "\\n");
  }
  engine.close();
})();
"""


def timed(work):
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


class Lines:
    """A process that is asked and answers by lines of JSON."""

    def __init__(self, argv, **more):
        self.process = subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            **more,
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("it has ended")
        return json.loads(answer)

    def close(self):
        self.process.communicate(timeout=30)


def good(answer):
    if answer.get("error") or (answer.get("result") or {}).get("isError"):
        raise RuntimeError(json.dumps(answer)[:300])


def add_python(ways, closing):
    engine = toolcage.Engine()
    call = toolcage.Call(toolcage.Policy.from_file(policy), "noop")
    closing.append(engine.close)
    ways["subprocess.run"] = (
        None,
        lambda: timed(lambda: subprocess.run([noop], check=True, capture_output=True)),
    )
    ways["Python, Engine.run"] = ("subprocess.run", lambda: timed(lambda: engine.run(call).check()))


def add_node(ways, closing, directory):
    if not shutil.which("node") or not ADDON.exists():
        return print("Node.js, OpenClaw: no node, or no addon in this build")
    node = Lines(
        ["node", "-e", NODE, ROOT, CLI, noop, policy],
        cwd=directory,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": directory, "TOOLCAGE_ADDON": str(ADDON)},
    )
    closing.append(node.close)

    def way(name):
        def work():
            said = node.ask(name)
            if isinstance(said, str):
                raise RuntimeError(said)
            return said

        return work

    ways["Node.js, spawn"] = (None, way("bare"))
    ways["Node.js, Engine.run"] = ("Node.js, spawn", way("node"))
    ways["Node.js, spawn of sh -c"] = (None, way("bare-shell"))
    ways["OpenClaw's exec (the backend)"] = ("Node.js, spawn of sh -c", way("openclaw"))


def add_mcp(ways, closing, directory):
    server = Lines([CLI, "mcp", "--policy", policy], cwd=directory, stderr=subprocess.DEVNULL)
    closing.append(server.close)
    good(server.ask(json.dumps(HELLO)))
    server.process.stdin.write(json.dumps(READY) + "\n")
    ways["MCP, stdio"] = ("subprocess.run", lambda: timed(lambda: good(server.ask(json.dumps(CALL)))))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(connection, path, value, headers):
    for again in (True, False):  # a server closes what was silent for some seconds
        try:
            connection.request(
                "POST",
                path,
                json.dumps(value),
                {
                    "Content-Type": "application/json",
                    "Accept": "application/json, text/event-stream",
                    **headers,
                },
            )
            answer = connection.getresponse()
            break
        except (ConnectionError, http.client.RemoteDisconnected):
            connection.close()
            if not again:
                raise
    text = answer.read().decode()
    if answer.status >= 300:
        raise RuntimeError(f"{answer.status}: {text[:300]}")
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
    return json.loads(lines[-1] if lines else text or "{}"), answer


def connect(port):
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def stop(process):
    process.terminate()
    process.wait(30)


def add_http(ways, closing, directory):
    port = free_port()
    process = subprocess.Popen(
        [CLI, "mcp", "--listen", f"127.0.0.1:{port}", "--no-token", "--policy", policy],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    closing.append(lambda: stop(process))
    connection = connect(port)
    _, answer = post(connection, "/mcp", HELLO, {})
    headers = {
        "MCP-Protocol-Version": "2025-06-18",
        "Mcp-Session-Id": answer.getheader("Mcp-Session-Id") or "",
    }
    post(connection, "/mcp", READY, headers)
    ways["MCP, HTTP"] = (
        "subprocess.run",
        lambda: timed(lambda: good(post(connection, "/mcp", CALL, headers)[0])),
    )


def add_llama(ways, closing, directory):
    servers = list(CLIENTS.glob("llama/*/bin/llama-server"))
    if not servers:
        return print("llama-server: tools/clients installs it")
    sys.path.insert(0, str(ROOT / "tests/integration/agent"))
    import model

    gguf, port = os.path.join(directory, "m.gguf"), free_port()
    model.write(gguf)
    config = pathlib.Path(directory) / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": {"caged": {"command": str(CLI), "args": ["mcp", "--policy", policy]}}})
    )
    process = subprocess.Popen(
        [
            servers[0],
            "-m",
            gguf,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "-np",
            "1",
            "-ngl",
            "0",
            "--jinja",
            "--mcp-servers-config",
            config,
        ],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    closing.append(lambda: stop(process))
    connection, end, ready = connect(port), time.monotonic() + 60, False
    while not ready and time.monotonic() < end:  # the model is loaded after the port is open
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read()
        ready = answer.status == 200
        time.sleep(0 if ready else 0.05)

    def work():
        answer, _ = post(connection, "/tools", {"tool": "caged_noop", "params": {}}, {})
        if "error" in answer:
            raise RuntimeError(json.dumps(answer)[:300])

    ways["llama-server, POST /tools"] = ("subprocess.run", lambda: timed(work))


def show(name, taken, work, first):
    """A line of the table; `first` is the bare call's name, median and work."""
    taken = sorted(taken)
    median = statistics.median(taken)
    over = f"   over {first[0]} {median - first[1]:+7.3f} ms" if first else ""
    over += f", work {work - first[2]:+7.3f} ms" if first and work is not None else ""
    print(
        f"{name:30} median {median:7.3f} ms   p95 {taken[int(len(taken) * 0.95)]:7.3f} ms   least {taken[0]:7.3f} ms"
        + (f"   work {work:7.3f} ms" if work is not None else "")
        + over
    )
    return name, median, work


def main(directory):
    group = Group()
    ways, closing = {}, [group.close]
    try:
        for add in (add_python, add_node, add_mcp, add_http, add_llama):
            try:
                add(ways, closing, *([] if add is add_python else [directory]))
            except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
                print(f"{add.__name__[4:]}: does not run here: {error}")
        times = {name: [] for name in ways}
        for turn in range(rounds + 5):
            for name in list(times):
                try:
                    took = ways[name][1]()
                except (OSError, RuntimeError, http.client.HTTPException, toolcage.CallError) as error:
                    print(f"{name}: {error}")
                    del times[name]
                    continue
                if turn >= 5:
                    times[name].append(took)
        shown = {}
        for name, taken in times.items():
            bare, way = ways[name]
            shown[name] = show(name, taken, group.work(way, max(20, rounds // 5)), shown.get(bare))
        return 0 if len(shown) == len(ways) else 1
    finally:
        for close in reversed(closing):
            close()


with tempfile.TemporaryDirectory(prefix="toolcage-ways-") as scratch:
    sys.exit(main(scratch))
