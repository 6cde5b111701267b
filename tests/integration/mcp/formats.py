# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage tools --format openai|anthropic|mcp as the official Python packages take it: each entry by their types, whole and nothing besides, and
one turn of each client against a server of this machine. Runs itself again under the clients' interpreter."""

import enum
import json
import re
import typing

from scene import cli, under_clients_python

under_clients_python()

import anthropic  # noqa: E402
import jsonschema  # noqa: E402
import mcp.types  # noqa: E402
import model_api  # noqa: E402
import openai  # noqa: E402
import pydantic  # noqa: E402
from anthropic.types import ToolParam  # noqa: E402
from openai.types.chat import ChatCompletionToolParam  # noqa: E402
from openai.types.shared_params import FunctionDefinition  # noqa: E402

LONGEST = "Long_name-0" + "x" * 53
HOSTILE = (
    'quote " brace } ] \\ \u2028 \u202e\x1b[2J',
    'two\nlines\t{"name": "evil"}',
    "x" * 20000,
    "</tools> \U0001f600 é",
)
POLICY = f"""
[tool.add]
title = "Adder"
description = "Adds two integers."
command = ["sh", "-c", "echo $(($1 + $2))", "add", "{{a}}", "{{b}}"]
memory = {{ max = "256MiB", by = "any" }}
arguments.a = {{ type = "integer", minimum = 0, maximum = 1000 }}
arguments.b = {{ type = "integer", exclusiveMinimum = -5, multipleOf = 2, optional = true, default = 2 }}

[tool.none]
command = ["date"]

[tool.{LONGEST}]
command = ["true"]

[tool._]
command = ["true"]

[tool.forms]
title = "Forms"
command = ["echo", "--", "{{text}}", "{{list...}}", "{{file}}", "{{host}}", "{{flag}}", "{{ratio}}", "{{one}}"]
arguments.text = {{ type = "string", minLength = 1, maxLength = 9, title = "Text", description = "a \\"text\\"\\nof two lines" }}
arguments.list = {{ type = "array", items = {{ type = "string", enum = ["a", "b\\u202e"] }}, minItems = 1, maxItems = 3, uniqueItems = true }}
arguments.file = {{ read = ["/workspace"] }}
arguments.host = {{ host = ["a.example:443"] }}
arguments.flag = {{ type = "boolean" }}
arguments.ratio = {{ type = "number", minimum = 0, maximum = 1 }}
arguments.one = {{ const = "only" }}

[tool.schema]
command = ["convert", "--", "{{name}}"]
input_schema = '''{{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false, "required": ["name"],
 "properties": {{"name": {{"type": "string", "maxLength": 80}}}}}}'''

[tool.unlisted]
description = "Has no command, so no model can call it."
"""
LISTED = {"add", "none", LONGEST, "_", "forms", "schema", *(f"hostile{i}" for i in range(len(HOSTILE)))}


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def policy_text():
    hostile = "".join(
        f'[tool.hostile{i}]\ncommand = ["true"]\ntitle = {quoted(text[:60])}\ndescription = {quoted(text)}\n'
        for i, text in enumerate(HOSTILE)
    )
    return POLICY + hostile


def entries(place, policy, form):
    answer = place.run("tools", "--policy", policy, "--format", form)
    cli.check(
        answer.code == 0 and not answer.err and answer.bytes.count(b"\n") == 1,
        f"{form}: one line and nothing else",
        answer,
    )
    return json.loads(answer.out)


def problem(function, *arguments):
    try:
        function(*arguments)
    except (pydantic.ValidationError, jsonschema.SchemaError) as error:
        return str(error)
    return ""


def strict_holds(function):
    """What the API asks of a function in strict mode: closed, and each property required, at every depth."""

    def closed(schema):
        inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
        whole = schema.get("type") != "object" or (
            schema.get("additionalProperties") is False
            and set(schema["required"]) == set(schema["properties"])
        )
        return whole and all(closed(part) for part in inner)

    return not function.get("strict") or closed(function["parameters"])


def as_openai(place, policy):
    tools = entries(place, policy, "openai")
    cli.check(
        {tool["function"]["name"] for tool in tools} == LISTED,
        "openai: every tool with a command",
        [tool["function"]["name"] for tool in tools],
    )
    entry, function = pydantic.TypeAdapter(ChatCompletionToolParam), pydantic.TypeAdapter(FunctionDefinition)
    for tool in tools:
        name = tool["function"]["name"]
        why = problem(entry.validate_python, tool) + problem(function.validate_python, tool["function"])
        cli.check(
            not why
            and set(tool) == {"type", "function"}
            and set(tool["function"]) <= set(FunctionDefinition.__annotations__),
            f"openai: {name[:20]}: the package's types, and nothing besides",
            f"{why} {tool}",
        )
        parameters = tool["function"]["parameters"]
        cli.check(
            re.fullmatch("[a-zA-Z0-9_-]{1,64}", name)
            and parameters["type"] == "object"
            and strict_holds(tool["function"])
            and not problem(jsonschema.Draft202012Validator.check_schema, parameters),
            f"openai: {name[:20]}: a name and a schema that the API takes",
            tool,
        )
    descriptions = {tool["function"]["name"]: tool["function"]["description"] for tool in tools}
    cli.check(
        all(descriptions[f"hostile{i}"] == text for i, text in enumerate(HOSTILE)),
        "openai: a description is its text",
        descriptions,
    )
    broken = [
        {**tools[0], "type": "tool"},
        {"type": "function"},
        {"type": "function", "function": {"description": "x"}},
    ]
    cli.check(
        all(problem(entry.validate_python, tool) for tool in broken),
        "openai: the types do refuse what is wrong",
    )
    return tools


def as_anthropic(place, policy):
    tools = entries(place, policy, "anthropic")
    functions = {tool["function"]["name"]: tool["function"] for tool in entries(place, policy, "openai")}
    entry = pydantic.TypeAdapter(ToolParam)
    for tool in tools:
        why = problem(entry.validate_python, tool)
        cli.check(
            not why and set(tool) == {"name", "description", "input_schema"},
            f"anthropic: {tool['name'][:20]}: the package's type holds all of it",
            f"{why} {tool}",
        )
    cli.check(
        {tool["name"]: (tool["description"], tool["input_schema"]) for tool in tools}
        == {name: (one["description"], one["parameters"]) for name, one in functions.items()},
        "anthropic: the same names, texts and schemas as openai",
        tools,
    )
    cli.check(
        problem(entry.validate_python, {"name": "x"})
        and problem(entry.validate_python, {**tools[0], "name": 1}),
        "anthropic: the type does refuse what is wrong",
    )
    return tools


def as_mcp(place, policy):
    tools = entries(place, policy, "mcp")
    cli.check(
        {tool["name"] for tool in tools} == LISTED,
        "mcp: every tool with a command",
        [tool["name"] for tool in tools],
    )
    for tool in tools:
        why = problem(mcp.types.Tool.model_validate, tool)
        again = (
            None if why else mcp.types.Tool.model_validate(tool).model_dump(by_alias=True, exclude_none=True)
        )
        cli.check(
            again == tool,
            f"mcp: {tool['name'][:20]}: the package's type holds all of it",
            f"{why}\n{tool}\n{again}",
        )
        cli.check(
            tool["inputSchema"]["type"] == "object"
            and not problem(jsonschema.Draft202012Validator.check_schema, tool["inputSchema"]),
            f"mcp: {tool['name'][:20]}: a schema",
            tool,
        )
    listed = problem(mcp.types.ListToolsResult.model_validate, {"tools": tools, "resultType": "complete"})
    cli.check(not listed, "mcp: the whole list", listed)
    cli.check(
        all(
            tool["description"] == HOSTILE[int(tool["name"][7:])]
            for tool in tools
            if tool["name"].startswith("hostile")
        ),
        "mcp: a description is its text",
    )
    cli.check(
        problem(mcp.types.Tool.model_validate, {**tools[0], "inputSchema": 1})
        and problem(mcp.types.Tool.model_validate, {"description": "x"}),
        "mcp: the type does refuse what is wrong",
    )
    both = {
        tool["function"]["name"]: tool["function"]["parameters"] for tool in entries(place, policy, "openai")
    }
    cli.check(
        {tool["name"]: tool["inputSchema"] for tool in tools} == both,
        "both formats have one schema of a tool",
    )


def openai_turn(place, policy, tools):
    """The client sends the list as it is; what a model answers goes to toolcage call."""
    with model_api.serve([[("add", {"a": 40, "b": 2})]]) as (url, asked):
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=30)
        got = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "What is 40 + 2?"}], tools=tools
        )
    cli.check(
        len(asked) == 1 and asked[0]["tools"] == tools, "openai: the client sends each entry as it is", asked
    )
    call = got.choices[0].message.tool_calls[0].function
    ran = place.run("call", "--policy", policy, call.name, call.arguments)
    cli.check(ran.code == 0 and ran.out == "42\n", "openai: what comes back is a call", ran)


def anthropic_turn(place, policy, tools):
    """The same with the Messages API, whose arguments are an object."""
    with model_api.serve([[("add", {"a": 40, "b": 2})]]) as (url, asked):
        client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=30)
        got = client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "What is 40 + 2?"}], tools=tools
        )
    cli.check(
        len(asked) == 1 and asked[0]["tools"] == tools,
        "anthropic: the client sends each entry as it is",
        asked,
    )
    block = got.content[0]
    ran = place.run("call", "--policy", policy, block.name, json.dumps(block.input))
    cli.check(ran.code == 0 and ran.out == "42\n", "anthropic: what comes back is a call", ran)


class Point(pydantic.BaseModel, extra="forbid"):
    x: float
    label: str | None = pydantic.Field(None, max_length=9)


class Asked(pydantic.BaseModel, extra="forbid"):
    """Arguments as servers in Python declare them."""

    mode: typing.Literal["fast", "slow"]
    size: enum.Enum("Size", {"SMALL": "s", "LARGE": "l"}) = "s"
    count: int | None = pydantic.Field(None, ge=1, le=9)
    tags: list[str] = []
    pair: tuple[int, str] | None = None
    at: Point | str
    path: list[Point] = pydantic.Field(min_length=1, description="Where it goes")
    code: typing.Annotated[str, pydantic.StringConstraints(pattern="^[A-Z]{2}$")] | int = "AB"


FITTING = [
    {"mode": "fast", "at": "here", "path": [{"x": 1}]},
    {
        "mode": "slow",
        "size": "l",
        "count": 9,
        "tags": ["a"],
        "pair": [1, "b"],
        "at": {"x": 0.5, "label": None},
        "path": [{"x": 2.5, "label": "b"}],
        "code": 3,
    },
    {
        "mode": "slow",
        "count": None,
        "pair": None,
        "at": {"x": -1},
        "path": [{"x": 1}, {"x": 2}],
        "code": "XY",
    },
]
WRONG = [
    {"mode": "other"},
    {"size": "m"},
    {"count": 10},
    {"count": "many"},
    {"tags": [1]},
    {"pair": [1]},
    {"pair": [1, "b", 2]},
    {"at": {"y": 1}},
    {"at": 1},
    {"path": []},
    {"path": [{"x": 1, "label": "x" * 10}]},
    {"path": None},
    {"code": "abc"},
    {"code": None},
    {"more": 1},
]


def as_pydantic_writes_it(place):
    schema = Asked.model_json_schema()
    words = json.dumps(schema)
    cli.check(
        all(word in words for word in ('"anyOf"', '"$ref"', '"$defs"', '"null"', '"prefixItems"', '"enum"')),
        "pydantic: the schema has the words in question",
        words,
    )
    place.write("home/project/asked.json", words)
    policy = place.write(
        "home/project/asked.toml", '[tool.t]\ncommand = ["cat"]\nstdin = "{*}"\ninput_schema = "asked.json"\n'
    )

    def verdict(given):
        told = place.run(
            "policy", "explain", "--policy", policy, "--tool", "t", "--arguments", json.dumps(given)
        )
        return {0: True, 126: False}.get(told.code, str(told))

    for given in FITTING:
        cli.check(
            verdict(given) is True and not problem(Asked.model_validate, given),
            f"pydantic: {json.dumps(given)[:60]} fits",
            verdict(given),
        )
    for wrong in WRONG:
        given = {**FITTING[0], **wrong}
        cli.check(
            verdict(given) is False and problem(Asked.model_validate_json, json.dumps(given)),
            f"pydantic: {wrong} does not",
            verdict(given),
        )


with cli.Place() as place:
    as_pydantic_writes_it(place)
    policy = place.write("home/project/tools.toml", policy_text())
    openai_turn(place, policy, as_openai(place, policy))
    anthropic_turn(place, policy, as_anthropic(place, policy))
    as_mcp(place, policy)
    empty = place.write("empty.toml", "[defaults]\n")
    cli.check(
        entries(place, empty, "openai") == [] and entries(place, empty, "mcp") == [],
        "no tools are an empty list",
    )
cli.finish()
