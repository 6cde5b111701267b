# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`input_schema`: random schemas and documents beside the validator jsonschema, and the file that holds one."""

import json
import os
import random
import subprocess
import sys
import time

try:
    from jsonschema import Draft202012Validator
except ImportError:
    Draft202012Validator = None

from cli import Place, check, expect, finish, require_user, seed, skip

SCHEMAS = os.path.abspath(sys.argv[3])
SEED, ROUNDS = seed(20), 300
TEXTS = ["", "a", "ab", "abc", "ä€", "\U0001d11e", "x" * 9]
INTEGERS = [-3, 0, 1, 2, 2.0, 3, 5, 10, 2**40]
NUMBERS = [-1.5, 0.25, 1.0, 1.5, 2.0, 2.75, 1e20, *INTEGERS]
# What ECMA-262, Python and the policy read alike, of texts without line ends; each with texts that fit.
PATTERNS = {
    "^a": ["a", "ab"],
    "^[a-c]+$": ["abc", "b"],
    "b": ["ab"],
    "^(?:ab|x)+$": ["abx", "xx"],
    "^.{2}$": ["ab", "ä€"],
    "[^a-z]": ["ä€", "A"],
    "^(?!a).*$": ["b", ""],
    "^(?=.*b)a": ["ab"],
    "^x{3,9}$": ["xxx"],
    "(a|aa)+$": ["aa"],
    "^\\d{2}-\\w$": ["12-a", "00-_"],
    "^a?$|^b*$": ["", "a", "bb"],
    "\\bab\\b": ["ab", "x ab"],
    "[\\]\\-x]$": ["x", "]", "-"],
    "^\\S+\\s\\S+?$": ["a b"],
}
# Only those that the validator checks without packages of its own; it may take more than the policy does, never less.
FORMATS = {
    "date": ["2024-02-29", "2026-01-31"],
    "email": ["a@b.c"],
    "ipv4": ["192.0.2.1"],
    "ipv6": ["::1", "2001:db8::1"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
    "regex": ["^a+$", ""],
}
HARD = [
    "2023-02-29",
    "2026-1-1",
    "20260131",
    "1.2.3.4.5",
    "01.2.3.4",
    "256.1.1.1",
    ":::",
    "::1%lo",
    "1::2::3",
    "@",
    "a b@c",
    "123e4567",
    "(",
    "a{2",
    "[z-a]",
    "a@",
    "x" * 40,
    "12-",
    "ab ",
    " ab",
    "9-a",
    "A",
    "aab",
    "-",
    "]",
    "b" * 20,
]
VALUES = {"string": TEXTS, "integer": INTEGERS, "number": NUMBERS, "boolean": [True, False]}
ANY = [None, *TEXTS, *NUMBERS, True, False]
# Each is either refused or would be passed over; nothing else may happen to it.
FOREIGN = [
    ("pattern", "(?i)a"),
    ("format", "phone"),
    ("$ref", "#"),
    ("$ref", "other.json"),
    ("$ref", "#/$defs/no"),
    ("$dynamicRef", "#x"),
    ("$anchor", "x"),
    ("contentEncoding", "base64"),
    ("nullable", True),
    ("unevaluatedProperties", False),
    ("unevaluatedItems", False),
    ("dependencies", {}),
]
# These bind a value, not the arguments as a whole.
OF_A_VALUE = [
    ("enum", [{}]),
    ("const", {}),
    ("patternProperties", {}),
    ("default", {}),
    ("$ref", "#/$defs/d0"),
]


def value_schema(dice, kind):
    schema = {"type": kind}
    if kind in ("integer", "number"):
        low, high = sorted(dice.sample(INTEGERS, 2))
        schema.update(
            dice.choice(
                [
                    {},
                    {"minimum": low},
                    {"maximum": high},
                    {"minimum": low, "maximum": high},
                    {"exclusiveMinimum": low},
                    {"exclusiveMaximum": high},
                    {"exclusiveMinimum": low - 1, "maximum": high + 0.5 if kind == "number" else high},
                ]
            )
        )
    if kind == "integer" and dice.random() < 0.3:
        schema["multipleOf"] = dice.choice([1, 2, 5])
    if kind == "string":
        schema.update(
            dice.choice(
                [
                    {},
                    {"minLength": 1},
                    {"maxLength": 2},
                    {"minLength": 1, "maxLength": 3},
                    {"pattern": dice.choice(list(PATTERNS))},
                    {"pattern": dice.choice(list(PATTERNS)), "maxLength": 4},
                    {"format": dice.choice(list(FORMATS))},
                ]
            )
        )
    if dice.random() < 0.25:
        schema["enum"] = dice.sample(VALUES[kind], 2)
    elif dice.random() < 0.15:
        schema["const"] = dice.choice(VALUES[kind])
    if dice.random() < 0.2:
        schema.update({"title": "T", "description": "d", "default": dice.choice(VALUES[kind])})
    return schema


def narrowing(dice, depth=0):
    """A schema that binds some values and knows nothing of the others."""

    def deeper():
        return narrowing(dice, depth + 1)

    plain = [
        {},
        {"minLength": 2},
        {"maximum": 2},
        {"exclusiveMinimum": 0},
        {"const": dice.choice(ANY)},
        {"enum": dice.sample(ANY, 4)},
        {"type": "string"},
        {"type": ["integer", "null"]},
        {"type": "number", "multipleOf": 2},
        {"required": ["m0"]},
        {"maxItems": 1},
        {"minItems": 1},
        {"uniqueItems": True},
        {"pattern": dice.choice(list(PATTERNS))},
        {"properties": {"m0": {}, "m1": {}}, "additionalProperties": False},
        {"minProperties": 1},
        {"maxProperties": 1},
        {"dependentRequired": {"m0": ["m1"]}},
        {"propertyNames": {"pattern": "[01]$"}},
        {"additionalProperties": {"type": "string"}},
        {"const": {"m0": 1}},
        {"enum": [[], [1], ["a", 2.0], {}]},
    ]
    if depth > 2 or dice.random() < 0.6:
        return dice.choice(plain)
    return dice.choice(
        [  # only the chosen one is made
            lambda: {"not": deeper()},
            lambda: {"anyOf": [deeper(), deeper()]},
            lambda: {"oneOf": [deeper(), deeper()]},
            lambda: {"allOf": [deeper(), deeper()]},
            lambda: {"properties": {"m0": deeper()}},
            lambda: {"items": deeper()},
            lambda: {"prefixItems": [deeper(), deeper()]},
            lambda: {"prefixItems": [deeper()], "items": False},
            lambda: {"if": deeper(), "then": deeper(), "else": deeper()},
            lambda: {"if": deeper(), "else": deeper()},
            lambda: {"contains": deeper()},
            lambda: {"contains": deeper(), "minContains": 0, "maxContains": 1},
            lambda: {"contains": deeper(), "minContains": 2},
            lambda: {"dependentSchemas": {"m0": deeper()}},
            lambda: {"patternProperties": {"0$": deeper()}},
            lambda: {"propertyNames": deeper()},
            lambda: {
                "patternProperties": {"1$": deeper()},
                "additionalProperties": deeper(),
                "properties": {"m1": deeper()},
            },
            lambda: {**dice.choice(plain), **dice.choice(plain)},
        ]
    )()


def array_schema(dice, depth, names):
    schema = {"type": "array", "items": property_schema(dice, depth + 1, names)}
    schema.update(dice.choice([{}, {"minItems": 1}, {"maxItems": 2}, {"minItems": 1, "maxItems": 3}]))
    if dice.random() < 0.4:
        schema["uniqueItems"] = True
    if dice.random() < 0.3:
        schema["prefixItems"] = [property_schema(dice, depth + 1, names) for _ in range(dice.randrange(1, 3))]
        schema["items"] = dice.choice([False, schema["items"]])
    return schema


def bearing(dice, depth, names):
    """A schema whose type is said elsewhere."""
    if names and dice.random() < 0.4:
        return {
            "$ref": "#/$defs/" + dice.choice(names),
            **dice.choice(
                [{}, {}, {"description": "here"}, {"allOf": [narrowing(dice)]}, {"not": narrowing(dice)}]
            ),
        }
    inner = property_schema(dice, depth + 1, names)
    return dice.choice(
        [
            {"anyOf": [inner, {"type": "null"}]},
            {"anyOf": [property_schema(dice, depth + 1, names), inner]},
            {"oneOf": [inner, property_schema(dice, depth + 1, names)]},
            {"allOf": [inner, narrowing(dice)]},
            {"anyOf": [inner, {"type": "boolean"}], "not": narrowing(dice)},
        ]
    )


def property_schema(dice, depth=0, names=()):
    if depth < 3 and dice.random() < 0.2:
        return bearing(dice, depth, names)
    kind = dice.choice([*VALUES, "array", "object"] if depth < 3 else list(VALUES))
    if kind == "object":
        members = {f"m{i}": property_schema(dice, depth + 1, names) for i in range(dice.randrange(4))}
        schema = {"type": "object", "additionalProperties": False, "properties": members}
        if dice.random() < 0.6:
            schema["required"] = [name for name in members if dice.random() < 0.5]
        if dice.random() < 0.2:
            schema["additionalProperties"] = property_schema(dice, depth + 1, names)
        if dice.random() < 0.2:
            schema["patternProperties"] = {
                dice.choice(["^x", "0$", "^m"]): property_schema(dice, depth + 1, names)
            }
    else:
        schema = array_schema(dice, depth, names) if kind == "array" else value_schema(dice, kind)
    if dice.random() < 0.15:
        schema["type"] = [
            kind,
            *dice.sample([word for word in ("string", "integer", "boolean", "null") if word != kind], 2),
        ]
    if dice.random() < 0.2:
        schema.update(
            dice.choice(
                [
                    {"not": narrowing(dice)},
                    {"anyOf": [narrowing(dice), narrowing(dice)]},
                    {"oneOf": [narrowing(dice), narrowing(dice)]},
                    {"allOf": [narrowing(dice), narrowing(dice)]},
                    {"if": narrowing(dice), "then": narrowing(dice)},
                ]
            )
        )
    if dice.random() < 0.05:
        schema.update({"examples": [1, None], "deprecated": True})
    return schema


def root_schema(dice):
    names = []
    definitions = {}
    for i in range(dice.randrange(4)):
        definitions[f"d{i}"] = property_schema(dice, 1, list(names))
        names.append(f"d{i}")
    properties = {f"p{i}": property_schema(dice, 0, names) for i in range(dice.randrange(5))}
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    if names:
        schema["$defs"] = definitions
    if dice.random() < 0.8:
        schema["required"] = [name for name in properties if dice.random() < 0.5]
    if dice.random() < 0.3:
        part = json.loads(json.dumps(narrowing(dice)).replace('"m0"', '"p0"').replace('"m1"', '"p1"'))
        schema.update(
            dice.choice(
                [
                    {"not": part},
                    {"anyOf": [part, {"required": ["p1"]}]},
                    {"if": {"required": ["p0"]}, "then": part},
                    {"oneOf": [part, {"maxProperties": 1}]},
                    {"minProperties": 1},
                    {"dependentRequired": {"p0": ["p1"]}},
                    {"allOf": [part]},
                    {"propertyNames": {"pattern": "[012]$"}},
                    {"dependentSchemas": {"p0": part}},
                ]
            )
        )
    if dice.random() < 0.3:
        schema.update(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "$id": "urn:x",
                "$comment": "c",
                "title": "t",
                "description": "d",
            }
        )
    return schema


def document(dice, schema):
    def one(kind):
        if kind == "array" or dice.random() < 0.05:
            return [one(dice.choice(list(VALUES))) for _ in range(dice.randrange(4))]
        if dice.random() < 0.08:
            return dice.choice([None, {}, "1", 1, True, 2.5])
        return dice.choice(VALUES[kind] + HARD if kind == "string" and dice.random() < 0.5 else VALUES[kind])

    def fitting(member):
        if dice.random() < 0.04:
            return one(dice.choice(list(VALUES)))
        if "$ref" in member:
            return fitting(schema["$defs"][member["$ref"].rsplit("/", 1)[1]])
        if "type" not in member:
            word = next(word for word in ("anyOf", "oneOf", "allOf") if word in member)
            return fitting(member[word][0] if word == "allOf" else dice.choice(member[word]))
        if isinstance(member["type"], list):
            member = {**member, "type": dice.choice([member["type"][0], *member["type"]])}
        if member["type"] == "null":
            return None
        if member["type"] == "object" and "properties" in member:
            made = {
                name: fitting(inner) for name, inner in member["properties"].items() if dice.random() < 0.9
            }
            others = [
                part
                for part in [member["additionalProperties"], *member.get("patternProperties", {}).values()]
                if part
            ]
            made.update(
                {
                    dice.choice(["x0", "x1", "m0", "y"]): fitting(dice.choice(others))
                    for _ in range(dice.randrange(3))
                    if others
                }
            )
            return {**made, "other": 1} if dice.random() < 0.03 else made
        if member["type"] not in ("array", "object"):
            words = PATTERNS.get(member.get("pattern")) or FORMATS.get(member.get("format")) or HARD
            likely = dice.choice(words) if words is not HARD and dice.random() < 0.7 else one(member["type"])
            return dice.choice(member.get("enum") or [member.get("const", likely)])
        first = [fitting(part) for part in member.get("prefixItems", [])]
        return first[: dice.randrange(4)] + [
            fitting(member["items"]) for _ in range(dice.randrange(4)) if member["items"]
        ]

    members = {name: fitting(member) for name, member in schema["properties"].items() if dice.random() < 0.85}
    if dice.random() < 0.1:
        members["other"] = 1
    return members


def write(place, name, text):
    path = os.path.join(place.project, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)
    return path


def policy(place, schema, by="file"):
    text = json.dumps(schema)
    said = {"file": '"schema.json"', "text": f"'''{text}'''"}[by]
    write(place, "schema.json", text)
    return write(place, "toolcage.toml", f'[tool.t]\ncommand = ["true"]\ninput_schema = {said}\n')


class Judge:
    """Many policies and arguments, asked of one process (schemas.c)."""

    def __init__(self, place):
        self.process = subprocess.Popen(
            [SCHEMAS], env=place.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        check(self.process.wait(60) == 0, "the validator process exits with 0", self.process.returncode)

    def ask(self, path, given=()):
        print(json.dumps({"policy": path, "given": given}), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def beside_the_validator():
    if not Draft202012Validator:
        skip("random schemas and documents", "jsonschema is not here: tools/deps names it")
        return
    dice, wrong, narrower, verdicts = random.Random(SEED), [], 0, {True: 0, False: 0}
    with Place() as place, Judge(place) as judge:
        for round_ in range(ROUNDS):
            schema = root_schema(dice)
            path = policy(place, schema, dice.choice(["file", "text"]))
            documents = [document(dice, schema) for _ in range(12)]
            told = judge.ask(path, documents)
            if "error" in told:
                wrong.append((schema, told))
                continue
            validators = [
                Draft202012Validator(one, format_checker=Draft202012Validator.FORMAT_CHECKER)
                for one in (schema, told["schema"])
            ]
            for given, refusal in zip(documents, told["verdicts"], strict=True):
                ours = True if refusal is None else False if refusal["code"] == "arguments" else None
                theirs = [validator.is_valid(given) for validator in validators]
                verdicts[theirs[0]] += 1
                narrow = (
                    ours is False and theirs == [True, True] and "is not of the format" in refusal["message"]
                )
                narrower += narrow
                if theirs != [ours, ours] and not narrow:
                    wrong.append((round_, schema, given, theirs, refusal))
        check(not wrong, f"random documents get one verdict (seed {SEED})", wrong[:3])
        check(min(verdicts.values()) > 2 * ROUNDS, "both verdicts come", verdicts)
        check(narrower < ROUNDS // 3, "few are refused for a format alone", narrower)


def nothing_is_passed_over():
    dice, wrong = random.Random(SEED), []
    with Place() as place, Judge(place) as judge:
        for keyword, value in FOREIGN * 2 + OF_A_VALUE:
            schema = root_schema(dice)
            schema["properties"]["p"] = {"type": "array", "items": {"type": "string"}}
            where = (
                dice.choice([schema, schema["properties"]["p"], schema["properties"]["p"]["items"]])
                if (keyword, value) in FOREIGN
                else schema
            )
            where[keyword] = value
            told = judge.ask(policy(place, schema)).get("error", "")
            if keyword not in told or "toolcage.toml:3:" not in told and "schema.json" not in told:
                wrong.append((keyword, schema, told))
        check(not wrong, "a keyword that cannot be enforced is named", wrong[:3])


def no_text_makes_a_match_last():
    with Place() as place:
        for pattern in ("^(a+)+$", "(a|aa)+b", "(?:a*)*$b|c", "^(?:(?=.*$).)*!$"):
            path = policy(
                place,
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"t": {"type": "array", "items": {"type": "string", "pattern": pattern}}},
                },
            )
            for texts in (["a" * 60000 + "!"], ["a" * 30 + "?"] * 1000):
                before = time.monotonic()
                told = place.run(
                    "policy",
                    "explain",
                    "--policy",
                    path,
                    "--tool",
                    "t",
                    "--arguments",
                    json.dumps({"t": texts}),
                )
                took = time.monotonic() - before
                check(
                    told.code == 126 and "t[" in told.err and took < 20,
                    f"{pattern} holds nobody up",
                    f"{took:.1f} s: {told}"[:600],
                )


def the_file():
    plain = {
        "type": "object",
        "additionalProperties": False,
        "required": ["n"],
        "properties": {"n": {"type": "integer"}},
    }
    with Place() as place:
        path = policy(place, plain)
        first = place.run("policy", "digest", path).out.split()[0]
        expect(
            place,
            "the text has the file's digest",
            ["policy", "digest", policy(place, plain, "text")],
            0,
            first,
            stream="out",
        )
        policy(place, {**plain, "required": []})
        check(place.run("policy", "digest", path).out.split()[0] != first, "another schema is another policy")
        policy(place, plain)
        expect(place, "it is trusted with the policy", ["policy", "trust", path], 0)
        expect(place, "and used", ["tools"], 0, "t(n)", stream="out")
        write(place, "schema.json", json.dumps({**plain, "required": []}))
        expect(place, "until it changes", ["tools"], 126, "trust")
        policy(place, plain)
        os.remove(os.path.join(place.project, "schema.json"))
        expect(place, "a missing file", ["policy", "check", path], 1, "schema.json")
        os.mkfifo(os.path.join(place.project, "schema.json"))
        expect(place, "a pipe is not waited for", ["policy", "check", path], 1, "regular file")
        os.remove(os.path.join(place.project, "schema.json"))
        secret = {"token": "canary-4711", "canary-key": 1}
        write(place, "other.json", json.dumps(secret))
        os.symlink("other.json", os.path.join(place.project, "schema.json"))
        answer = place.run("policy", "check", path)
        check(
            answer.code == 1
            and "toolcage.toml:3:16: error: this is not the schema" in answer.err
            and "canary" not in answer.err + answer.out,
            "an invalid schema is not quoted",
            answer,
        )
        write(place, "other.json", '{"type": "canary-4711')
        answer = place.run("policy", "check", path)
        check(
            answer.code == 1
            and "toolcage.toml:3:16: error: this is not the JSON" in answer.err
            and "canary" not in answer.err + answer.out,
            "nor what is no JSON",
            answer,
        )
        os.remove(os.path.join(place.project, "schema.json"))
        deep = "[" * 3000 + "]" * 3000
        write(
            place,
            "schema.json",
            '{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer","enum":'
            + deep
            + "}}}",
        )
        expect(place, "a deep one is refused", ["policy", "check", path], 1, "error")
        write(place, "schema.json", " " * (4 << 20) + "{}")
        expect(place, "and a large one", ["policy", "check", path], 1, "4 MiB")


def bounds():
    def of(count, required=True):
        names = [f"p{i}" for i in range(count)]
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: {"type": "integer"} for name in names},
            "required": names if required else [],
        }

    with Place() as place:
        expect(place, "a thousand properties", ["policy", "check", policy(place, of(1024))], 0)
        for required in (True, False):
            expect(
                place,
                "more are refused",
                ["policy", "check", policy(place, of(1025, required))],
                1,
                "1024 names",
            )
        wide = {**of(1), "required": ["p0"] * 1025}
        expect(place, "and more required ones", ["policy", "check", policy(place, wide)], 1, "1024 names")
        write(place, "big.json", json.dumps({**of(1), "description": "x" * (1 << 20)}))
        tools = [f'[tool.t{i}]\ncommand = ["/bin/true"]\ninput_schema = "big.json"\n' for i in range(300)]
        expect(
            place,
            "a large schema of some tools",
            ["policy", "check", write(place, "some.toml", "".join(tools[:3]))],
            0,
        )
        answer = place.run("policy", "check", write(place, "many.toml", "".join(tools)))
        check(answer.code == 1 and "each counted once per tool" in answer.err, "is none of many", answer)


if __name__ == "__main__":
    require_user()
    beside_the_validator()
    nothing_is_passed_over()
    no_text_makes_a_match_last()
    the_file()
    bounds()
    finish()
