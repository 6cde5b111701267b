# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The loops of docs/python.md with the official clients of OpenAI and Anthropic, against a server of this machine that asks for one
call and then ends. Runs itself again under the clients' interpreter."""

import os
import pathlib
import re
import sys
import tempfile

import model_api
import tap

ROOT = pathlib.Path(sys.argv[1])
CLIENTS = ROOT / "build-clients/python/bin/python"
if not CLIENTS.exists():
    tap.skip("the loops of docs/python.md", "the official clients are not here: tools/clients")
    tap.finish()
if "TOOLCAGE_LOOPS" not in os.environ:
    os.execve(CLIENTS, [CLIENTS, *sys.argv], {**os.environ, "TOOLCAGE_LOOPS": "1"})

import anthropic  # noqa: E402
import openai  # noqa: E402
import toolcage  # noqa: E402

ARGUMENTS = {"file": "/workspace/notes.txt"}
REFUSED = {"file": "/etc/shadow"}


def check_loop(name, loop):
    """The model asks for a call that is granted and one that is refused, reads both, and ends."""
    with model_api.serve([[("count", ARGUMENTS), ("count", REFUSED)], "two lines"]) as (url, asked):
        said = loop(url)
    told = model_api.outputs(asked[-1])
    tap.check(said == "two lines", f"{name}: the loop returns the model's last text", said)
    tap.check(
        len(asked) == 2
        and "2 /workspace/notes.txt" in told["c1"][0]
        and told["c2"][0].startswith("denied: "),
        f"{name}: the model reads what the call printed, and why the other was refused",
        asked,
    )


page = (ROOT / "docs/python.md").read_text()
program = next(
    text for text in re.findall(r"^```python\n(.*?)^```", page, flags=re.S | re.M) if "_loop(" in text
)
loops = {}
exec(program.partition("\npolicy = ")[0], loops)  # the functions, without what the page prints
with tempfile.TemporaryDirectory(prefix="toolcage-loops-") as here:
    os.chmod(here, 0o755)
    os.chdir(here)
    pathlib.Path("notes.txt").write_text("one\ntwo\n")
    policy = toolcage.Policy.from_text(re.search(r"^```toml\n(.*?)^```", page, flags=re.S | re.M).group(1))
    question = {"role": "user", "content": "How many lines?"}
    with toolcage.Engine() as engine:
        check_loop(
            "openai",
            lambda url: loops["openai_loop"](
                openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=30),
                engine,
                policy,
                [question],
                model="m",
            ),
        )
        check_loop(
            "anthropic",
            lambda url: loops["anthropic_loop"](
                anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=30),
                engine,
                policy,
                [question],
                model="m",
                max_tokens=9,
            ),
        )
tap.finish()
