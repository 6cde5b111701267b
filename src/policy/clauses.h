/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of clauses: the guarantees that a grant can require of a backend. A test compares
 * docs/clauses.md with it. X(enumerator, name, always, text). */
#ifndef TC_POLICY_CLAUSES_H
#define TC_POLICY_CLAUSES_H

#include <stdint.h>

#define TC_CLAUSE_MAP(X)                                                                           \
    X(PRIV_NONE, "priv.none", 1, "no capabilities, and no privileges can be gained")               \
    X(IDS_UNPRIVILEGED, "ids.unprivileged", 1, "no process has the host's uid or gid 0")           \
    X(IDS_GROUPS, "ids.groups", 1,                                                                 \
      "supplementary groups are cleared, or act on granted paths only")                            \
    X(PROC_OWN, "proc.own", 1, "a private /proc; no process outside the cage is visible")          \
    X(PROC_SURVIVORS, "proc.survivors", 1, "no process of the tool outlives the call")             \
    X(IPC_NONE, "ipc.none", 1, "no System V IPC, message queues or shared memory of the host")     \
    X(TMP_PRIVATE, "tmp.private", 1, "/tmp and /dev/shm are private and deleted after the call")   \
    X(DEV_MINIMAL, "dev.minimal", 1,                                                               \
      "no device except null, zero, full, random, urandom and private terminals")                  \
    X(ENV_CLEAN, "env.clean", 1, "the environment holds what the policy names and nothing else")   \
    X(FDS_CLEAN, "fds.clean", 1,                                                                   \
      "file descriptors are 0, 1 and 2: pipes or a terminal of the call; /dev/null without input") \
    X(TTY_NONE, "tty.none", 1, "no terminal except one created for the call; a separate session")  \
    X(SYSCALLS, "syscalls", 1, "system calls outside the profile and foreign ABIs are refused")    \
    X(SETID_NONE, "setid.none", 1, "set-id files cannot be made on the host and have no effect")   \
    X(FS_READ, "fs.read", 1, "only granted paths and the system directories can be read")          \
    X(FS_STAT, "fs.stat", 1, "names and attributes of other files are not visible")                \
    X(FS_WRITE, "fs.write", 1, "only paths granted as writable can be written")                    \
    X(FS_DENIED, "fs.denied", 0, "denied names below granted paths do not exist for the tool")     \
    X(FS_STEERING, "fs.steering", 0, "steering files stay read-only in writable paths")            \
    X(NET_NONE, "net.none", 0, "no network except a private loopback")                             \
    X(NET_ALLOW, "net.allow", 0, "only the named endpoints can be reached")                        \
    X(NET_INSPECT, "net.inspect", 0, "requests to an endpoint are allowed by method and path")     \
    X(NET_SECRET, "net.secret", 0,                                                                 \
      "secrets stay outside the cage; the proxy injects them into requests")                       \
    X(NET_UNIX, "net.unix", 1, "no unix sockets except granted ones")                              \
    X(LIMIT_TIMEOUT, "limit.timeout", 1, "the call ends at its deadline")                          \
    X(LIMIT_MEMORY, "limit.memory", 1, "memory of the whole cage is bounded")                      \
    X(LIMIT_PIDS, "limit.pids", 1, "the number of processes and threads is bounded")               \
    X(LIMIT_CPU_TIME, "limit.cpu_time", 0, "CPU time of the whole cage is bounded")                \
    X(LIMIT_CPUS, "limit.cpus", 0, "the number of CPUs is bounded")                                \
    X(LIMIT_DISK, "limit.disk", 1, "private storage is bounded in bytes and files")                \
    X(LIMIT_OPEN_FILES, "limit.open_files", 1, "open file descriptors of a process are bounded")   \
    X(LIMIT_OUTPUT, "limit.output", 1, "captured output is bounded")

#define TC_CLAUSE_ENUM_(id, name, always, text) TC_CLAUSE_##id,
enum tc_clause { TC_CLAUSE_MAP(TC_CLAUSE_ENUM_) TC_CLAUSE_COUNT };
#undef TC_CLAUSE_ENUM_

/* Sets of clauses are bits. */
typedef uint64_t tc_clauses;
#define TC_CLAUSE_BIT(clause) ((tc_clauses)1 << (clause))

/* The clauses that every grant requires. */
tc_clauses tc_clauses_always(void);
/* The clauses that a policy may give up with `without`, for hosts that cannot enforce them. */
tc_clauses tc_clauses_yielding(void);
const char *tc_clause_name(enum tc_clause clause);
const char *tc_clause_text(enum tc_clause clause);

#endif
