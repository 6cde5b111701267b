# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""libtoolcage under ctypes: what is declared here is held against the headers by a C compiler (tests/bindings).

No structure crosses: every object is a pointer that only the library looks behind. Whatever text goes in passes encode(), because
C would end it at its first NUL.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
from typing import Any

from ._error import Error, Location, UsageError, error_class

# Each line as the headers have it, but for the names of parameters.
DECLARATIONS = """
const char *toolcage_version(void);
void toolcage_free(void *text);

int32_t toolcage_error_code(const struct toolcage_error *err);
const char *toolcage_error_word(int32_t code);
const char *toolcage_error_message(const struct toolcage_error *err);
const char *toolcage_error_hint(const struct toolcage_error *err);
const char *toolcage_error_stage(const struct toolcage_error *err);
const char *toolcage_error_subject(const struct toolcage_error *err);
int32_t toolcage_error_errno(const struct toolcage_error *err);
void toolcage_error_location(const struct toolcage_error *err, const char **file, uint32_t *line, uint32_t *column);
const char *toolcage_error_report(const struct toolcage_error *err);
void toolcage_error_free(struct toolcage_error *err);

int toolcage_engine_new(struct toolcage_engine **ret, struct toolcage_error **err);
struct toolcage_engine *toolcage_engine_unref(struct toolcage_engine *engine);
int toolcage_engine_doctor_json(struct toolcage_engine *engine, char **json, struct toolcage_error **err);
int toolcage_engine_changes_json(struct toolcage_engine *engine, const char *call, size_t path_count, const char *const paths[], char **json, struct toolcage_error **err);
int toolcage_engine_settle_json(struct toolcage_engine *engine, const char *call, int32_t settle, size_t path_count, const char *const paths[], char **json, struct toolcage_error **err);
int toolcage_engine_settle_seen_json(struct toolcage_engine *engine, const char *call, int32_t settle, const char *digest, size_t path_count, const char *const paths[], char **json, struct toolcage_error **err);
int toolcage_engine_sessions_json(struct toolcage_engine *engine, char **json, struct toolcage_error **err);
int toolcage_engine_end_sessions_json(struct toolcage_engine *engine, const char *name, char **json, struct toolcage_error **err);

int toolcage_policy_load_file(const char *path, struct toolcage_policy **ret, struct toolcage_error **err);
int toolcage_policy_load_buffer(const char *text, size_t length, const char *name, struct toolcage_policy **ret, struct toolcage_error **err);
int toolcage_policy_new_default(struct toolcage_policy **ret, struct toolcage_error **err);
int toolcage_policy_new_preset(const char *name, struct toolcage_policy **ret, struct toolcage_error **err);
struct toolcage_policy *toolcage_policy_unref(struct toolcage_policy *policy);
const char *toolcage_policy_digest(const struct toolcage_policy *policy);
int toolcage_policy_tools_json(const struct toolcage_policy *policy, const char *format, char **json, struct toolcage_error **err);

int toolcage_call_new(struct toolcage_engine *engine, struct toolcage_policy *policy, const char *tool, struct toolcage_call **ret, struct toolcage_error **err);
struct toolcage_call *toolcage_call_unref(struct toolcage_call *call);
const char *toolcage_call_id(const struct toolcage_call *call);
int toolcage_call_set_command(struct toolcage_call *call, size_t argc, const char *const argv[], struct toolcage_error **err);
int toolcage_call_set_arguments_json(struct toolcage_call *call, const char *json, struct toolcage_error **err);
int toolcage_call_set(struct toolcage_call *call, const char *key, const char *value, struct toolcage_error **err);
int toolcage_call_set_session(struct toolcage_call *call, const char *name, struct toolcage_error **err);
int toolcage_call_set_stdin(struct toolcage_call *call, const void *bytes, size_t length, struct toolcage_error **err);
int toolcage_call_open_stdin(struct toolcage_call *call, int *fd, struct toolcage_error **err);
int toolcage_call_set_terminal(struct toolcage_call *call, int rows, int columns, struct toolcage_error **err);
int toolcage_call_resize(struct toolcage_call *call, int rows, int columns, struct toolcage_error **err);
int toolcage_call_set_output_callback(struct toolcage_call *call, toolcage_output_fn fn, void *userdata, struct toolcage_error **err);
int toolcage_call_approval_json(struct toolcage_call *call, char **json, struct toolcage_error **err);
int toolcage_call_approve(struct toolcage_call *call, const char *digest, struct toolcage_error **err);
int toolcage_call_approve_again(struct toolcage_call *call, const char *digest, int64_t count, struct toolcage_error **err);
int toolcage_call_deny(struct toolcage_call *call, const char *reason, struct toolcage_error **err);
int toolcage_call_start(struct toolcage_call *call, struct toolcage_error **err);
int toolcage_call_fd(const struct toolcage_call *call);
int toolcage_call_dispatch(struct toolcage_call *call, struct toolcage_error **err);
int toolcage_call_cancel(struct toolcage_call *call);
const struct toolcage_result *toolcage_call_result(const struct toolcage_call *call);
int toolcage_call_explain_json(struct toolcage_call *call, const char *access, char **json, struct toolcage_error **err);

int toolcage_session_open(struct toolcage_call *call, int64_t idle_ms, int64_t lifetime_ms, struct toolcage_error **err);
int toolcage_session_wait(struct toolcage_call *session, int timeout_ms, struct toolcage_error **err);
int toolcage_session_ports_json(const struct toolcage_call *session, char **json, struct toolcage_error **err);
int toolcage_session_call(const struct toolcage_call *session, struct toolcage_call **ret, struct toolcage_error **err);
int toolcage_session_shell(struct toolcage_call *call, const char *text, struct toolcage_error **err);
int toolcage_session_signal(struct toolcage_call *call, int number, struct toolcage_error **err);
int toolcage_session_end(struct toolcage_call *session, struct toolcage_error **err);
int toolcage_session_put(struct toolcage_call *call, const char *path, unsigned mode, unsigned flags, int *stream, struct toolcage_error **err);
int toolcage_session_get(struct toolcage_call *call, const char *path, int64_t most, unsigned flags, int *stream, struct toolcage_error **err);
int toolcage_session_list(struct toolcage_call *call, const char *path, int *stream, struct toolcage_error **err);
int toolcage_session_stat(struct toolcage_call *call, const char *path, struct toolcage_error **err);
int toolcage_session_remove(struct toolcage_call *call, const char *path, unsigned flags, struct toolcage_error **err);
int toolcage_stream_send(int stream, int fd, const char *name, struct toolcage_error **err);
int toolcage_stream_receive(int stream, int fd, const char *name, int64_t most, struct toolcage_received *ret, struct toolcage_error **err);

int32_t toolcage_result_status(const struct toolcage_result *result);
int32_t toolcage_result_exit_code(const struct toolcage_result *result);
int32_t toolcage_result_signal(const struct toolcage_result *result);
const char *toolcage_result_limit(const struct toolcage_result *result);
int32_t toolcage_result_shell_code(const struct toolcage_result *result);
const void *toolcage_result_output(const struct toolcage_result *result, int stream, size_t *length);
const char *toolcage_result_message(const struct toolcage_result *result);
const struct toolcage_error *toolcage_result_error(const struct toolcage_result *result);
const char *toolcage_result_json(const struct toolcage_result *result);
"""

#: userdata, stream, bytes, length
OutputFn = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)

SCALARS = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "unsigned": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
}
DECLARATION = re.compile(r"^(.+?)(toolcage_\w+)\((.*)\);$", re.MULTILINE)


def ctype(text: str) -> Any:
    """The ctypes type for a C type of the table. Text that the library gives away must be freed by its address: `char **` is one."""
    depth, given = text.count("*") + text.count("[]"), "const" not in text
    base = re.sub(r"\bconst\b|\bstruct\b|[*\[\]]", " ", text).split()[0]
    if base == "toolcage_output_fn":
        return OutputFn
    if base in SCALARS:
        return ctypes.POINTER(SCALARS[base]) if depth else SCALARS[base]
    one: Any = ctypes.c_char_p if base == "char" and not (given and depth > 1) else ctypes.c_void_p
    return None if base == "void" and not depth else one if depth == 1 else ctypes.POINTER(one)


def declared() -> dict[str, tuple[Any, list[Any]]]:
    """Every function of the table, with the types of its result and of its parameters."""
    table = {}
    for result, name, parameters in DECLARATION.findall(DECLARATIONS):
        words = [] if parameters == "void" else parameters.split(", ")
        table[name] = (ctype(result), [ctype(re.sub(r"\w+(\[\])?$", r"\1", word)) for word in words])
    return table


def _path() -> str:
    """Where the library is: said by the environment, brought by the wheel, or the system's own."""
    said = os.environ.get("TOOLCAGE_LIBRARY")
    brought = pathlib.Path(__file__).resolve().parent / "_native" / "libtoolcage.so.0"
    if said and not os.path.isabs(said):
        raise ImportError(f"TOOLCAGE_LIBRARY must be an absolute path, and is {said!r}")
    return said or (str(brought) if brought.exists() else "libtoolcage.so.0")


def _load() -> Any:
    path = _path()
    try:
        library = ctypes.CDLL(path)
        for name, (result, parameters) in declared().items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, parameters
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"{path} cannot be used: {error}; install a wheel of toolcage for this machine (glibc 2.36 or newer), "
            "or libtoolcage0 of the same version"
        ) from error
    return library


lib = _load()


def text(value: bytes | None) -> str:
    """Words of the library. A path in them may be no UTF-8."""
    return (value or b"").decode("utf-8", "backslashreplace")


def encode(value: str | bytes | os.PathLike[str] | os.PathLike[bytes], what: str) -> bytes:
    """A name, a path or a word for the library, refused where C would read only its beginning."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise UsageError(
            "usage",
            f"{what} holds a NUL byte, where every reader after this one would end it",
            hint="leave it out",
        )
    return encoded


def error_of(pointer: Any) -> Error:
    """The library's error as an exception; stays the library's."""
    file, line, column = ctypes.c_char_p(), ctypes.c_uint32(), ctypes.c_uint32()
    lib.toolcage_error_location(pointer, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column))
    code = text(lib.toolcage_error_word(lib.toolcage_error_code(pointer)))
    return error_class(code)(
        code,
        text(lib.toolcage_error_message(pointer)),
        hint=text(lib.toolcage_error_hint(pointer)),
        stage=text(lib.toolcage_error_stage(pointer)),
        subject=text(lib.toolcage_error_subject(pointer)),
        errno=lib.toolcage_error_errno(pointer),
        report=text(lib.toolcage_error_report(pointer)),
        location=Location(text(file.value), line.value, column.value) if file.value else None,
    )


def ask(function: Any, *arguments: Any) -> int:
    """Calls a function that may fail; its error is raised."""
    err = ctypes.c_void_p()
    code: int = function(*arguments, ctypes.byref(err))
    if code >= 0:
        return code
    try:
        raise error_of(err)
    finally:
        lib.toolcage_error_free(err)


def make(function: Any, *arguments: Any) -> Any:
    """An object that a function makes; the caller's to give back."""
    made = ctypes.c_void_p()
    ask(function, *arguments, ctypes.byref(made))
    return made


def ask_json(function: Any, *arguments: Any) -> bytes:
    """Text that a function makes, copied and freed."""
    made = make(function, *arguments)
    try:
        return ctypes.string_at(made.value)
    finally:
        lib.toolcage_free(made)
