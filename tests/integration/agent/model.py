# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A model of one megabyte for llama.cpp and Ollama whose words are known beforehand.

Its single block adds nothing, so what comes next depends on the last token alone: a table of bigrams, written here. It asks for a tool
when it is spoken to, and says "Done." to what the tool gave. Which tool, and with what, the server's grammar makes of it; for a server
without one it can have whole calls by heart: what it says after the figure 0 is the first of them, and so on.
"""

import struct

WIDTH, HEADS, HIDDEN, CONTEXT = 384, 6, 32, 16384
KINDS = {"text": 1, "unknown": 2, "control": 3, "own": 4, "byte": 6}
U32, F32, BOOL, STRING, ARRAY, I32 = 4, 6, 7, 8, 9, 5
FLOAT, HALF = 0, 1

# Calls between marks, results as a user's words, and a mark of this model's own before what it says to them.
TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {{- "# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\nYou are provided with function signatures within <tools></tools> XML tags:\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" %}
        {{- '<|im_start|>assistant' }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if messages[-1].role == 'tool' %}
        {{- '<|done|>' }}
    {%- endif %}
{%- endif %}
"""


def by_heart(call):
    return f"<tool_call>\n{call}\n</tool_call>"


def vocabulary(calls=()):
    """[(token, kind)]: marks, calls, bytes, characters."""
    marks = [
        ("<unk>", "unknown"),
        ("<s>", "control"),
        ("</s>", "control"),
        ("<|im_start|>", "control"),
        ("<|im_end|>", "control"),
        ("<tool_call>", "own"),
        ("</tool_call>", "own"),
        ("<|done|>", "control"),
    ]
    return (
        marks
        + [(by_heart(call), "own") for call in calls]
        + [(f"<0x{b:02X}>", "byte") for b in range(256)]
        + [("\u2581" if c == 32 else chr(c), "text") for c in range(32, 127)]
    )


def bigrams(words, calls):
    """Rows of a table: how much each token wants to come after each."""
    at = {token: n for n, (token, _) in enumerate(words)}
    line = at["<0x0A>"]
    plain = [0.0] * len(words)
    for n, (_, kind) in enumerate(words):
        if kind in ("byte", "unknown", "control"):
            plain[n] = -20.0  # never by themselves
    for token, wish in (
        ("<tool_call>", -20),
        ("<|im_end|>", -1),
        ('"', 4),
        ("}", 3),
        ("]", 2),
        ("\\", -20),
        ("<", -20),
        ("\u2581", -8),
    ):
        plain[at[token]] = float(wish)
    table = [list(plain) for _ in words]
    table[at["}"]][at["</tool_call>"]] = 6.0
    table[line][at["<tool_call>"]] = 12.0
    table[at["<tool_call>"]][line] = 14.0
    table[at["</tool_call>"]][at["<|im_end|>"]] = 12.0
    for said in (
        ["<|done|>", *"Done.", "<|im_end|>"],
        *([str(n), by_heart(call), "<|im_end|>"] for n, call in enumerate(calls)),
    ):
        for before, then in zip(said, said[1:]):
            table[at[before]][at[then]] = 14.0
    return table


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, what):
    if kind == STRING:
        return string(what)
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], what)


def pairs(words):
    """What a file of this format says of the model, in its order."""
    llama = [
        ("context_length", CONTEXT),
        ("embedding_length", WIDTH),
        ("block_count", 1),
        ("feed_forward_length", HIDDEN),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", 1),
        ("rope.dimension_count", WIDTH // HEADS),
        ("vocab_size", len(words)),
    ]
    return [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "bigram"),
        *((f"llama.{name}", U32, n) for name, n in llama),
        ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", (ARRAY, STRING), [token for token, _ in words]),
        ("tokenizer.ggml.scores", (ARRAY, F32), [0.0] * len(words)),
        ("tokenizer.ggml.token_type", (ARRAY, I32), [KINDS[kind] for _, kind in words]),
        ("tokenizer.ggml.bos_token_id", U32, 1),
        ("tokenizer.ggml.eos_token_id", U32, 4),
        ("tokenizer.ggml.unknown_token_id", U32, 0),
        ("tokenizer.ggml.add_bos_token", BOOL, True),
        ("tokenizer.ggml.add_space_prefix", BOOL, False),
        ("tokenizer.chat_template", STRING, TEMPLATE),
    ]


def tensors(words, calls):
    """[(name, shape, type, numbers)], the fastest dimension first."""
    table, root = bigrams(words, calls), WIDTH**0.5
    embedding = [float(n == m) for n in range(len(words)) for m in range(WIDTH)]  # one token, one direction
    # the norm makes that direction as long as the root of the width
    output = [table[m][n] / root if m < len(words) else 0.0 for n in range(len(words)) for m in range(WIDTH)]
    yield "token_embd.weight", (WIDTH, len(words)), HALF, embedding
    yield "output.weight", (WIDTH, len(words)), HALF, output
    yield "output_norm.weight", (WIDTH,), FLOAT, [1.0] * WIDTH
    for name in ("attn_norm", "ffn_norm"):
        yield f"blk.0.{name}.weight", (WIDTH,), FLOAT, [1.0] * WIDTH
    head = WIDTH // HEADS
    for name, shape in (
        ("attn_q", (WIDTH, WIDTH)),
        ("attn_k", (WIDTH, head)),
        ("attn_v", (WIDTH, head)),
        ("attn_output", (WIDTH, WIDTH)),
        ("ffn_gate", (WIDTH, HIDDEN)),
        ("ffn_up", (WIDTH, HIDDEN)),
        ("ffn_down", (HIDDEN, WIDTH)),
    ):
        yield f"blk.0.{name}.weight", shape, HALF, [0.0] * (shape[0] * shape[1])


def write(path, calls=()):
    words, kept, place = vocabulary(calls), [], 0
    head = b""
    for name, kind, what in pairs(words):
        if isinstance(kind, tuple):
            head += (
                string(name)
                + struct.pack("<IIQ", ARRAY, kind[1], len(what))
                + b"".join(value(kind[1], one) for one in what)
            )
        else:
            head += string(name) + struct.pack("<I", kind) + value(kind, what)
    info = b""
    for name, shape, kind, numbers in tensors(words, calls):
        data = struct.pack(f"<{len(numbers)}{'e' if kind == HALF else 'f'}", *numbers)
        info += (
            string(name)
            + struct.pack("<I", len(shape))
            + b"".join(struct.pack("<Q", n) for n in shape)
            + struct.pack("<IQ", kind, place)
        )
        kept.append(data + b"\0" * (-len(data) % 32))
        place += len(kept[-1])
    begin = b"GGUF" + struct.pack("<IQQ", 3, len(kept), len(pairs(words))) + head + info
    with open(path, "wb") as file:
        file.write(begin + b"\0" * (-len(begin) % 32) + b"".join(kept))
