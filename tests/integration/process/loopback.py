#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Services on the host's loopback, as programs reach them: many requests on one connection, both addresses of localhost, ports where nothing
listens."""

import glob
import http.server
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading

from scene import PYTHON, Skip, check, run


class Web(http.server.BaseHTTPRequestHandler):
    """Says nothing about the connection, which stays open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        text = f"{self.command} {self.path} {len(body)}\n".encode()
        self.server.served.append((self.client_address[1], self.command, self.path))
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Clients end as they like."""


class Server6(Server):
    address_family = socket.AF_INET6


def serve(kind, address):
    server = kind((address, 0), Web)
    server.served = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


WEB = serve(Server, "127.0.0.1")
PORT = WEB.server_port
try:
    ONLY6 = serve(Server6, "::1").server_port
except OSError:
    ONLY6 = None
CLOSED = closed_port()

HTTP_CLIENT = """
import http.client, sys
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=10)
for method, body in (("GET", None), ("POST", "abc"), ("GET", None)):
    c.request(method, "/x", body); print(c.getresponse().read().decode(), end="")
"""
REQUESTS = """
import sys
import requests
s = requests.Session(); s.trust_env = False
for method, body in (("GET", None), ("POST", "abc"), ("GET", None)):
    print(s.request(method, f"http://127.0.0.1:{sys.argv[1]}/x", data=body, timeout=10).text, end="")
"""
NODE = """
const http = require("http"), agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const ask = (method, body) => new Promise((done, fail) => http.request({ port: process.argv[1], host: "127.0.0.1", path: "/x", method, agent },
    answer => answer.setEncoding("utf8").on("data", text => process.stdout.write(text)).on("end", done)).on("error", fail).end(body));
(async () => { await ask("GET"); await ask("POST", "abc"); await ask("GET"); agent.destroy(); })();
"""
JAVA = """
import java.net.*; import java.net.http.*;
public class A { public static void main(String[] a) throws Exception {
    HttpClient c = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    for (String body : new String[] { null, "abc", null }) {
        HttpRequest.Builder b = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + a[0] + "/x"));
        System.out.print(c.send((body == null ? b : b.POST(HttpRequest.BodyPublishers.ofString(body))).build(), HttpResponse.BodyHandlers.ofString()).body());
    } } }
"""
GO = """
package main
import ("io"; "net/http"; "os"; "strings")
func main() {
    for _, body := range []string{"", "abc", ""} {
        method := "GET"
        if body != "" { method = "POST" }
        q, _ := http.NewRequest(method, "http://" + os.Args[1] + "/x", strings.NewReader(body))
        r, err := http.DefaultClient.Do(q)
        if err != nil { panic(err) }
        io.Copy(os.Stdout, r.Body); r.Body.Close()
    }
}
"""


def denials(answer):
    """Those that are shown to the model."""
    return [d for d in answer.json["denials"] if not d["probe"]]


THREE = "GET /x 0\nPOST /x 3\nGET /x 0\n"
with_java_and_go = "long" in sys.argv[3:]


def program(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/local/go/bin")
    if not found:
        raise Skip(f"skipped: {name} is not here")
    return found


def kept(s, what, *command, network=None, **grant):
    """Three requests of one program, on one connection to the server."""
    before = len(WEB.served)
    answer = s.call(*command, network=network or f'["127.0.0.1:{PORT}"]', writable=(), **grant)
    served = WEB.served[before:]
    check(
        answer.status == "ok" and answer.out == THREE and not denials(answer),
        f"{what}: three requests, no denial",
        answer,
    )
    check(len({port for port, _, _ in served}) == 1, f"{what}: on one connection", served)


def python(s):
    s.works("net.allow")
    kept(s, "http.client", PYTHON, "-I", "-c", HTTP_CLIENT, str(PORT))


def requests(s):
    s.works("net.allow")
    if subprocess.run([PYTHON, "-I", "-c", "import requests"], capture_output=True, check=False).returncode:
        raise Skip("skipped: the system's Python has no requests")
    kept(s, "requests", PYTHON, "-I", "-c", REQUESTS, str(PORT))


def curl(s):
    s.works("net.allow")
    program("curl")
    url = f"http://127.0.0.1:{PORT}/x"
    script = f"curl -sS {url} --next -sS -d abc {url} --next -sS {url}"
    kept(s, "curl", "sh", "-c", script)


def node(s):
    s.works("net.allow")
    kept(s, "Node.js", program("node"), "-e", NODE, str(PORT), memory='{ max = "1GiB", by = "any" }')


def java(s):
    s.works("net.allow")
    path = s.write("ws/A.java", JAVA)
    command = (program("java"), "-Xmx128m", path, str(PORT))
    kept(
        s,
        "Java, which connects to ::ffff:127.0.0.1",
        *command,
        readable=[s.ws, *glob.glob("/etc/java-*")],
        memory='{ max = "2GiB", by = "any" }',
    )


def go(s):
    """It tries ::1 first, where nothing listens."""
    s.works("net.allow")
    source, get = s.write("get.go", GO), s.path("ws", "get")
    environ = dict(os.environ, CGO_ENABLED="0", GOCACHE=s.path("cache"), HOME=s.path(), GOFLAGS="-mod=mod")
    subprocess.run([program("go"), "build", "-o", get, source], env=environ, check=True)
    os.chmod(get, 0o755)
    for entry in (f"localhost:{PORT}", f"127.0.0.1:{PORT}"):
        kept(s, f"Go, {entry}", get, f"localhost:{PORT}", network=f'["{entry}"]', readable=[s.ws])


CONNECT = """
import socket, sys
for port in sys.argv[1].split(","):
    for host in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        try:
            socket.create_connection((host, int(port)), 5).close(); print(port, host, "open")
        except OSError as error: print(port, host, error.errno)
"""
REFUSED = 111


def localhost(s):
    """A port where nothing listens is refused, on each address; and what is granted is reached."""
    s.works("net.allow")
    if ONLY6 is None:
        raise Skip("skipped: ::1 is not here")
    entries = f'["localhost:{PORT}", "localhost:{ONLY6}", "localhost:{CLOSED}"]'
    for more, how in (("", "by the filter"), ('unix_sockets = "own"\n', "by the broker")):
        answer = s.python(CONNECT, f"{PORT},{ONLY6},{CLOSED}", network=entries, writable=(), more=more)
        expected = "".join(
            f"{port} {host} {'open' if port == (ONLY6 if host == '::1' else PORT) else REFUSED}\n"
            for port in (PORT, ONLY6, CLOSED)
            for host in ("127.0.0.1", "::1", "::ffff:127.0.0.1")
        )
        check(answer.out == expected, f"{how}: both addresses are what they are outside", answer)
        check(not denials(answer), f"{how}: no denial", answer)


def other_address(s):
    """Of 127.0.0.1 and ::1 one is granted: a client of localhost finds it."""
    s.works("net.allow")
    answer = s.python(
        "import urllib.request, sys; print(urllib.request.urlopen(sys.argv[1]).read())",
        f"http://localhost:{PORT}/x",
        network=f'["127.0.0.1:{PORT}"]',
        writable=(),
    )
    check(answer.status == "ok" and "GET /x" in answer.out, "localhost where 127.0.0.1 is granted", answer)
    check("denied" not in answer.json["message"], "and the message lists no denial", answer.json["message"])


def dots(s):
    s.works("net.allow")
    program("curl")
    for options in ("", "--noproxy '*'"):
        answer = s.shell(
            f"curl -sS {options} localhost.:{PORT}/x", network=f'["localhost:{PORT}"]', writable=()
        )
        check(answer.out == "GET /x 0\n" and not denials(answer), f"localhost. {options}", answer)


class Once(socketserver.BaseRequestHandler):
    def handle(self):
        self.server.seen.append(self.request.recv(100))


def unnoticed(s):
    """The look at the host makes no connection: a service that takes one client gets the tool."""
    s.works("net.allow")
    with socketserver.TCPServer(("127.0.0.1", 0), Once) as server:
        server.seen, server.timeout = [], 10
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = server.server_address[1]
        code = (
            "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).sendall(b'me')"
        )
        answer = s.python(code, str(port), network=f'["127.0.0.1:{port}"]', writable=())
        thread.join()
        check(answer.status == "ok" and server.seen == [b"me"], "one connection, the tool's", server.seen)


run(
    *(
        [java, go]
        if with_java_and_go
        else [python, requests, curl, node, localhost, other_address, dots, unnoticed]
    )
)
