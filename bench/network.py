#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What an allowlist costs: a call more, a connection more, and bytes by the second, beside no cage and another proxy.

usage: bench/network.py TOOLCAGE [ROUNDS]     in a network namespace of its own, with addresses that look public"""

import contextlib
import os
import shutil
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time

INSIDE = "TOOLCAGE_BENCH_INSIDE"
ADDRESS, PORT, STREAM, KEPT, BYTES = "93.184.216.34", 8080, 8081, 8082, 1 << 28
CLIENT = """
import os, socket, sys, time
host, port, how, rounds = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
def dial():
    if how == "direct":
        return socket.create_connection((host, port))
    at = (how if how != "env" else os.environ["http_proxy"])[len("http://"):].split(":")
    s = socket.create_connection((at[0], int(at[1])))
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode())
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += s.recv(1)
    return s
times, total = [], 0
for _ in range(rounds):
    start = time.perf_counter()
    s = dial(); s.sendall(b"x\\n")
    while text := s.recv(1 << 18):
        total += len(text)
    times.append(time.perf_counter() - start)
times.sort()
print(times[len(times) // 2], total / sum(times))
"""

# Holds so many connections, all of which have been answered, and says so on its output.
HOLD = """
import socket, sys
held = []
for n in map(int, sys.stdin):
    while len(held) < n:
        held.append(socket.create_connection((sys.argv[1], int(sys.argv[2]))))
        held[-1].sendall(b"x\\n")
        held[-1].recv(100)
    print(n, flush=True)
"""

if INSIDE not in os.environ:
    os.environ[INSIDE] = "1"
    own = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    os.execvp(
        "unshare",
        ["unshare", *own, "--net", "--mount", "--propagation", "private", sys.executable, *sys.argv],
    )


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(self.request.recv(100))


class Patient(socketserver.BaseRequestHandler):
    def handle(self):
        while text := self.request.recv(100):
            self.request.sendall(text)


class Zeros(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(100)
        with contextlib.suppress(OSError):
            left = BYTES
            while left > 0:
                left -= self.request.send(CHUNK)


CHUNK = bytes(1 << 18)
STREAMS = 5  # the median of them: the first of a process is slower than the others


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128


def serve(port, handler):
    threading.Thread(target=Server((ADDRESS, port), handler).serve_forever, daemon=True).start()


def client(port, how, rounds, wrap=()):
    done = subprocess.run(
        [*wrap, "/usr/bin/python3", "-I", "-c", CLIENT, ADDRESS, str(port), how, str(rounds)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def other_proxy(where):
    """tinyproxy, where it is installed."""
    if not shutil.which("tinyproxy"):
        return None
    conf = os.path.join(where, "tinyproxy.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write(
            f"Port 3199\nListen 127.0.0.1\nMaxClients 200\nTimeout 60\nLogLevel Critical\nConnectPort {PORT}\nConnectPort {STREAM}\n"
        )
    process = subprocess.Popen(
        ["tinyproxy", "-d", "-c", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(0.5)
    return process


def starts(toolcage, policy, rounds):
    """Medians of whole calls of `true`, one after the other in turns."""
    times = {"none": [], "allowlist": []}
    for _ in range(rounds):
        for name, samples in times.items():
            start = time.perf_counter()
            subprocess.run([toolcage, "call", "--policy", policy, name], stdin=subprocess.DEVNULL, check=True)
            samples.append((time.perf_counter() - start) * 1000)
    return [statistics.median(samples) for samples in times.values()]


def proxy_memory():
    """Resident kB of the one proxy in this network."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as file:
            if file.read() == b"toolcage-egress\0" and os.readlink(f"/proc/{entry}/ns/net") == os.readlink(
                "/proc/self/ns/net"
            ):
                with open(f"/proc/{entry}/status", encoding="ascii") as status:
                    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    return 0


def memory(wrap):
    """Of one connection, in kB, and of the proxy with one."""
    few, many = 1, 401
    with subprocess.Popen(
        [*wrap, "/usr/bin/python3", "-I", "-c", HOLD, ADDRESS, str(KEPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as held:
        sizes = []
        for count in (few, many):
            held.stdin.write(f"{count}\n")
            held.stdin.flush()
            held.stdout.readline()
            sizes.append(proxy_memory())
        held.stdin.close()
    return (sizes[1] - sizes[0]) / (many - few), sizes[0]


def main():
    toolcage, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    for command in ("ip link set lo up", f"ip addr add {ADDRESS}/32 dev lo"):
        subprocess.run(command.split(), check=True)
    serve(PORT, Echo)
    serve(STREAM, Zeros)
    serve(KEPT, Patient)
    with tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        policy = os.path.join(where, "policy.toml")
        entries = (
            f'network = ["{ADDRESS}:{PORT}", "{ADDRESS}:{STREAM}", "{ADDRESS}:{KEPT}"]\ntimeout = "10m"\n'
        )
        with open(policy, "w", encoding="ascii") as file:
            file.write(
                f'[tool.none]\ncommand = ["/bin/true"]\n[tool.allowlist]\ncommand = ["/bin/true"]\n{entries}[tool.t]\n{entries}'
            )
        none, some = starts(toolcage, policy, rounds)
        print(
            f"a call: {none:.2f} ms without a network, {some:.2f} ms with an allowlist, {some - none:+.2f} ms"
        )
        wrap = [toolcage, "exec", "--policy", policy, "--tool", "t", "--"]
        ways = {
            "no cage": ("direct", ()),
            "cage, past the proxy variables": ("direct", wrap),
            "cage, CONNECT": ("env", wrap),
        }
        other = other_proxy(where)
        if other:
            ways["no cage, tinyproxy"] = ("http://127.0.0.1:3199", ())
        print(f"{'':32} connection, µs   ratio     MB/s   ratio")
        first = None
        for name, (how, around) in ways.items():
            latency, rate = (
                client(PORT, how, rounds, around)[0] * 1e6,
                BYTES / client(STREAM, how, STREAMS, around)[0] / 1e6,
            )
            first = first or (latency, rate)
            print(f"{name:32} {latency:14.0f} {latency / first[0]:7.2f} {rate:8.0f} {rate / first[1]:7.2f}")
        each, least = memory(wrap)
        print(f"the proxy's memory: {each:.1f} kB a connection, {least} kB with one")
        if other:
            other.kill()
        else:
            print("tinyproxy: not measured, it is not installed")


if __name__ == "__main__":
    main()
