# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""An engine of this very process, whose helper has something that waits for calls."""

import os

import scene  # first: it says where the next one is
import host
from host import make
from scene import TOOLCAGE, helpers_of, until

lib = host.load(os.path.join(os.path.dirname(os.path.realpath(TOOLCAGE)), "libtoolcage.so.0"))


class Engine:
    def __init__(self, policy):
        self.policy = policy
        others = helpers_of(os.getpid())
        self.handle = make(lib.toolcage_engine_new)
        self.helper = None
        until(lambda: self.find(others), 10)

    def find(self, others):
        self.helper = next((pid for pid in helpers_of(os.getpid()) if pid not in others), None)
        return self.helper

    def close(self):
        lib.toolcage_engine_unref(self.handle)
        lib.toolcage_policy_unref(self.policy)
        return until(lambda: not os.path.exists(f"/proc/{self.helper}"))


class Call:
    def __init__(self, engine, tool, *command):
        self.handle = make(lib.toolcage_call_new, engine.handle, engine.policy, tool.encode())
        host.set_command(self.handle, *command)
        host.ask(lib.toolcage_call_start, self.handle)

    def result(self):
        return host.result(self.handle)

    def wait(self):
        host.ask(lib.toolcage_call_wait, self.handle, 60000 * scene.PATIENCE)
        answer = self.result()
        lib.toolcage_call_unref(self.handle)
        return answer
