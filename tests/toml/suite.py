# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The official TOML test suite against the reader of policies, and its valid files again, written as YAML.

What differs stands in the file gaps, each with its reason; a gap that is none fails.

usage: suite.py ROOT DECODE
"""

import json
import math
import pathlib
import re
import subprocess
import sys

import tap

ROOT, DECODE = pathlib.Path(sys.argv[1]), sys.argv[2]
FOUND = sorted((ROOT / "build-clients/go/github.com/toml-lang/toml-test").glob("v2@*/tests"))
if not FOUND:
    tap.skip_all("the official test suite is not here: tools/clients installs it")
TESTS = FOUND[-1]
used = set()


def read_gaps():
    gaps = {}
    for line in (pathlib.Path(__file__).parent / "gaps").read_text().splitlines():
        name, _, reason = line.partition(" ")
        if line and not line.startswith("#"):
            gaps[name] = reason.strip()
    return gaps


def decode(form, text):
    done = subprocess.run([DECODE, form], input=text, capture_output=True, check=False, timeout=60)
    if done.returncode not in (0, 1):
        return None, f"exit code {done.returncode} {done.stderr}"
    return (
        (json.loads(done.stdout), "")
        if done.returncode == 0
        else (None, done.stderr.decode(errors="replace").strip())
    )


def is_value(tree):
    return (
        isinstance(tree, dict)
        and set(tree) == {"type", "value"}
        and isinstance(tree["type"], str)
        and isinstance(tree["value"], str)
    )


def plain_time(text):
    text = text.upper().replace(" ", "T").replace("+00:00", "Z")
    return re.sub(r"(\.\d*?)0+(?=\D|$)", r"\1", text).replace(".Z", "Z").rstrip(".")


def same(want, got):
    if is_value(want):
        if not is_value(got) or want["type"] != got["type"]:
            return False
        a, b = want["value"], got["value"]
        if want["type"] == "float":
            return float(a) == float(b) or (math.isnan(float(a)) and math.isnan(float(b)))
        if want["type"] == "integer":
            return int(a) == int(b)
        return (
            plain_time(a) == plain_time(b)
            if "-local" in want["type"] or want["type"] == "datetime"
            else a == b
        )
    if isinstance(want, dict):
        return (
            isinstance(got, dict) and want.keys() == got.keys() and all(same(want[k], got[k]) for k in want)
        )
    return isinstance(got, list) and len(want) == len(got) and all(same(a, b) for a, b in zip(want, got))


def judge(name, good, detail):
    """One point. A listed gap must be one."""
    if name not in gaps:
        tap.check(good, name, detail)
        return
    used.add(name)
    tap.check(not good, f"{name}: still a gap ({gaps[name]})", "it passes now: take it off the list")


def quoted(text):
    """JSON's form, with what YAML wants escaped."""
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]",
        lambda m: f"\\u{ord(m[0]):04x}",
        json.dumps(text, ensure_ascii=False),
    )


def as_yaml(tree, depth):
    """Block style for tables at odd depths, flow style below: both get their share. ValueError: YAML has no such value."""
    if is_value(tree):
        kind, value = tree["type"], tree["value"]
        if kind == "string":
            return quoted(value)
        if kind == "float":
            number = float(value)
            return (
                ".nan"
                if math.isnan(number)
                else (".inf" if number > 0 else "-.inf")
                if math.isinf(number)
                else repr(number)
            )
        if kind in ("integer", "bool"):
            return value
        raise ValueError(kind)
    if isinstance(tree, list):
        return "[" + ", ".join(as_yaml(item, depth + 2) for item in tree) + "]"
    if depth > 2:
        return (
            "{" + ", ".join(f"{quoted(key)}: {as_yaml(item, depth + 1)}" for key, item in tree.items()) + "}"
        )
    return (
        "".join(f"\n{'  ' * depth}{quoted(key)}: {as_yaml(item, depth + 1)}" for key, item in tree.items())
        or "{}"
    )


def try_yaml(name, want):
    try:
        text = as_yaml(want, 0)
    except ValueError:
        return False
    got, why = decode("yaml", text.encode())
    judge("yaml/" + name, got is not None and same(want, got), f"{why}\n{text}\n{got}")
    return True


gaps = read_gaps()
names = [name for name in (TESTS / "files-toml-1.0.0").read_text().split() if name.endswith(".toml")]
counts = {"valid": 0, "invalid": 0, "yaml": 0}
for name in names:
    text = (TESTS / name).read_bytes()
    got, why = decode("toml", text)
    if name.startswith("invalid/"):
        counts["invalid"] += 1
        judge(name, got is None and re.match(r"\d+:\d+: .", why), f"read as {got} {why}")
        continue
    counts["valid"] += 1
    want = json.loads((TESTS / name).with_suffix(".json").read_text())
    judge(name, got is not None and same(want, got), f"{why}\nwanted {want}\ngot    {got}")
    counts["yaml"] += try_yaml(name, want)
tap.check(
    counts["valid"] > 150 and counts["invalid"] > 300 and counts["yaml"] > 100,
    f"the suite is whole: {counts}",
    counts,
)
tap.check(not set(gaps) - used, "every gap on the list is a test of the suite", sorted(set(gaps) - used))
tap.finish()
