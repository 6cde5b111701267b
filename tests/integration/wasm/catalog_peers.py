#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The tools of the catalog beside programs that do the same: patch, diff, jq, sha256sum and Python's csv. Then called as no manual
would call them.

usage: catalog_peers.py TOOLCAGE [self | ordinary] CATALOG WHEELS"""

import csv
import glob
import hashlib
import io
import json
import math
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "process"))

from scene import TOOLCAGE, Skip, check, run, seed, skip_all  # noqa: E402

CATALOG, WHEELS = map(os.path.abspath, sys.argv[3:5])
NAMES = ["csv_summary", "file_edit", "grep", "hash", "json_query", "markdown_text", "text_diff"]
SEED = 20261126
DIFFS, DOCUMENTS, TABLES = 200, 40, 40
HOME = []  # of an install, made once
csv.field_size_limit(1 << 30)


class Server:
    """One server of MCP, whose client calls as a model does."""

    def __init__(self, s):
        wheel = glob.glob(os.path.join(WHEELS, "wasmtime-*.whl"))
        if not wheel:
            skip_all("the engine is not here: tools/clients fetches it")
        if not glob.glob(f"{CATALOG}/*.wasm"):
            skip_all("no modules can be made here: tools/deps test installs what compiles them")
        fresh = not HOME
        if fresh:
            HOME.append(f"/var/tmp/toolcage-peers-{os.getpid()}")
            os.makedirs(HOME[0], 0o755)
        s.environ["XDG_STATE_HOME"] = os.path.join(HOME[0], "state")
        if fresh:
            done = subprocess.run(
                [TOOLCAGE, "wasm", "install", wheel[0]],
                env=s.environ,
                capture_output=True,
                timeout=120,
                check=False,
            )
            check(done.returncode == 0, "the engine is installed", done)
        policy = s.write(
            "catalog.toml", "".join(f'[tool.{name}]\nmodule = "catalog:{name}"\n' for name in NAMES)
        )
        self.process = s.ends.enter_context(
            subprocess.Popen(
                [TOOLCAGE, "mcp", "--policy", policy],
                env=s.environ,
                cwd=s.ws,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        )
        s.ends.callback(self.process.stdin.close)
        self.number = 0
        self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        return next(
            message for message in map(json.loads, self.process.stdout) if message.get("id") == self.number
        )

    def call(self, tool, **arguments):
        """Whether it failed, and what it printed, or all that the model is told of the failure."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        if result.get("isError"):
            return True, result["content"][0]["text"]
        text, *blocks = result["content"]
        binary = [b.get("data") or b["resource"].get("blob") for b in blocks]
        return False, binary[0] if binary else text["text"].partition("stdout:\n")[2]


def needs(*programs):
    for name in programs:
        if not shutil.which(name):
            raise Skip(f"{name} is not here")


# ---- diffs ----


def random_lines(chance):
    """Few different ones, so that pieces of the text look like each other."""
    words = [
        "",
        "a",
        "b",
        "{",
        "}",
        "    return;",
        "same",
        "--- x",
        "+++ y",
        "@@ -1 +1 @@",
        "\\ no",
        "tab\there",
        "\u00e4",
    ]
    lines = [
        chance.choice(words) if chance.randrange(3) else f"line {chance.randrange(1000)}"
        for _ in range(chance.choice((0, 1, 3, 20, 200)))
    ]
    end = chance.choice(("\n", "\n", "\n", "\r\n"))
    text = "".join(line + end for line in lines)
    return text[: -len(end)] if lines and not chance.randrange(5) else text


def changed(chance, text):
    lines = text.splitlines(True)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(lines) + 1)
        how = chance.randrange(3)
        if how == 0:
            lines[at:at] = [f"new {chance.randrange(100)}\n"] * chance.randrange(1, 4)
        elif how == 1:
            del lines[at : at + chance.randrange(1, 4)]
        elif lines:
            lines[min(at, len(lines) - 1)] = f"other {chance.randrange(100)}\n"
    text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    return text[:-1] if text and not chance.randrange(5) else text


def moved(chance, diff):
    """The same diff with the numbers of its hunks off."""
    by, lines = chance.randrange(1, 9), diff.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("@@ -"):
            old, rest = line[4:].split(" +", 1)
            first, *length = old.split(",")
            lines[i] = "@@ -" + ",".join([str(int(first) + by), *length]) + " +" + rest
    return "\n".join(lines)


def patched(s, old, diff):
    """What patch makes of it, with no line of its context missing; None: nothing."""
    s.write("peer/old", old)
    s.write("peer/diff", diff)
    done = subprocess.run(
        [
            "patch",
            "--batch",
            "--forward",
            "--fuzz=0",
            "--binary",
            "--reject-file=-",
            "--output",
            s.path("peer/new"),
            s.path("peer/old"),
            s.path("peer/diff"),
        ],
        capture_output=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        return None
    return s.read("peer/new") if os.path.exists(s.path("peer/new")) else b""


def diffs(s):
    needs("patch", "diff")
    server, chance = Server(s), random.Random(seed(SEED))
    wrong, applied, refused = [], 0, 0
    for number in range(DIFFS):
        old = random_lines(chance)
        new = changed(chance, old)
        s.write("ws/old", old)
        s.write("ws/new", new)
        diff = subprocess.run(
            ["diff", "--text", f"-U{chance.choice((0, 1, 3, 3, 10))}", s.path("ws/old"), s.path("ws/new")],
            capture_output=True,
            timeout=60,
            check=False,
        ).stdout.decode()
        if not diff:
            continue
        off = chance.randrange(4) == 0
        diff = moved(chance, diff) if off else diff
        wanted = patched(s, old, diff)
        failed, said = server.call("file_edit", path="/workspace/old", action="patch", diff=diff)
        got = s.read("ws/old")
        if failed:
            refused += 1
            fine = got == old.encode() and (
                wanted is None or (off and ("more than one place" in said or "nowhere" in said))
            )
        else:
            applied += 1
            fine = got == wanted or (off and got == new.encode())
        if not fine:
            wrong.append((number, off, old, diff, said, got, wanted))
    check(
        not wrong,
        f"{applied} random diffs have the same end as with patch, {refused} are refused and change nothing",
        wrong[:2],
    )
    check(applied > DIFFS // 2, "most of them apply", (applied, refused))


def differences(s):
    needs("patch")
    server, chance = Server(s), random.Random(seed(SEED + 1))
    wrong = []
    for number in range(DIFFS // 4):
        old = random_lines(chance)
        new = changed(chance, old)
        s.write("ws/old", old)
        s.write("ws/new", new)
        failed, diff = server.call(
            "text_diff", **{"from": "/workspace/old", "to": "/workspace/new", "context": chance.randrange(5)}
        )
        same = old == new and "the same" in diff
        if failed or not (same or patched(s, old, diff) == new.encode()):
            wrong.append((number, old, new, diff))
    check(not wrong, "patch makes of what text_diff says the other file", wrong[:2])


# ---- JSON ----


def random_value(chance, depth=0):
    kinds = 6 if depth > 3 else 9
    kind = chance.randrange(kinds)
    if kind >= 6:
        names = ["a", "b", "a/b", "m~n", "", "0", "1", "\u00e4", "\U0001f600", "x y", '"', "*x"]
        if kind == 6:
            return [random_value(chance, depth + 1) for _ in range(chance.randrange(5))]
        return {chance.choice(names): random_value(chance, depth + 1) for _ in range(chance.randrange(6))}
    return [
        None,
        True,
        False,
        chance.randrange(-(10**9), 10**9),
        chance.choice((0.5, -1.25e10, 3e-7, 0, 1e300)),
        chance.choice(("", "text", '\u00e4\n\t"\\/', "\u0001", "\U0001f600", "null")),
    ][kind]


def random_pointer(chance, value):
    """A way into the value, now and then past it."""
    parts = []
    while isinstance(value, (list, dict)) and value and chance.randrange(6):
        name = chance.choice(range(len(value)) if isinstance(value, list) else list(value))
        value = value[name]
        parts.append("*" if not chance.randrange(3) else str(name))
    if not chance.randrange(4):
        parts.append(chance.choice(("absent", "7", "01", "-", "a")))
    return parts


JQ = """def at($p): if $p == [] then . else $p[0] as $k | $p[1:] as $r |
  if $k == "*" then (if type == "array" or type == "object" then .[] | at($r) else empty end)
  elif type == "array" then (if ($k | test("^(0|[1-9][0-9]*)$")) and ($k | tonumber) < length then .[$k | tonumber] | at($r) else empty end)
  elif type == "object" and has($k) then .[$k] | at($r) else empty end end;
. as $document | $pointers[] | . as $p | [$document | at($p)]"""


def parsed(text):
    """jq writes a number without a fraction as an integer."""
    return json.loads(
        text, parse_float=lambda number: int(float(number)) if float(number).is_integer() else float(number)
    )


def ordered(values):
    return sorted(json.dumps(value, sort_keys=True) for value in values)


def documents(s):
    needs("jq")
    server, chance = Server(s), random.Random(seed(SEED + 2))
    wrong, found = [], 0
    for number in range(DOCUMENTS):
        value = random_value(chance)
        text = json.dumps(value, ensure_ascii=bool(chance.randrange(2)), indent=chance.choice((None, 1, 4)))
        path = s.write("ws/d.json", text)
        pointers = [random_pointer(chance, value) for _ in range(4)]
        done = subprocess.run(
            ["jq", "-c", "--argjson", "pointers", json.dumps(pointers), JQ, path],
            capture_output=True,
            timeout=60,
            check=True,
        )
        for parts, line in zip(pointers, done.stdout.decode().splitlines()):
            wanted = parsed(line)
            query = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
            failed, said = server.call("json_query", path="/workspace/d.json", query=query)
            got = (
                []
                if failed and "nothing is at" in said
                else [parsed(each) for each in said.split("\n") if each]
            )
            found += len(got)
            if ordered(got) != ordered(wanted):
                wrong.append((number, text, query, said, line))
        failed, said = server.call("json_query", path="/workspace/d.json", action="format")
        if (
            failed
            or json.loads(said) != value
            or said != json.dumps(json.loads(said), indent=2, ensure_ascii=False) + "\n"
            and "e" not in text
        ):
            wrong.append((number, text, "format", said, ""))
    check(not wrong and found > DOCUMENTS, f"json_query finds what jq finds, {found} values", wrong[:2])
    good = ["[1,2]", '{"a":1}', "1", '"x"']
    bad = [
        "",
        "[1,]",
        "{'a':1}",
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[1e]",
        "nul",
        '"\t"',
        '"\\x"',
        '"\\u12"',
        "[1] 2",
        '{"a" 1}',
        "{1:2}",
        "[",
        '"',
        "[NaN]",
        "tru",
        "[1 2]",
        "\ufeff[1]x",
    ]
    for text in good + bad:
        failed, said = server.call(
            "json_query", path="/workspace/" + os.path.basename(s.write("ws/one.json", text))
        )
        check(
            failed == (text in bad) and (not failed or "not JSON" in said), f"json_query and {text!r}", said
        )


# ---- CSV ----


def random_table(chance):
    out, delimiter = io.StringIO(), chance.choice(",;\t|")
    columns = chance.randrange(2, 6)
    writer = csv.writer(
        out,
        delimiter=delimiter,
        lineterminator=chance.choice(("\n", "\r\n")),
        quoting=chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
    )
    writer.writerow([f"c{i}" for i in range(columns)])
    numbers = chance.randrange(columns)  # this one has nothing else
    for _ in range(chance.choice((0, 1, 10, 200))):
        row = [
            chance.choice(
                (
                    "",
                    "x",
                    'a "b"',
                    "two\nlines",
                    "1,5",
                    ";|",
                    "\u00e4",
                    "-3",
                    "4.25",
                    " x ",
                    "1e3",
                    "nan",
                    "0x10",
                )
            )
            for _ in range(columns)
        ]
        row[numbers] = chance.choice((str(chance.randrange(-1000, 1000)), "2.5", "", "1e2"))
        writer.writerow(row)
    return out.getvalue(), delimiter


def is_number(value):
    try:
        return math.isfinite(float(value)) and value == value.strip() and "_" not in value
    except ValueError:
        return False


def summary(text, delimiter):
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    names, rows = rows[0], [row for row in rows[1:] if row]
    told = []
    for i, name in enumerate(names):
        values = [row[i] for row in rows if i < len(row)]
        filled = [value for value in values if value]
        column = {
            "name": name,
            "values": len(filled),
            "empty": len(values) - len(filled),
            "distinct": len(set(filled)),
        }
        if filled and all(map(is_number, filled)):
            column.update(
                min=min(map(float, filled)),
                max=max(map(float, filled)),
                mean=math.fsum(map(float, filled)) / len(filled),
            )
        told.append(column)
    return {"rows": len(rows), "columns": told}


def tables(s):
    server, chance = Server(s), random.Random(seed(SEED + 3))
    wrong = []
    for number in range(TABLES):
        text, delimiter = random_table(chance)
        s.write("ws/t.csv", text)
        failed, said = server.call("csv_summary", path="/workspace/t.csv", delimiter=delimiter)
        wanted = summary(text, delimiter)
        got = {} if failed else json.loads(said)
        fine = got.get("rows") == wanted["rows"] and len(got["columns"]) == len(wanted["columns"])
        for one, other in zip(got.get("columns", []), wanted["columns"]):
            fine = fine and all(
                math.isclose(one[key], value, rel_tol=1e-12)
                if isinstance(value, float)
                else one[key] == value
                for key, value in other.items()
            )
            fine = fine and (one["type"] == "number") == ("mean" in other)
        if not fine:
            wrong.append((number, text, said, wanted))
    check(not wrong, "csv_summary counts as Python's csv does", wrong[:1])


# ---- Markdown ----

MARKDOWN = [
    ("# One\n## Two ##\n", "One\nTwo\n"),
    ("Title\n=====\nSub\n---\n", "Title\nSub\n"),
    ("a **b** _c_ ***d*** ~~e~~\n", "a b c d e\n"),
    ("2 * 3 * 4, snake_case_name, `*x*`\n", "2 * 3 * 4, snake_case_name, *x*\n"),
    ("- one\n* two\n+ three\n  - four\n", "- one\n- two\n- three\n  - four\n"),
    ("1. one\n2. two\n", "1. one\n2. two\n"),
    ("> quoted\n> > twice\n", "quoted\ntwice\n"),
    ("[words](https://a.example/x)\n", "words (https://a.example/x)\n"),
    ("![picture](p.png)\n", "picture\n"),
    ("<https://a.example>\n", "https://a.example\n"),
    ("a <b>bold</b> tag\n", "a bold tag\n"),
    ("```py\nx = [1](2)\n# no heading\n```\nafter\n", "x = [1](2)\n# no heading\nafter\n"),
    ("``a ` b``\n", "a ` b\n"),
    ("| a | b |\n|---|:-:|\n| 1 | **2** |\n", "a\tb\n1\t2\n"),
    ("\\*no\\* \\[x\\]\n", "*no* [x]\n"),
    ("[x] [y](z\n", "[x] [y](z\n"),
    ("", ""),
    ("a\r\nb\r\n", "a\nb\n"),
]


def markdown(s):
    server = Server(s)
    for text, wanted in MARKDOWN:
        s.write("ws/m.md", text)
        failed, said = server.call("markdown_text", path="/workspace/m.md")
        check(not failed and said == wanted, f"markdown_text: {text!r}", repr(said))


# ---- as no manual has it ----

GOOD = {
    "csv_summary": {"path": "/workspace/t"},
    "file_edit": {"path": "/workspace/t", "action": "insert", "line": 0, "text": "x\n"},
    "grep": {"pattern": "x", "paths": ["/workspace/t"]},
    "hash": {"paths": ["/workspace/t"]},
    "json_query": {"path": "/workspace/t"},
    "markdown_text": {"path": "/workspace/t"},
    "text_diff": {"from": "/workspace/t", "to": "/workspace/t"},
}


def file_key(tool):
    return next(key for key in ("path", "paths", "from") if key in GOOD[tool])


def misused(s):
    """Arguments of another kind, of another name, too many, none; files that are missing, directories, empty, of no text."""
    server = Server(s)
    os.mkdir(s.path("ws/dir"))
    for tool, good in GOOD.items():
        s.write("ws/t", '"x"\n')
        failed, said = server.call(tool, **good)
        check(not failed, f"{tool} as it is meant", said)
        key = file_key(tool)
        many = isinstance(good[key], list)
        for wrong in (
            5,
            None,
            {"a": 1},
            "/workspace/t" if many else ["/workspace/t"],
            "x\0y",
            [1] if many else True,
        ):
            failed, said = server.call(tool, **{**good, key: wrong})
            check(
                failed and (key in said or "\\u0000" in said),
                f"{tool}: {key} = {wrong!r} is refused by its name",
                said,
            )
        failed, said = server.call(tool, **{name: value for name, value in good.items() if name != key})
        check(failed and key in said, f"{tool} without {key}", said)
        failed, said = server.call(tool, **good, surprise=1)
        check(failed and "surprise" in said, f"{tool} with an argument that it does not have", said)
        for path in ("/workspace/absent", "/workspace/no/such", "/etc/passwd", "/workspace/../x"):
            failed, said = server.call(tool, **{**good, key: [path] if many else path})
            check(failed and (os.path.basename(path) in said or '".."' in said), f"{tool}: {path}", said)
        failed, said = server.call(tool, **{**good, key: ["/workspace/dir"] if many else "/workspace/dir"})
        check(failed or tool == "grep", f"{tool} of a directory", said)


def huge(s):
    """Each ends in time, in its answer or in words that say what is wrong."""
    server = Server(s)
    rows = "a,b\n" + "".join(f"{i},text {i % 900}\n" for i in range(300000))
    texts = {
        "csv_summary": rows,
        "file_edit": "x\n" * 4000000,
        "grep": "y" * 8000000 + "\n" + "x\n" * 100,
        "hash": "z" * 32000000,
        "json_query": "[" + "1," * 1000000 + "1]",
        "markdown_text": "[" * 20000 + "\n" + "*a* `b` " * 200000,
        "text_diff": "q\n" * 300000,
    }
    for tool, text in texts.items():
        s.write("ws/t", text)
        failed, said = server.call(tool, **GOOD[tool])
        check(
            said
            and (not failed or "memory" in said or "limit" in said or "large" in said or "truncated" in said),
            f"{tool} of {len(text) >> 20} MiB",
            (failed, said[:300]),
        )
        if tool == "hash":
            check(hashlib.sha256(text.encode()).hexdigest() in said, "hash of it", said[:200])
    s.write("ws/t", "".join(f"{i}\n" for i in range(20000)))
    s.write("ws/u", "".join(f"{-i}\n" for i in range(20000)))
    failed, said = server.call("text_diff", **{"from": "/workspace/t", "to": "/workspace/u"})
    check(
        failed and "differ in more than" in said, "text_diff of files that have nothing in common", said[:300]
    )
    failed, said = server.call(
        "file_edit", path="/workspace/t", action="insert", line=0, text="x" * (2 << 20) + "\n"
    )
    check(
        said and os.path.getsize(s.path("ws/t")) in ((2 << 20) + 1 + 108890, 108890),
        "file_edit with an argument of two megabytes",
        (failed, said[:300]),
    )
    for name, data in (("empty", b""), ("binary", bytes(range(256)) * 64)):
        s.write("ws/t", data)
        for tool, good in GOOD.items():
            failed, said = server.call(tool, **good)
            check(said or tool == "markdown_text", f"{tool} of a file that is {name}", (failed, said[:200]))


def last(_):
    if HOME:
        shutil.rmtree(HOME[0], ignore_errors=True)


run(diffs, differences, documents, tables, markdown, misused, huge, last)
