# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the Python package declares is what the headers declare: a C compiler takes both, types have the sizes that ctypes gives
them, and words and numbers are those of the headers. A declaration that is wrong must be found."""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

include = pathlib.Path(sys.argv[1])
CC = os.environ.get("CC", "cc").split()

from toolcage import Status  # noqa: E402
from toolcage import _native  # noqa: E402

PROGRAM = """
#include <stdio.h>
#include <toolcage/toolcage.h>
#define SAY(type) printf("%s %zu %d\\n", #type, sizeof(type), (type)-1 < (type)1)
#define CODE(name, value, word, text) printf("code %d %s\\n", -(value), word);
#define STATUS(name) printf("status %d\\n", TOOLCAGE_STATUS_##name);
int main(void)
{
    SAY(int); SAY(int32_t); SAY(int64_t); SAY(uint32_t); SAY(unsigned); SAY(size_t);
    printf("pointer %zu %zu\\n", sizeof(void *), sizeof(toolcage_output_fn));
    TOOLCAGE_ERROR_MAP(CODE)
    STATUSES
    return 0;
}
"""


def compiled(scratch, declarations):
    """What the compiler says of these beside the headers, and the program it made."""
    source, program = scratch / "declared.c", scratch / "declared"
    statuses = " ".join(f"STATUS({status.name})" for status in Status)
    source.write_text(PROGRAM.replace("STATUSES", statuses).replace("int main", declarations + "\nint main"))
    done = subprocess.run(
        [*CC, "-std=c99", "-Werror", f"-I{include}", "-c", "-o", str(program) + ".o", source],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode == 0:
        subprocess.run([*CC, "-o", program, str(program) + ".o"], check=True, timeout=60)
    return done, program


def check_types(lines):
    for name, kind in _native.SCALARS.items():
        signed = kind(-1).value < 1
        tap.check(f"{name} {ctypes.sizeof(kind)} {int(signed)}" in lines, f"{name} is that of ctypes", lines)
    pointers = {
        ctypes.sizeof(ctypes.c_void_p),
        ctypes.sizeof(ctypes.c_char_p),
        ctypes.sizeof(_native.OutputFn),
    }
    tap.check(pointers == {8} and "pointer 8 8" in lines, "pointers have one size", lines)


def check_words(lines):
    codes = dict(re.findall(r"^code (-\d+) (\w+)$", "\n".join(lines), flags=re.M))
    tap.check(
        len(codes) > 10
        and all(
            _native.text(_native.lib.toolcage_error_word(int(code))) == word for code, word in codes.items()
        ),
        "the words of errors",
        codes,
    )
    statuses = [int(line.split()[1]) for line in lines if line.startswith("status ")]
    tap.check(statuses == list(range(len(Status))), "the order of the statuses is the header's", statuses)
    header = re.findall(r"TOOLCAGE_STATUS_(\w+) =", (include / "toolcage/result.h").read_text())
    tap.check([status.name for status in Status] == header, "no status is missing", header)


def check_kinds():
    """The table as ctypes has it: what is freed by address keeps its address, what is borrowed is copied."""
    declared = _native.declared()
    tap.check(
        len(declared) == _native.DECLARATIONS.count(";"), "every line of the table was read", len(declared)
    )
    tap.check(declared["toolcage_result_json"][0] is ctypes.c_char_p, "a borrowed text is copied at once")
    tap.check(
        declared["toolcage_policy_tools_json"][1][2] == ctypes.POINTER(ctypes.c_void_p),
        "a given text keeps its address",
    )
    tap.check(
        declared["toolcage_result_output"]
        == (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_size_t)]),
        "the types of one function",
        declared["toolcage_result_output"],
    )


with tempfile.TemporaryDirectory() as directory:
    scratch = pathlib.Path(directory)
    done, program = compiled(scratch, _native.DECLARATIONS)
    if tap.check(done.returncode == 0, "the declarations and the headers agree", done.stderr):
        lines = subprocess.run(
            [program], capture_output=True, text=True, check=True, timeout=60
        ).stdout.splitlines()
        check_types(lines)
        check_words(lines)
    check_kinds()
    wrong = _native.DECLARATIONS.replace("int toolcage_call_fd", "size_t toolcage_call_fd")
    tap.check(
        wrong != _native.DECLARATIONS and compiled(scratch, wrong)[0].returncode != 0,
        "a wrong result type is found",
    )
    wrong = _native.DECLARATIONS.replace("size_t argc", "int argc")
    tap.check(
        wrong != _native.DECLARATIONS and compiled(scratch, wrong)[0].returncode != 0,
        "a wrong parameter is found",
    )
tap.finish()
