# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks on files: reading and writing what is not granted, and leaving things behind that act later."""

import hashlib
import os
import resource
import stat
import subprocess
import threading
import time

from scene import CAGED, DIRECT, MINUTE, Missing, Refused

SHELL = "/bin/sh"


def files_below(root):
    for directory, names, files in os.walk(root):
        for name in names + files:
            yield os.path.join(directory, name)


def a_secret_outside_is_read(s):
    """A file that any user may read, but that nothing grants."""
    return s.token in s.attack(
        "files",
        "read",
        s.secret,
        s.path("ws/../secret/canary"),
        "/proc/1/root" + s.secret,
        "/proc/self/root" + s.secret,
        "/proc/1/cwd/../secret/canary",
    )


SWAP = """
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
names = [name.encode().ljust(4000, b"\\0") for name in sys.argv[1:]]
path = ctypes.create_string_buffer(names[0], 4001)
end = time.monotonic() + float(os.environ.get("SECONDS", "1"))
def swap():
    while time.monotonic() < end:
        ctypes.memmove(path, names[1], 4000)
        ctypes.memmove(path, names[0], 4000)
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    fd = libc.open(path, 0)
    if fd >= 0:
        text = os.read(fd, 4096)
        os.close(fd)
        if b"allowed" not in text:
            print(text.decode())
            break
thread.join()
"""


def a_path_is_swapped_while_it_is_observed(s):
    """One thread opens a path, another changes it in memory between the supervisor's look and the kernel's."""
    s.more = "" if s.sentry else 'denials = "paths"'
    allowed = s.write("data/allowed", "allowed")
    return s.token in s.call("/usr/bin/python3", "-I", "-c", SWAP, allowed, s.secret)


def an_attribute_outside_is_read(s):
    """An extended attribute of a file that any user may read, but that nothing grants: its value, or that it is there."""
    try:
        os.setxattr(s.secret, "user.note", s.token.encode())
    except OSError as why:
        raise Missing(f"this file system has no attributes: {why}") from why
    said = s.attack("files", "read-attributes", s.secret, "user.note")
    return s.token in said or "user.note" in said


def a_file_outside_is_written(s):
    s.call(
        SHELL,
        "-c",
        f"echo changed > {s.secret}; ln {s.secret} {s.path('ws/hard')}; mv {s.secret} {s.path('ws/moved')}",
    )
    return not os.path.exists(s.secret) or s.read("secret/canary") != s.token


def a_readable_file_is_written(s):
    s.write("data/file", "original", 0o666)
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('data')}; echo changed > file; chmod 777 file; mv file other; rm -f file; touch new",
    )
    return sorted(os.listdir(s.path("data"))) != ["file"] or s.read("data/file") != "original"


def has_set_id_files(root):
    """The set-group-id bit of a directory, which an overlay may set, gives no rights."""
    modes = [os.lstat(name).st_mode for name in files_below(root)]
    return any(mode & (stat.S_ISUID if stat.S_ISDIR(mode) else stat.S_ISUID | stat.S_ISGID) for mode in modes)


def a_set_id_file_is_left(s):
    s.attack("files", "set-id", s.path("ws/tool"))
    return has_set_id_files(s.path("ws"))


def a_file_capability_is_left(s):
    s.attack("files", "file-capability", s.path("ws/tool"))
    return os.path.exists(s.path("ws/tool")) and "security.capability" in os.listxattr(s.path("ws/tool"))


def a_lease_holds_up_the_host(s):
    """Every open() of the file would wait until the call ends, or the machine's time for it is over."""
    return "GOT" in s.attack("files", "lease", s.write("ws/notes", "mine", 0o666))


def a_device_node_is_left(s):
    s.attack("files", "device", s.path("ws/node"))
    return any(
        stat.S_ISCHR(os.lstat(name).st_mode) or stat.S_ISBLK(os.lstat(name).st_mode)
        for name in files_below(s.path("ws"))
    )


def a_device_node_is_opened(s):
    """Somebody with root's rights has left it where the tool may read and write."""
    node = s.path("ws/zero")
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.chmod(node, 0o666)
    return "GOT" in s.attack("files", "read", node)


def kernel_files_open_for_writing(s):
    """What turns root without capabilities, or with them, into the owner of the machine."""
    names = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/proc/sys/vm/drop_caches",
        "/etc/passwd",
        "/etc/ld.so.preload",
        "/usr/bin/env",
        "/dev/kmsg",
        "/dev/mem",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/fs/nr_open",
    ]
    return "GOT" in s.attack("files", "open-for-writing", *names)


def own_limits_are_lifted_by_proc(s):
    """Of PID 1, which has the tool's id or root's; outside, of another process of one's own."""
    pid = 1 if s.how == CAGED else s.victim()[0].pid
    names = [
        "oom_score_adj",
        "mem",
        "uid_map",
        "setgroups",
        "clear_refs",
        "coredump_filter",
        "timens_offsets",
        "comm",
    ]
    # two of gVisor's open, and are no more than numbers of its own: nothing reads the one, the other is written once
    names = [name for name in names if not s.sentry or name not in ("oom_score_adj", "uid_map")]
    return "GOT" in s.attack("files", "open-for-writing", *[f"/proc/{pid}/{name}" for name in names])


def host_accounts_are_read(s):
    answer = s.attack("files", "read", "/etc/shadow", "/etc/gshadow", "/root/.bashrc", "/root/.profile")
    return "GOT" in answer


def a_stray_file_of_etc_is_read(s):
    """World-readable, beside the settings that every cage shows, but no package's."""
    name = "toolcage-stray-" + os.path.basename(s.root)
    places = [f"/etc/{name}", f"/etc/fonts/{name}", f"/etc/vim/{name}", f"/etc/java-17-openjdk/{name}"]
    strays = [path for path in places if os.path.isdir(os.path.dirname(path))]
    try:
        for path in strays:
            with open(path, "w", encoding="utf-8") as file:
                file.write(s.token)
            os.chmod(path, 0o644)
        return s.token in s.attack("files", "read", *strays)
    finally:
        for path in strays:
            if os.path.exists(path):
                os.unlink(path)


def a_file_is_opened_by_handle(s):
    handle = s.outside("files", "handle-of", s.secret).split()
    if len(handle) != 2 or "missed" in handle:
        raise Missing("name_to_handle_at does not work on this file system")
    return s.token in s.attack("files", "open-handle", *handle, s.path("ws"))


def descriptors_are_inherited(s):
    with open(s.secret, encoding="utf-8") as file:
        copy = os.dup2(file.fileno(), 77, inheritable=True)
        try:
            return s.token in s.attack("files", "descriptors", pass_fds=(copy,))
        finally:
            os.close(copy)


def a_directory_is_inherited(s):
    """One open directory of the host is a way to everything below and above it."""
    directory = os.dup2(os.open(s.path("secret"), os.O_RDONLY), 78, inheritable=True)
    try:
        code = "import os\nfor p in ('canary', '../secret/canary'): print(os.read(os.open(p, os.O_RDONLY, dir_fd=78), 99))"
        return s.token in s.call("/usr/bin/python3", "-c", code, pass_fds=(directory,))
    finally:
        os.close(directory)


def standard_input_is_rewritten(s):
    """A file that was opened for reading only, by whoever calls."""
    name = s.write("ws/../input", "original", 0o666)
    with open(name, encoding="utf-8") as file:
        s.attack("files", "rewrite-stdin", "changed!", stdin=file)
    return s.read("input") != "original"


def a_planted_link_is_followed(s):
    """One tool puts a link in the place of a directory; the next tool's grant goes through it."""
    os.mkdir(s.path("ws/shared"), 0o777)
    s.call(SHELL, "-c", f"cd {s.path('ws')} && rmdir shared && ln -s ../secret shared")
    s.readable.append(s.path("ws/shared"))
    try:
        return s.token in s.call("/bin/cat", s.path("ws/shared/canary"))
    except Refused:
        return False


def a_planted_link_in_a_parent_is_followed(s):
    os.makedirs(s.path("ws/a/secret"))
    s.call(SHELL, "-c", f"cd {s.path('ws')} && mv a b && ln -s .. a")
    s.readable.append(s.path("ws/a/secret"))
    try:
        return s.token in s.call("/bin/cat", s.path("ws/a/secret/canary"))
    except Refused:
        return False


def a_link_is_raced(s):
    """A directory and a link to the secret change places all the time while grants are resolved."""
    os.mkdir(s.path("ws/real"))
    s.write("ws/real/canary", "harmless")
    os.symlink("../secret", s.path("ws/link"))
    os.symlink("real", s.path("ws/spin"))
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            for target in ("real", "../secret"):
                os.symlink(target, s.path("ws/next"))
                os.rename(s.path("ws/next"), s.path("ws/spin"))

    s.readable.append(s.path("ws/spin"))
    thread = threading.Thread(target=spin)
    thread.start()
    found = False
    try:
        for _ in range(20):
            try:
                found = found or s.token in s.call("/bin/cat", s.path("ws/spin/canary"))
            except Refused:
                continue
    finally:
        stop.set()
        thread.join()
    return found


def git_repository(s):
    subprocess.run(
        ["git", "init", "-q", s.path("ws")], check=True, env={**s.environ, "GIT_CONFIG_NOSYSTEM": "1"}
    )


def a_git_hook_is_planted(s):
    """Each way to get a hook or a configuration into an existing repository."""
    git_repository(s)
    before = s.read("ws/.git/config")
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; printf '#!/bin/sh\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout;"
        "echo '[core]' >> .git/config; git config core.fsmonitor 'touch /tmp/x'; mv .git/hooks .git/old;"
        "mkdir -p .git/hooks; printf '#!/bin/sh\\n' > .git/hooks/post-checkout; mv .git/config .git/was;"
        "printf '[alias]\\nx = !touch' > .git/config;"
        "mv .git .git.old; mkdir -p .git/hooks; printf '#!/bin/sh\\n' > .git/hooks/post-checkout",
    )
    return os.path.exists(s.path("ws/.git/hooks/post-checkout")) or s.read("ws/.git/config") != before


def the_home_has_two_names(s):
    """The home is named by a link, and granted by what the link leads to."""
    os.symlink("home", s.path("link"))
    s.environ["HOME"] = s.path("link")
    s.write("home/.ssh/id_rsa", s.token)
    for name in (".local/state/toolcage", ".config/toolcage", ".local/share/toolcage"):
        os.makedirs(s.path("home", name), 0o700, exist_ok=True)
    s.writable = [s.path("home")]
    planted = [
        s.path("home", name)
        for name in (
            ".local/state/toolcage/trust",
            ".config/toolcage/toolcage.toml",
            ".local/share/toolcage/images",
        )
    ]
    out = s.call(
        SHELL,
        "-c",
        f"cat {s.path('home/.ssh/id_rsa')}; for name in {' '.join(planted)}; do echo planted > $name; done; true",
        cwd="/",
    )
    return s.token in out or any(map(os.path.exists, planted))


def a_package_index_password_is_read(s):
    """The tool's programs are those of version managers, beside which their password files lie."""
    for program in ("home/conda/bin/conda", "home/.cargo/bin/cargo"):
        s.write(program, "#!/bin/sh\n", 0o755)
    secrets = (
        "conda/.condarc",
        "conda/pip.conf",
        "conda/etc/npmrc",
        ".cargo/credentials.toml",
        ".condarc",
        ".npmrc",
    )
    for name in secrets:
        s.write(f"home/{name}", s.token)
    s.environ["PATH"] = f"{s.path('home/conda/bin')}:{s.path('home/.cargo/bin')}:{s.environ['PATH']}"
    s.more = 'programs = ["conda", "cargo"]'
    files = " ".join(s.path("home", name) for name in secrets)
    return s.token in s.call(
        SHELL, "-c", f"cat {files} 2>/dev/null; cd {s.path('home/conda')} && cat .condarc; true", cwd="/"
    )


def a_denied_name_is_read(s):
    """Below a writable tree: by its name, by another, moved with its parent, by a link."""
    s.write("ws/sub/.env", s.token, 0o644)
    s.denied.append(s.path("ws/sub/.env"))
    return s.token in s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; cat sub/.env; cat ./sub/../sub/.env; cat sub/.e*; ln sub/.env h;"
        "cat h; mv sub/.env m; cat m; mv sub moved; cat moved/.env; ln -s moved/.env l; cat l; tar cf - .",
    )


def a_denied_name_below_a_readable_tree_is_read(s):
    s.write("data/sub/.env", s.token)
    s.denied.append(s.path("data/sub/.env"))
    return s.token in s.call(
        SHELL, "-c", f"cd {s.path('data')}; cat sub/.env; cat sub/.e*; grep -r canary .; tar cf - ."
    )


def a_denied_name_comes_back(s):
    """The owner saves the file anew, as editors do, while the tool runs: the mask stands on the old one."""
    s.write("data/.env", s.token)
    s.denied.append(s.path("data/.env"))

    def save(_):
        s.write("data/.env.tmp", s.token)
        os.rename(s.path("data/.env.tmp"), s.path("data/.env"))

    return s.token in s.meanwhile(f"cat {s.path('data/.env')}", save)


def a_denied_name_beside_a_mount_is_read(s):
    """Where something is mounted below a tree an ordinary user's cage can have no overlay of it all."""
    for name in ("data/.env", "data/sub/.env", "data/keys/id"):
        s.write(name, s.token)
    s.mount_below("data/deep/mounted")
    s.denied += [s.path("data", name) for name in (".env", "sub/.env", "keys", "deep/mounted/.env")]
    return s.token in s.call(
        SHELL,
        "-c",
        f"cd {s.path('data')}; cat .env sub/.env sub/../.e* keys/id deep/mounted/.env; grep -r canary .; tar cf - .",
    )


def a_denied_name_beside_a_mount_comes_back(s):
    s.write("data/sub/.env", "old")
    s.mount_below("data/mounted")
    s.denied += [s.path("data/sub/.env"), s.path("data/sub/.netrc")]

    def save(_):
        s.write("data/sub/.netrc", s.token)
        s.write("data/sub/.env.tmp", s.token)
        os.rename(s.path("data/sub/.env.tmp"), s.path("data/sub/.env"))

    return s.token in s.meanwhile(f"cat {s.path('data/sub/.env')} {s.path('data/sub/.netrc')}", save)


def a_denied_name_beside_a_mount_comes_back_unsaid(s):
    """Beside the mount itself a mask cannot be by name, nor over what is not there yet."""
    s.mount_below("data/mounted")
    s.denied.append(s.path("data/.netrc"))
    try:
        return s.token in s.meanwhile(
            f"cat {s.path('data/.netrc')}", lambda _: s.write("data/.netrc", s.token)
        )
    except Refused as refused:
        if ".netrc" not in str(refused):
            raise
        return False


def a_denied_name_in_a_writable_tree_comes_back(s):
    """There the mask is by name and stands until the host replaces the file: then the call must say so."""
    s.write("ws/.env", "old")
    s.denied.append(s.path("ws/.env"))

    def save(_):
        s.write("ws/.env.tmp", s.token)
        os.rename(s.path("ws/.env.tmp"), s.path("ws/.env"))

    try:
        return s.token in s.meanwhile(f"cat {s.path('ws/.env')}", save)
    except Refused as refused:
        if ".env" not in str(refused):
            raise
        return False


def private_storage_is_filled(s):
    name = "/tmp/" + os.path.basename(s.root) + ".flood"
    try:
        out = s.call(
            SHELL,
            "-c",
            f"dd if=/dev/zero of={name} bs=1M count=200 2>/dev/null; stat -c 'GOT %s' {name}; rm -f {name}",
        )
        return "GOT 209715200" in out
    finally:
        if os.path.exists(name):
            os.unlink(name)


def an_untrusted_policy_is_obeyed(s):
    """Somebody leaves a policy in a directory that a person then works in."""
    s.write("ws/toolcage.toml", f'[defaults]\nfilesystem = {{ readable = ["{s.path("secret")}"] }}\n')
    argv = [s.options.toolcage, "exec"] + (["--policy", "toolcage.toml"] if s.how != "caged" else [])
    done = subprocess.run(
        argv + ["--", "/bin/cat", s.secret],
        cwd=s.path("ws"),
        env=s.environ,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MINUTE,
    )
    if s.how == "caged":
        assert done.returncode == 126, f"{done.returncode} {done.stderr}"
    return s.token in done.stdout


FETCH = '[tool.fetch]\nnetwork = [{ host = "api.example.com", methods = ["GET"] }]\n'


def a_certificate_goes_elsewhere(s):
    """A tool leaves a link where `toolcage egress` writes the certificate of its authority."""
    target = s.path("ws/ca.pem")
    s.call(SHELL, "-c", f"ln -s {s.secret} {target}")
    if s.how == DIRECT:
        subprocess.run([SHELL, "-c", f"echo certificate > {target}"], check=True)
        return s.read("secret/canary") != s.token
    argv = [
        s.options.toolcage,
        "egress",
        "--policy",
        s.write("fetch.toml", FETCH),
        "--tool",
        "fetch",
        "--listen",
        "127.0.0.1:0",
        "--authority",
        target,
    ]
    process = subprocess.Popen(
        argv, env=s.environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + MINUTE
    while (
        os.path.islink(target)
        and s.read("secret/canary") == s.token
        and process.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    process.terminate()
    said = process.communicate(timeout=MINUTE)[1]
    assert s.read("secret/canary") != s.token or "a tool could put another certificate" in said, said
    return s.read("secret/canary") != s.token


def collected_files_go_elsewhere(s):
    """A tool leaves a link where the files of the next call's result are to go: that call's tool chooses their names."""
    s.call(SHELL, "-c", f"ln -s {s.path('secret')} {s.path('ws/out')}")
    if s.how == DIRECT:
        subprocess.run([SHELL, "-c", f"cp /etc/hostname {s.path('ws/out')}/x.csv"], check=True)
        return os.path.exists(s.path("secret/x.csv"))
    s.more = 'collect = ["*.csv"]'
    argv = [
        s.options.toolcage,
        "exec",
        "--policy",
        s.policy(),
        "--tool",
        s.how,
        "--output-dir",
        "out",
        "--",
        SHELL,
        "-c",
        f"echo x > {s.path('ws')}/x.csv",
    ]
    done = subprocess.run(
        argv,
        cwd=s.path("ws"),
        env=s.environ,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=MINUTE,
    )
    assert done.returncode == 125 or "x.csv" in str([names for _, _, names in os.walk(s.path("secret"))]), (
        f"{done.returncode} {done.stderr}"
    )
    return any("x.csv" in names for _, _, names in os.walk(s.path("secret")))


def collection_follows_a_link(s):
    """The result lists changed files: their digests must not be those of what a link leads to."""
    s.more = 'collect = ["*.csv"]'
    s.call(
        SHELL,
        "-c",
        f"ln -s {s.secret} {s.path('ws/out.csv')}; mkfifo {s.path('ws/pipe.csv')}; cat {s.path('ws/out.csv')}",
    )
    if s.how != "caged":
        return s.token in (s.answer["stdout"].get("text") or "")
    return hashlib.sha256(s.token.encode()).hexdigest() in str(s.answer) or s.token in str(s.answer["files"])


def a_core_file_is_left(s):
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        if "/" in file.read():
            raise Missing("core files do not go to the working directory here")
    s.attack("processes", "dump-core", preexec_fn=unlimited_core)
    return any(os.path.basename(name).startswith("core") for name in files_below(s.path("ws")))


def unlimited_core():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


CASES = [
    ("a secret outside is read", a_secret_outside_is_read, {}),
    (
        "a path is swapped while it is observed",
        a_path_is_swapped_while_it_is_observed,
        {"engines": "it observes no paths"},
    ),
    ("an attribute of a file outside is read", an_attribute_outside_is_read, {}),
    ("a file outside is written", a_file_outside_is_written, {"in_place": "too"}),
    ("a readable file is written", a_readable_file_is_written, {}),
    ("a set-id file is left behind", a_set_id_file_is_left, {"in_place": "too"}),
    ("a file capability is left behind", a_file_capability_is_left, {"root": True, "in_place": "too"}),
    ("a lease holds up the host's programs", a_lease_holds_up_the_host, {"in_place": "too"}),
    ("a device node is left behind", a_device_node_is_left, {"root": True, "in_place": "too"}),
    ("a device node in the workspace is opened", a_device_node_is_opened, {"root": True, "in_place": "too"}),
    ("kernel files open for writing", kernel_files_open_for_writing, {"root": True}),
    ("PID 1 is rewritten through /proc", own_limits_are_lifted_by_proc, {}),
    ("accounts of the host are read", host_accounts_are_read, {"root": True}),
    ("a stray file of /etc is read", a_stray_file_of_etc_is_read, {"root": True}),
    ("a file is opened by its handle", a_file_is_opened_by_handle, {"root": True}),
    ("descriptors are inherited", descriptors_are_inherited, {"free": DIRECT}),
    ("a directory is inherited", a_directory_is_inherited, {"free": DIRECT}),
    ("standard input is rewritten", standard_input_is_rewritten, {"free": DIRECT}),
    ("a planted link is followed by the next grant", a_planted_link_is_followed, {"in_place": "too"}),
    ("a planted link in a parent is followed", a_planted_link_in_a_parent_is_followed, {"in_place": "too"}),
    ("a link is raced against the grant", a_link_is_raced, {"alike": True, "in_place": "too"}),
    ("a git hook or configuration is planted", a_git_hook_is_planted, {"in_place": "too"}),
    ("the home has two names", the_home_has_two_names, {"free": DIRECT}),
    ("a package index's password is read", a_package_index_password_is_read, {"free": DIRECT}),
    ("a denied name below a writable tree is read", a_denied_name_is_read, {"in_place": "too"}),
    ("a denied name below a readable tree is read", a_denied_name_below_a_readable_tree_is_read, {}),
    ("a denied name reappears when it is saved", a_denied_name_comes_back, {"in_place": "too"}),
    ("a denied name next to a mount is read", a_denied_name_beside_a_mount_is_read, {"in_place": "too"}),
    (
        "a denied name next to a mount reappears when it is saved",
        a_denied_name_beside_a_mount_comes_back,
        {"in_place": "too"},
    ),
    (
        "a denied name next to a mount reappears unreported",
        a_denied_name_beside_a_mount_comes_back_unsaid,
        {"in_place": "too"},
    ),
    (
        "a denied name in a writable tree reappears unreported",
        a_denied_name_in_a_writable_tree_comes_back,
        {"in_place": "too"},
    ),
    ("private storage is filled", private_storage_is_filled, {}),
    (
        "an untrusted policy is used",
        an_untrusted_policy_is_obeyed,
        {"apart": "it is refused before there is any"},
    ),
    (
        "a certificate is written through a link",
        a_certificate_goes_elsewhere,
        {"free": DIRECT, "alike": True, "in_place": "too"},
    ),
    (
        "collected files are written through a link",
        collected_files_go_elsewhere,
        {"free": DIRECT, "alike": True, "in_place": "too"},
    ),
    ("collection follows a link", collection_follows_a_link, {"alike": True, "in_place": "too"}),
    ("a core file is left behind", a_core_file_is_left, {"free": DIRECT, "in_place": "too"}),
]
