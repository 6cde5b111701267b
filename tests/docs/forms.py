# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Every policy that is shown, written in YAML: it loads, and means the same by its digest."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import tap

root, toolcage = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
# Words that YAML could take for something else are quoted, as a person would.
PLAIN = re.compile(r"[A-Za-z/~][A-Za-z0-9_./~-]*")
TAKEN = re.compile(r"(?i)y|n|yes|no|on|off|true|false|null|~")


def word(text):
    return (
        text if PLAIN.fullmatch(text) and not TAKEN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    )


def scalar(value):
    return word(value) if isinstance(value, str) else json.dumps(value)


def block(value, depth=0):
    """The lines below a key, or the rest of its line."""
    pad = "  " * depth
    if isinstance(value, dict) and value:
        return "".join(f"\n{pad}{word(key)}:{block(inner, depth + 1)}" for key, inner in value.items())
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "".join(
            f"\n{pad}-{block(item, depth + 1) if item else ' ' + json.dumps(item)}" for item in value
        )
    if isinstance(value, list):
        return " [" + ", ".join(map(scalar, value)) + "]"
    return " " + ("{}" if value == {} else scalar(value))


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{word(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def digest(path):
    done = subprocess.run(
        [toolcage, "policy", "digest", path],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    return done.stdout.split(" ")[0] if done.returncode == 0 else done.stderr


def policies():
    for path in sorted((root / "examples").rglob("*.toml")):
        yield path.relative_to(root).as_posix(), path.read_text()
    for page in sorted([root / "README.md", *(root / "docs").rglob("*.md")]):
        for number, text in enumerate(
            re.findall(r"^```toml\n(.*?)^```", page.read_text(), flags=re.S | re.M), 1
        ):
            yield f"{page.relative_to(root)}, policy {number}", text


seen = set()
with tempfile.TemporaryDirectory() as scratch:
    for name, text in policies():
        paths = {form: pathlib.Path(scratch) / f"policy.{form}" for form in ("toml", "yaml", "yml")}
        value = tomllib.loads(text)
        for form, rewritten in (
            ("toml", text),
            ("yaml", block(value).lstrip("\n") + "\n"),
            ("yml", flow(value) + "\n"),
        ):
            paths[form].write_text(rewritten)
        digests = {form: digest(path) for form, path in paths.items()}
        same = len(set(digests.values())) == 1 and digests["toml"].startswith("sha256:")
        tap.check(
            same,
            f"{name}: one digest in TOML and YAML",
            "" if same else f"{digests}\n{paths['yaml'].read_text()}",
        )
        seen.add(digests["toml"])
tap.check(len(seen) > 50, f"{len(seen)} policies with digests of their own", seen)
tap.finish()
