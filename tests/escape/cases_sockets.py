# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks of a tool that has unix sockets, its own or a granted one: on the host's others, and on whoever connects in its place."""

import os
import socket
import struct
import threading

from scene import CAGED

PYTHON = "/usr/bin/python3"
OWN = 'unix_sockets = "own"'
APART = {"apart": "its backend takes no grant of unix sockets"}
SEND = "import socket,sys\ns=socket.socket(socket.AF_UNIX,int(sys.argv[3]))\ns.connect(sys.argv[1])\ns.send(sys.argv[2].encode())"


def host(s, kind=socket.SOCK_STREAM, name="data/docker.sock"):
    """A server outside, in a directory that the tool sees."""
    address = s.path(name)
    return address, s.listen(socket.AF_UNIX, kind, address)[1]


def elsewhere(s):
    """A directory of the host that a tool with sockets may write is not shown below /tmp. Where the tool sees it."""
    s.writable = [f'{{ path = "/workspace", from = "{s.path("ws")}" }}']
    return "/workspace" if s.how == CAGED else s.path("ws")


def by(attack, kind=socket.SOCK_STREAM, name="data/docker.sock", more=OWN):
    def run(s):
        s.more = more
        address, arrived = host(s, kind, name)
        work = elsewhere(s) if more == OWN else s.path("ws")
        s.attack("sockets", attack, address.replace(s.path("ws"), work), s.token)
        return arrived()

    return run


def by_abstract(attack, kind):
    def run(s):
        s.more = OWN
        elsewhere(s)
        name = os.path.basename(s.root)
        _, arrived = s.listen(socket.AF_UNIX, kind, "\0" + name)
        s.attack("sockets", attack, "@" + name, s.token)
        return arrived()

    return run


def beside_a_granted_one(s):
    """By links, and by names that lead there: "..", the root of a process, a descriptor of the directory."""
    host(s, name="data/granted")
    address, arrived = host(s)
    s.more = f'unix_sockets = ["{s.path("data/granted")}"]'
    elsewhere(s)
    code = """
import os, socket, sys
data, token = sys.argv[1:]
os.symlink(data + "/docker.sock", "link")
d = os.open(data, os.O_RDONLY)
for name in ("link", data + "/granted/../docker.sock", data + "/../data/docker.sock", f"/proc/self/fd/{d}/docker.sock",
             f"/proc/self/root{data}/docker.sock", f"/proc/1/root{data}/docker.sock"):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(name)
        s.send(token.encode())
    except OSError as error:
        print(name, error)
os.chdir(data)
s = socket.socket(socket.AF_UNIX)
s.connect("docker.sock")
s.send(token.encode())
"""
    s.call(PYTHON, "-I", "-c", code, os.path.dirname(address), s.token)
    return arrived()


def the_helper_lends_its_identity(s):
    """A server of the machine that serves root alone."""
    address = s.path("data/granted")
    sock, _ = s.listen(socket.AF_UNIX, socket.SOCK_STREAM, address)
    s.more = f'unix_sockets = ["{address}"]'
    elsewhere(s)
    seen = []

    def serve():
        try:
            peer, _ = sock.accept()
            seen.append(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))
            peer.close()
        except OSError:
            pass

    sock.settimeout(10)
    server = threading.Thread(target=serve)
    server.start()
    s.call(PYTHON, "-I", "-c", SEND, address, s.token, str(int(socket.SOCK_STREAM)))
    server.join()
    assert seen, f"nobody came: {s.answer}"
    return 0 in seen[0][1:]


def a_gift_reaches_further(s):
    """A granted server hands over a socket of the host's own network, and the tool connects it."""
    address = s.path("data/granted")
    sock, _ = s.listen(socket.AF_UNIX, socket.SOCK_STREAM, address)
    name = os.path.basename(s.root)
    _, arrived = s.listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + name)
    s.more = f'unix_sockets = ["{address}"]'
    elsewhere(s)

    def serve():
        try:
            peer, _ = sock.accept()
            with peer, socket.socket(socket.AF_UNIX) as gift:
                socket.send_fds(peer, [b"x"], [gift.fileno()])
                peer.recv(1)
        except OSError:
            pass

    sock.settimeout(10)
    server = threading.Thread(target=serve)
    server.start()
    code = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
gift = socket.socket(fileno=socket.recv_fds(s, 1, 1)[1][0])
print("a gift", flush=True)
gift.connect("\\0" + sys.argv[2])
gift.send(sys.argv[3].encode())
"""
    assert "a gift" in s.call(PYTHON, "-I", "-c", code, address, name, s.token), s.answer
    server.join()
    return arrived()


def a_socket_is_planted(s):
    """Where a program of the host looks for its server, one of the tool's listens. In an overlay it may, where no host sees it."""
    s.more = OWN
    address = os.path.join(elsewhere(s), "daemon.ipc")
    code = "import socket,sys,time\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\nprint('bound')"
    bound = "bound" in s.call(PYTHON, "-I", "-c", code, address)
    return bound and (bool(s.mode) or os.path.lexists(s.path("ws/daemon.ipc")))


def toolcage_itself_is_reached(s):
    """A socket in toolcage's own state, granted by a careless operator."""
    state = s.path("home/.local/state/toolcage")
    os.makedirs(state)
    address, arrived = host(s, name="home/.local/state/toolcage/control")
    s.more = f'unix_sockets = ["{address}"]' if s.how == CAGED else ""
    try:
        s.call(PYTHON, "-I", "-c", SEND, address, s.token, str(int(socket.SOCK_STREAM)))
    except Exception as refused:  # pylint: disable=broad-except
        assert "toolcage's own" in str(refused), refused
        return False
    return arrived()


STREAM, DGRAM, SEQPACKET = socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET
CASES = [
    ("with unix sockets: a server in a readable directory", by("unix-stream"), APART),
    (
        "with unix sockets: a server in the workspace",
        by("unix-stream", name="ws/socket"),
        {"in_place": "too", **APART},
    ),
    (
        "with unix sockets: a server in an overlaid workspace",
        by("unix-stream", name="ws/socket", more=f'{OWN}\nworkspace = {{ mode = "overlay" }}'),
        APART,
    ),
    ("with unix sockets: a datagram server", by("unix-datagram", DGRAM), APART),
    ("with unix sockets: a datagram server, from a socket pair", by("unix-pair", DGRAM), APART),
    ("with unix sockets: an abstract server", by_abstract("unix-stream", STREAM), APART),
    ("with unix sockets: an abstract datagram server", by_abstract("unix-pair", DGRAM), APART),
    ("the socket is swapped while it is connected", by("race-number"), APART),
    ("the address is swapped while it is connected", by("race-address"), APART),
    ("the name is swapped while it is connected", by("race-name"), APART),
    ("a server next to a granted one", beside_a_granted_one, APART),
    ("the helper lends its identity to a connection", the_helper_lends_its_identity, {"root": True, **APART}),
    ("a socket from a granted server reaches an abstract name of the host", a_gift_reaches_further, APART),
    ("a socket is planted in the workspace", a_socket_is_planted, {"in_place": "too", **APART}),
    ("toolcage's own socket is granted", toolcage_itself_is_reached, {"alike": "the policy", **APART}),
]
