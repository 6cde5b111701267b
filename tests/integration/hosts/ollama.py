# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A real Ollama with a model that this test makes: the model asks for tools by /v1/chat/completions, whose client is toolcage agent, and
by /api/chat, whose client is this test and toolcage call. Ollama does not hold a model to the tools, so the model has its calls by heart."""

import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

import five
import scene
from five import HOSTS, PATIENCE, cli
from processes import stop

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "agent"))
import model  # noqa: E402

PROGRAM = HOSTS / "ollama/ollama"
# What a call looks like, which Ollama finds between these marks, and what the model finishes with.
MODELFILE = """FROM {gguf}
PARAMETER temperature 0
PARAMETER num_predict 16
PARAMETER num_ctx 4096
PARAMETER stop <|im_end|>
TEMPLATE \"\"\"{{{{- range .Tools }}}}{{{{ . }}}}
{{{{ end }}}}{{{{- range .Messages }}}}{{{{- if eq .Role "tool" }}}}
{{{{ .Content }}}}<|done|>{{{{- else if .ToolCalls }}}}{{{{- range .ToolCalls }}}}<tool_call>
{{{{ .Function.Name }}}} {{{{ .Function.Arguments }}}}
</tool_call>{{{{- end }}}}{{{{- else }}}}
{{{{ .Content }}}}{{{{- end }}}}{{{{- end }}}}\"\"\"
"""


class Ollama:
    def __init__(self, place):
        self.port, self.place = scene.free_port(), place
        self.environ = {
            **place.environ,
            "OLLAMA_HOST": f"127.0.0.1:{self.port}",
            "OLLAMA_MODELS": f"{place.home}/models",
        }
        self.log = open(f"{place.root}/ollama.log", "wb")
        self.process = subprocess.Popen(
            [PROGRAM, "serve"],
            cwd=place.home,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        scene.until(lambda: self.process.poll() is not None or "version" in self.ask("/api/version"), 60)
        return self

    def __exit__(self, *_):
        stop(self.process, 20 * PATIENCE)
        self.log.close()

    @property
    def said(self):
        return pathlib.Path(self.log.name).read_text(encoding="utf-8", errors="replace")[-3000:]

    def ask(self, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            body and json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120 * PATIENCE) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return {"error": error.read().decode(errors="replace")}
        except (OSError, ValueError) as error:
            return {"error": str(error)}

    def create(self, calls):
        gguf, modelfile = f"{self.place.root}/by-heart.gguf", f"{self.place.root}/Modelfile"
        model.write(gguf, calls)
        pathlib.Path(modelfile).write_text(MODELFILE.format(gguf=gguf), encoding="utf-8")
        return subprocess.run(
            [PROGRAM, "create", "by-heart", "-f", modelfile],
            cwd=self.place.home,
            env=self.environ,
            capture_output=True,
            timeout=120 * PATIENCE,
            check=False,
        )


def by_agent(ollama, here, n):
    """One task of toolcage agent, which asks /v1/chat/completions: (text, is it an error?)."""
    answer = here.place.run(
        "agent",
        "--upstream",
        f"http://127.0.0.1:{ollama.port}/v1",
        "--model",
        "by-heart",
        "--policy",
        here.policy,
        "--workspace",
        here.place.project,
        "--jsonl",
        str(n),
        timeout=120 * PATIENCE,
    )
    events = [json.loads(line) for line in answer.out.splitlines()]
    results = [event for event in events if event["type"] == "result"]
    last = [event["text"].strip() for event in events if event["type"] == "text" and event["last"]]
    if not cli.check(
        answer.code == 0 and len(results) == 1 and last == ["Done."],
        f"agent, task {n}: one call, and an answer to what it gave",
        answer,
    ):
        return "", False
    return results[0]["message"], results[0]["status"] != "ok"


def by_chat(ollama, here, tools, n):
    """The same by /api/chat, whose calls have an object of arguments and need not have an id."""
    talk = [{"role": "user", "content": str(n)}]
    body = {"model": "by-heart", "messages": talk, "tools": tools, "stream": False}
    said = ollama.ask("/api/chat", body).get("message", {})
    calls = said.get("tool_calls") or []
    if not cli.check(
        len(calls) == 1 and isinstance(calls[0]["function"]["arguments"], dict),
        f"/api/chat, turn {n}: one call, with an object of arguments",
        said,
    ):
        return "", False
    function = calls[0]["function"]
    result = here.place.run(
        "call",
        "--policy",
        here.policy,
        "--workspace",
        here.place.project,
        "--json",
        function["name"],
        json.dumps(function["arguments"]),
    )
    result = json.loads(result.out)
    talk += [said, {"role": "tool", "tool_name": function["name"], "content": result["message"]}]
    answer = ollama.ask("/api/chat", body)
    cli.check(
        answer.get("message", {}).get("content", "").strip() == "Done.",
        f"/api/chat, turn {n}: and an answer to what it gave",
        answer,
    )
    return result["message"], result["status"] != "ok"


def questions(here, way, host):
    answers = {}
    for n, question in enumerate(five.CALLS):
        began = time.monotonic()
        answers[question] = (*way(n), time.monotonic() - began)
    here.judge(host, answers)


cli.require_user()
if not PROGRAM.exists():
    cli.skip_all("Ollama is not here: tools/hosts ollama builds it")
with five.Scene() as scenery, Ollama(scenery.place) as server:
    if cli.check(
        server.process.poll() is None and "version" in server.ask("/api/version"),
        "Ollama serves",
        server.said,
    ):
        made = server.create(
            [json.dumps({"name": name, "arguments": arguments}) for name, arguments in five.CALLS.values()]
        )
        shown = server.ask("/api/show", {"model": "by-heart"})
        cli.check(
            made.returncode == 0 and "tools" in shown.get("capabilities", []),
            "it takes the model, and says that it can call tools",
            (made, shown),
        )
        questions(scenery, lambda n: by_agent(server, scenery, n), "Ollama's /v1 and toolcage agent")
        offered = json.loads(scenery.place.run("tools", "--policy", scenery.policy, "--format", "openai").out)
        questions(
            scenery, lambda n: by_chat(server, scenery, offered, n), "Ollama's /api/chat and toolcage call"
        )
cli.finish()
