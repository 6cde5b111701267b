#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The configurations that runtimes are given, against the schema of the OCI runtime specification.

usage: schema.py PRINTER       a program that prints one configuration a line when given an argument
"""

import json
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
SCHEMA = "/usr/share/gocode/src/github.com/opencontainers/runtime-spec/schema"


def main():
    try:
        import jsonschema
    except ImportError:
        print("1..0 # SKIP skipped: python3-jsonschema is not installed")
        return 0
    if not os.path.exists(SCHEMA):
        print(
            "1..0 # SKIP skipped: golang-github-opencontainers-specs-dev, which has the schema, is not installed"
        )
        return 0
    with open(os.path.join(SCHEMA, "config-schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    resolver = jsonschema.RefResolver(f"file://{SCHEMA}/config-schema.json", schema)
    validator = jsonschema.Draft4Validator(schema, resolver=resolver)
    lines = subprocess.run(
        [sys.argv[1], "print"], capture_output=True, check=True, timeout=30
    ).stdout.splitlines()
    failed = 0
    for number, line in enumerate(lines, 1):
        errors = [f"{list(e.path)}: {e.message[:200]}" for e in validator.iter_errors(json.loads(line))]
        for error in errors:
            print(f"# {error}")
        failed += bool(errors)
        print(f"{'not ok' if errors else 'ok'} {number} - configuration {number} is valid")
    wrong = {**json.loads(lines[0]), "root": {"readonly": True}}
    seen = bool(list(validator.iter_errors(wrong)))
    print(f"{'ok' if seen else 'not ok'} {len(lines) + 1} - one without a root is not")
    print(f"1..{len(lines) + 1}")
    return 1 if failed or not seen or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
