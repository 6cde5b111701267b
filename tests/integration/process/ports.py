#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""network = ["udp:host:port"] and ["host:*"]: datagrams go where an entry says and nowhere else, and each port of a granted host is one more way
to that host alone."""

import json
import socket
import socketserver

from internet import API, API6, EVIL, PRIVATE, Streams, Threaded, Web, asked, serve, shell_with, target

from scene import check, run, until  # noqa: E402  become() comes after what only root can do

got = []  # datagrams that came to the servers: (which, text)


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        text, sock = self.request
        got.append((self.server.name, text))
        sock.sendto(f"{self.server.name} heard ".encode() + text, self.client_address)


class Echo6(socketserver.UDPServer):
    address_family = socket.AF_INET6


class Named(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(f"{self.server.server_address[1]}\n".encode())


def open_servers():
    for name, address, port in (
        ("api", API, 7777),
        ("api-other", API, 7778),
        ("evil", EVIL, 7777),
        ("private", PRIVATE, 7777),
        ("local", "127.0.0.1", 7777),
        ("six", API6, 7777),
    ):
        server = (Echo6 if ":" in address else socketserver.UDPServer)((address, port), Echo)
        server.name = name
        serve(server)
    for port in (7801, 65535):
        serve(Streams((API, port), Named))
    serve(Streams((EVIL, 7801), Named))
    serve(Streams(("127.0.0.1", 7801), Named))
    serve(Threaded((API, 8000), Web))


open_servers()
shell = shell_with('["api.example.com:*"]')

# say(host, port, text) -> what comes back, or the error's name; by a socket that hears nobody else than whom it spoke to
SAY = """
import socket, sys
def say(host, port, text, family=socket.AF_INET):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(WAIT)
    try:
        s.connect((host, port))
        s.send(text.encode())
        return s.recv(65536).decode()
    except OSError as e:
        return type(e).__name__
"""


def python(s, code, entries, wait=5, **rest):
    return s.python(SAY.replace("WAIT", str(wait)) + code, network=entries, writable=(), **rest)


def datagrams(s):
    s.works("net.allow")
    answer = python(
        s,
        "print(say('api.example.com', 7777, 'one')); print(say('api.example.com', 7777, 'x' * 1400)[:15])",
        '["udp:api.example.com:7777"]',
    )
    check(
        answer.status == "ok" and answer.out == "api heard one\napi heard xxxxx\n",
        "by name, and the answer comes from whom it went to",
        answer,
    )
    usage = answer.json["usage"]
    check(
        usage["destinations"]
        == [{"target": "udp:api.example.com:7777", "connections": 2, "sent": 1403, "received": 1423}]
        and usage["egress_bytes"] == 1403,
        "usage says where to, and how much",
        usage,
    )
    answer = python(
        s,
        "print(say('six.example.com', 7777, 'a', socket.AF_INET6)); print(say('six.example.com', 7777, 'b'))",
        '["udp:six.example.com:7777"]',
    )
    check(answer.out == "six heard a\nsix heard b\n", "a host that has IPv6 alone, asked by either", answer)
    answer = python(
        s,
        f"print(say('{PRIVATE}', 7777, 'c')); print(say('localhost', 7777, 'd'))",
        f'["udp:{PRIVATE}:7777", "udp:localhost:7777"]',
    )
    check(
        answer.out == "private heard c\nlocal heard d\n",
        "an address of a private network and this machine's loopback, where they are named",
        answer,
    )
    answer = python(
        s,
        f"print(say('{EVIL}', 7777, 'e')); print(say('api.example.com', 7778, 'f'))",
        '["udp:*:7777", "udp:api.example.com:7778"]',
    )
    check(answer.out == "evil heard e\napi-other heard f\n", "any public address at a port", answer)
    answer = python(
        s,
        "a = [say('api.example.com', 7777, str(i)) for i in range(200)]; print(len(a), a[199])",
        '["udp:api.example.com:7777"]',
        more="connections = 16",
    )
    check(
        answer.status == "ok" and answer.out == "200 api heard 199\n",
        "a new socket for each question: never more at one time than connections",
        answer,
    )


def datagrams_elsewhere(s):
    s.works("net.allow")
    got.clear()
    asked.clear()
    entries = '["udp:api.example.com:7777", "udp:files.example.com:7778", "udp:mixed.example.com:7777", "udp:loop.example.com:7777", "api.example.com:80"]'
    code = f"""
print(say('api.example.com', 7778, '1'), say('files.example.com', 7777, '2'), say('evil.example', 7777, '3'), say('{EVIL}', 7777, '4'), say('127.0.0.1', 7777, '5'))
print(say('mixed.example.com', 7777, '6'), say('loop.example.com', 7777, '7'), say('{API}', 7777, '8'), say('api.example.com', 80, '9'), say('api.example.com', 53, '10'))
"""
    answer = python(s, code, entries, wait=1)
    check(
        answer.code == 0 and not got and "heard" not in answer.out,
        "another port, another name, addresses, names that lead inside: no datagram leaves",
        (answer, got),
    )
    check(
        {
            "udp:api.example.com:7778",
            "udp:files.example.com:7777",
            "udp:mixed.example.com:7777",
            "udp:loop.example.com:7777",
        }
        <= target(answer),
        "every refused datagram is a denial",
        answer,
    )
    check("evil.example" not in asked, "nobody outside was asked for a name that is not granted", asked)
    answer = python(s, "print(say('api.example.com', 7777, 'a'))", '["api.example.com:7777"]', wait=1)
    check(not got and "heard" not in answer.out, "an entry of TCP is none of UDP", (answer, got))
    answer = python(
        s,
        "\ntry: print(socket.create_connection(('api.example.com', 7801), 5).recv(9))\nexcept OSError as e: print(type(e).__name__)",
        '["udp:api.example.com:7801"]',
    )
    check(answer.out == "ConnectionRefusedError\n", "nor the other way round", answer)
    code = "s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 7777))"
    check(
        "Address already in use" in python(s, code, '["udp:api.example.com:7777"]').message,
        "a granted port is taken in the cage",
    )


def datagrams_counted(s):
    s.works("net.allow")
    got.clear()
    answer = python(
        s,
        "[say('api.example.com', 7777, 'y' * 1000) for _ in range(9)]; sys.exit(3)",
        '["udp:api.example.com:7777"]',
        wait=1,
        more='transfer = "5KB"',
    )
    check(
        answer.status == "limit"
        and answer.json["limit"] == "transfer"
        and answer.json["usage"]["egress_bytes"] <= 5000
        and len(got) < 5,
        "transfer counts them",
        (answer, len(got)),
    )
    code = "s = socket.socket(type=socket.SOCK_DGRAM)\nfor i in range(2000): s.sendto(b'z' * 1000, ('api.example.com', 7777))"
    got.clear()
    answer = python(s, code, '["udp:api.example.com:7777"]', more='bandwidth = "100KB"')
    check(
        answer.status == "ok" and 1 <= len(got) < 1000,
        "and bandwidth: what is too much is lost",
        (answer, len(got)),
    )
    got.clear()
    python(
        s,
        "s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'last', ('api.example.com', 7777))",
        '["udp:api.example.com:7777"]',
    )
    check(until(lambda: ("api", b"last") in got, 5), "a datagram sent in the last moment is delivered", got)


CONNECT = """
import socket
def to(host, port):
    try:
        with socket.create_connection((host, port), 5) as c:
            return c.recv(99).decode().strip()
    except OSError as e:
        return type(e).__name__
"""


def any_port(s):
    s.works("net.allow")
    answer = shell(
        s,
        "curl -sS http://api.example.com/a && curl -sS http://api.example.com:8000/b && curl -sS --noproxy '*' http://api.example.com:8000/c",
    )
    check(answer.status == "ok" and answer.out.count('"path"') == 3, "by the proxy and past it", answer)
    code = (
        CONNECT
        + "print(to('api.example.com', 7801), to('api.example.com', 65535), to('six.example.com', 7777))"
    )
    answer = s.python(code, network='["api.example.com:*", "six.example.com:*"]', writable=())
    check(answer.out == "7801 65535 ConnectionResetError\n", "programs that know no proxy", answer)
    check(
        {d["target"] for d in answer.json["usage"]["destinations"]}
        == {"api.example.com:7801", "api.example.com:65535"},
        "usage names the ports",
        answer.json["usage"],
    )
    answer = s.python(
        CONNECT + f"print(to('{EVIL}', 7801), to('{PRIVATE}', 80))",
        network='[{ host = "*", ports = "any" }]',
        writable=(),
    )
    check(
        answer.out.startswith("7801 ") and f"{PRIVATE}:80" in target(answer),
        "every port of every public address",
        answer,
    )


def any_port_elsewhere(s):
    s.works("net.allow")
    entries = '["api.example.com:*", "files.example.com:80"]'
    code = (
        CONNECT
        + f"""
print(to('files.example.com', 7801), to('evil.example', 7801), to('{EVIL}', 7801), to('{API}', 7801), to('127.0.0.1', 7801), to('localhost', 7801))
for port in range(3128, 3132):
    for host in ('127.0.0.1', '198.18.0.1', '::1'):
        print(to(host, port))
"""
    )
    answer = s.python(code, network=entries, writable=())
    check(
        answer.code == 0 and not [word for word in answer.out.split() if word.isdigit()],
        "another host at any port: no",
        answer,
    )
    check(
        {"files.example.com:7801", f"{EVIL}:7801"} <= target(answer), "the refused ports are denials", answer
    )
    code = (
        CONNECT
        + """
import threading
server = socket.create_server(("127.0.0.1", 7801))
threading.Thread(target=lambda: server.accept()[0].sendall(b"mine"), daemon=True).start()
print(to("127.0.0.1", 7801), to("api.example.com", 7801))
"""
    )
    answer = s.python(code, network=entries, writable=())
    check(answer.out == "mine 7801\n", "the tool's own servers have their ports", answer)
    code = (
        CONNECT
        + """
s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(1)
try:
    s.sendto(b"x", ("api.example.com", 7777)); print(s.recv(99))
except OSError as e: print(type(e).__name__)
"""
    )
    got.clear()
    check(
        s.python(code, network=entries, writable=()).code == 0 and not got,
        "ports of the policy are TCP only",
        got,
    )
    answer = shell(
        s,
        "curl -sS -m 5 -X POST http://files.example.com/; curl -sS http://files.example.com/",
        '["files.example.com:*", { host = "files.example.com", port = 80, methods = ["GET"] }]',
    )
    check(
        '"method": "GET"' in answer.out and '"method": "POST"' not in answer.out,
        "an entry of the port itself counts before that of any",
        answer,
    )
    answer = s.python("print(1)", network='["localhost:*"]', writable=())
    check(
        answer.code == 125 and "private loopback" in answer.message + json.dumps(answer.json),
        "this machine's loopback is named by its ports",
        answer,
    )


run(datagrams, datagrams_elsewhere, datagrams_counted, any_port, any_port_elsewhere)
