# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A host in another language: the library under ctypes, for every script of the tests that embeds it."""

import ctypes
import json


class Failed(Exception):
    """The library's error, as it reports it."""


def load(path):
    """The library, to be load()ed once: the functions below use it."""
    global lib
    lib = ctypes.CDLL(path)
    for name in ("toolcage_error_report", "toolcage_result_json"):
        getattr(lib, name).restype = ctypes.c_char_p
    lib.toolcage_call_result.restype = ctypes.c_void_p
    for name in (
        "toolcage_error_report",
        "toolcage_error_free",
        "toolcage_result_json",
        "toolcage_call_result",
    ):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    return lib


def ask(function, *arguments):
    """Calls a fallible function; its error becomes an exception."""
    err = ctypes.c_void_p()
    code = function(*arguments, ctypes.byref(err))
    if code < 0:
        report = lib.toolcage_error_report(err).decode()
        lib.toolcage_error_free(err)
        raise Failed(report)
    return code


def make(function, *arguments):
    made = ctypes.c_void_p()
    ask(function, *arguments, ctypes.byref(made))
    return made


def policy_of(text):
    return make(
        lib.toolcage_policy_load_buffer, text.encode(), ctypes.c_size_t(len(text.encode())), b"/test.toml"
    )


def set_command(call, *words):
    ask(
        lib.toolcage_call_set_command,
        call,
        ctypes.c_size_t(len(words)),
        (ctypes.c_char_p * len(words))(*[word.encode() for word in words]),
    )


def result(call):
    return json.loads(lib.toolcage_result_json(lib.toolcage_call_result(call)))
