/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Attacks that are safe on any host: each targets decoys or is limited in its use of resources.
 * libexec/toolcage/toolcage-attacks runs them. */
#include <string.h>

#include "cli/verbs/prove.h"

enum { PROCESSES = 100, MEBIBYTES = 192, FILL_MIB = 8, FILES = 96, PRINTED = 262144 };

const struct tc_attack tc_attacks[] = {
    {"read a private key", "fs.read", "read {key} /proc/self/root{key}", TC_SIGN_TOKEN},
    {"read it through a link in the work", "fs.read", "read {work}/link", TC_SIGN_TOKEN,
     .workspace = true},
    {"read it by /proc of a process", "proc.own", "root-of {victim} {key}", TC_SIGN_TOKEN},
    {"read a denied file in the work", "fs.denied", "read {work}/.env", TC_SIGN_TOKEN,
     .workspace = true},
    {"read a file in the host's /tmp", "tmp.private", "read {shared}", TC_SIGN_TOKEN},
    {"overwrite and delete a home", "fs.write", "wreck {key} {notes}", TC_SIGN_HOME},
    {"plant a git hook", "fs.steering", "plant {work}/.git/hooks/pre-commit {work}/.git/config",
     TC_SIGN_PLANTED, .workspace = true},
    {"leave a set-id file", "setid.none", "set-id {work}/tool", TC_SIGN_SETID, .workspace = true},
    {"leave a device node", "dev.minimal", "device {work}/node", TC_SIGN_DEVICE, .workspace = true},
    {"open a device", "dev.minimal", "open-for-writing /dev/tty0 /dev/kmsg /dev/kvm /dev/fuse",
     TC_SIGN_GOT},
    {"open the kernel's settings", "ids.unprivileged",
     "open-for-writing /proc/sys/kernel/core_pattern /proc/sysrq-trigger /etc/passwd", TC_SIGN_GOT},
    {"send the key to a server here", "net.none", "tcp 127.0.0.1 {port} {token}", TC_SIGN_TCP},
    {"send it to a unix socket", "net.unix", "unix-stream {work}/socket {token}", TC_SIGN_PATH,
     .workspace = true},
    {"send it to an abstract socket", "net.unix", "unix-stream @toolcage-{token} {token}",
     TC_SIGN_ABSTRACT},
    {"send it from a socket pair", "net.unix", "unix-pair {work}/datagram {token}",
     TC_SIGN_DATAGRAM, .workspace = true},
    {"kill a process", "proc.own", "signal {victim}", TC_SIGN_VICTIM},
    {"read a process's memory", "proc.own", "peek {victim} {address}", TC_SIGN_GOT},
    {"join a process's namespaces", "syscalls", "join-namespace {victim} mnt", TC_SIGN_GOT},
    {"open a user namespace", "syscalls", "user-namespace", TC_SIGN_GOT},
    {"mount something", "syscalls", "mount-alone {work}", TC_SIGN_GOT, .workspace = true},
    {"use io_uring", "syscalls", "io-uring", TC_SIGN_GOT},
    {"use the 32-bit system calls", "syscalls", "int80", TC_SIGN_GOT},
    {"use the x32 system calls", "syscalls", "x32", TC_SIGN_GOT},
    {"use bpf, perf, userfaultfd, kcmp", "syscalls", "far-reach", TC_SIGN_GOT},
    {"answer its own refused calls", "syscalls", "listener", TC_SIGN_GOT},
    {"read a key of the keyring", "syscalls", "key toolcage-{token}", TC_SIGN_TOKEN,
     .prepare = "add-key toolcage-{token} {token}", .tidy = "drop-key toolcage-{token}"},
    {"read shared memory", "ipc.none", "shared-memory {made}", TC_SIGN_TOKEN,
     .prepare = "make-shared-memory {token}", .tidy = "drop-shared-memory {made}"},
    {"find the caller's environment", "env.clean", "environment", TC_SIGN_TOKEN},
    {"find the caller's descriptors", "fds.clean", "descriptors", TC_SIGN_GOT},
    {"open the terminal", "tty.none", "terminal", TC_SIGN_GOT},
    {"outlive its call", "proc.survivors", "survive {beats}", TC_SIGN_BEATS, .workspace = true},
    {"ignore its deadline", "limit.timeout", "stay {beats}", TC_SIGN_BEATS, .workspace = true,
     .key = "timeout", .say = "500ms"},
    {"bomb with forks", "limit.pids", "bomb 100", TC_SIGN_COUNT, PROCESSES, .key = "pids",
     .say = "16"},
    {"take 192 MiB of memory", "limit.memory", "memory 192", TC_SIGN_COUNT, MEBIBYTES,
     .key = "memory", .say = "48MiB"},
    {"fill the disk", "limit.disk", "fill {shared}-fill 8", TC_SIGN_COUNT, FILL_MIB, .key = "disk",
     .say = "1MiB"},
    {"open 96 files", "limit.open_files", "open-files 96", TC_SIGN_COUNT, FILES,
     .key = "open_files", .say = "32"},
    {"flood with output", "limit.output", "print 262144", TC_SIGN_PRINTED, PRINTED, .key = "output",
     .say = "64KiB"},
};

const size_t tc_attack_count = TC_COUNT(tc_attacks);

/* The number in "GOT processes 100". */
static long counted(const char *output)
{
    const char *at = strstr(output, "GOT ");
    at = at ? strchr(at + 4, ' ') : NULL;
    return at ? strtol(at, NULL, 10) : 0;
}

bool tc_attack_through(const struct tc_attack *attack, const struct tc_decoys *decoys,
                       const char *output, size_t length)
{
    switch (attack->sign) {
    case TC_SIGN_GOT:
        return strstr(output, "GOT ");
    case TC_SIGN_TOKEN:
        return strstr(output, decoys->token);
    case TC_SIGN_COUNT:
        return counted(output) >= attack->least;
    case TC_SIGN_PRINTED:
        return length >= (size_t)attack->least;
    case TC_SIGN_HOME:
        return tc_decoys_home_changed(decoys);
    case TC_SIGN_TCP:
    case TC_SIGN_PATH:
    case TC_SIGN_ABSTRACT:
    case TC_SIGN_DATAGRAM:
        return tc_decoys_arrived(decoys, (enum tc_listener)(attack->sign - TC_SIGN_TCP));
    case TC_SIGN_VICTIM:
        return tc_decoys_victim_gone(decoys);
    case TC_SIGN_BEATS:
        return tc_decoys_grows(decoys);
    case TC_SIGN_SETID:
        return tc_decoys_left_setid(decoys);
    case TC_SIGN_DEVICE:
        return tc_decoys_left_device(decoys);
    case TC_SIGN_PLANTED:
        return tc_decoys_planted(decoys);
    }
    return true;
}
