# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The JSON Schema of the policy file agrees with the compiler: what the schema refuses is refused, every example of the
documents is valid, and a table of wrong policies is refused by both. What only the compiler sees stands in BEYOND."""

import copy
import json
import pathlib
import re
import sys
import tempfile
import tomllib

import tap
from program import run

try:
    import jsonschema
except ImportError:
    tap.skip_all(
        "python3-jsonschema is not installed: the schema of policies was not checked against a validator"
    )

root, toolcage = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

WRONG = {
    "an unknown key": '[tool.x]\ntimeuot = "1s"\n',
    "an unknown table": '[tols.x]\ncommand = ["a"]\n',
    "a key in the wrong table": '[filesystem]\nreadable = ["/data"]\n',
    "a bare number for a size": "[tool.x]\nmemory = 512\n",
    "a size without its power": '[tool.x]\nmemory = "512m"\n',
    "a fraction of a size": '[tool.x]\ndisk = "1.5GiB"\n',
    "a duration without a unit": '[tool.x]\ntimeout = "30"\n',
    "no time at all": '[tool.x]\ntimeout = "0s"\n',
    "pids as text": '[tool.x]\npids = "64"\n',
    "pids out of range": "[tool.x]\npids = 0\n",
    "cpus out of range": "[tool.x]\ncpus = 5000\n",
    "a word that is none": '[tool.x]\ntier = "auto"\n',
    "a backend that is none": '[tool.x]\nbackend = "lxc"\n',
    "a tier may not stand for no boundary": '[tier.Auto]\nbackend = "not-a-security-boundary"\n',
    "a tier that is none": '[tier.Robot]\nbackend = "process"\n',
    "a command in one text": '[tool.x]\ncommand = "ls -l"\n',
    "an empty command": "[tool.x]\ncommand = []\n",
    "a pattern as a path": '[tool.x]\nfilesystem.readable = ["/data/*.csv"]\n',
    "an entry without a path": '[tool.x]\nfilesystem.readable = [{ from = "/data" }]\n',
    "a denied table": '[tool.x]\nfilesystem.denied = [{ path = "/data" }]\n',
    "a file system that is no table": '[tool.x]\nfilesystem = "all"\n',
    "network as a text": '[tool.x]\nnetwork = "api.example.com"\n',
    "an endpoint without a host": "[tool.x]\nnetwork = [{ port = 443 }]\n",
    "a port out of range": '[tool.x]\nnetwork = [{ host = "a.example", port = 70000 }]\n',
    "a memory table without a limit": '[tool.x]\nmemory = { by = "any" }\n',
    "an argument type that is none": '[tool.x]\narguments.a = { type = "text" }\n',
    "an unknown argument keyword": "[tool.x]\narguments.a = { maxlength = 3 }\n",
    "a negative length": "[tool.x]\narguments.a = { minLength = -1 }\n",
    "an enum of nothing": "[tool.x]\narguments.a = { enum = [] }\n",
    "an argument's name with a blank": '[tool.x]\narguments."a b" = {}\n',
    "a tool's name with a dot": '[tool."a.b"]\ncommand = ["ls"]\n',
    "a variable's name with a dash": '[tool.x]\nenv.pass = ["A-B"]\n',
    "a clause that cannot be given up": '[tool.x]\nwithout = ["net.none"]\n',
    "no unix socket named": "[tool.x]\nunix_sockets = []\n",
    "a test of nobody": '[[test]]\nallowed = ["read /a"]\n',
    "an access that is none": '[tool.x]\n[[test]]\ntool = "x"\nallowed = ["open /a"]\n',
}
# What the words of a schema cannot say.
BEYOND = {
    "a size above the range": '[tool.x]\nmemory = "64TiB"\n',
    "a host's name": '[tool.x]\nnetwork = ["-a:443"]\n',
    "a system path made writable": '[tool.x]\nfilesystem.writable = ["/usr"]\n',
    "one name from two places": '[tool.x]\nfilesystem.readable = ["/a", { path = "/a", from = "/b" }]\n',
    "a hole without an argument's bound": '[tool.x]\ncommand = ["{a}"]\narguments.a = {}\n',
    "a keyword of another type": '[tool.x]\narguments.a = { type = "integer", minLength = 1 }\n',
    "a pair of bounds that is empty": "[tool.x]\narguments.a = { minLength = 3, maxLength = 2 }\n",
    "a test of an unknown tool": '[[test]]\ntool = "y"\n',
    "a variable of the loader": '[tool.x]\nenv.pass = ["LD_PRELOAD"]\n',
}
# What may stand in the place of any value.
STRANGE = [
    "",
    "none",
    "\u2028",
    -1,
    0,
    1.5,
    True,
    [],
    [[]],
    {},
    {"path": 1},
    {"x": "y"},
    ["", 1],
    "1s",
    "1MiB",
]


def toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value)


def places(value, path=()):
    """Every place of a tree: the keys that lead there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(tree, path, value, rename=None):
    tree = copy.deepcopy(tree)
    at = tree
    for key in path[:-1]:
        at = at[key]
    if rename is None:
        at[path[-1]] = value
    else:
        at[rename] = at.pop(path[-1])
    return tree


schema = json.loads(run(toolcage, "policy", "schema").stdout)
for draft in (jsonschema.Draft202012Validator, jsonschema.Draft7Validator):
    draft.check_schema(schema)
    tap.check(True, f"the schema is one by {draft.__name__}")
validator = jsonschema.Draft202012Validator(schema)
older = jsonschema.Draft7Validator(schema)
scratch = pathlib.Path(tempfile.mkdtemp())


def compiles(text):
    path = scratch / "policy.toml"
    path.write_text(text)
    return run(toolcage, "policy", "check", path).returncode == 0


examples = {path.name: path.read_text() for path in sorted((root / "examples").glob("*.toml"))}
for page in [*root.glob("*.md"), *(root / "docs").rglob("*.md")]:
    for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", page.read_text(), flags=re.S | re.M), 1):
        examples[f"{page.relative_to(root)}, policy {number}"] = text
for name, text in examples.items():
    found = [error.message for error in validator.iter_errors(tomllib.loads(text))]
    found += [error.message for error in older.iter_errors(tomllib.loads(text))]
    tap.check(not found, f"{name} is valid by the schema", "\n".join(found[:5]))

for name, text in WRONG.items():
    tap.check(not compiles(text), f"{name}: the compiler refuses it")
    tap.check(not validator.is_valid(tomllib.loads(text)), f"{name}: the schema refuses it")
for name, text in BEYOND.items():
    tap.check(not compiles(text), f"{name}: the compiler refuses it")
    tap.check(validator.is_valid(tomllib.loads(text)), f"{name}: the schema cannot say so")

# Wherever the schema refuses a changed example, the compiler does.
changed = refused = 0
lenient = []
whole = {name: tomllib.loads(text) for name, text in examples.items()}
pool = [(tree, path) for tree in whole.values() for path in places(tree)]
for index, (tree, path) in enumerate(pool):
    strange = STRANGE[index % len(STRANGE)]
    made = (
        put(tree, path, strange)
        if index % 4
        else put(tree, path, None, rename="unheard_of")
        if isinstance(path[-1], str)
        else None
    )
    if made is None:
        continue
    changed += 1
    if validator.is_valid(made):
        continue
    refused += 1
    text = "".join(f"{json.dumps(key)} = {toml(item)}\n" for key, item in made.items())
    if compiles(text):
        lenient.append(text)
    if refused >= 500:
        break
tap.check(refused >= 100, f"of {changed} changed examples {refused} are refused by the schema")
tap.check(not lenient, "and every one of them by the compiler", "\n".join(lenient[:3]))
tap.finish()
