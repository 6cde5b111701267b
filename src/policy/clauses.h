/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The closed list of clauses: what a grant can require of a backend. docs/clauses.md says the same
 * in full, and a test compares the two. X(enumerator, name, always, text). */
#ifndef TC_POLICY_CLAUSES_H
#define TC_POLICY_CLAUSES_H

#include <stdint.h>

#define TC_CLAUSE_MAP(X)                                                                           \
    X(PRIV_NONE, "priv.none", 1, "no capabilities and no way to gain privileges")                  \
    X(IDS_UNPRIVILEGED, "ids.unprivileged", 1, "no process has the host's uid or gid 0")           \
    X(IDS_GROUPS, "ids.groups", 1,                                                                 \
      "supplementary groups are cleared, or act on granted paths only")                            \
    X(PROC_OWN, "proc.own", 1, "a /proc of the cage's own; no foreign process is visible")         \
    X(PROC_SURVIVORS, "proc.survivors", 1, "nothing that the tool started outlives the call")      \
    X(IPC_NONE, "ipc.none", 1, "no System V IPC, message queues or shared memory of the host")     \
    X(TMP_PRIVATE, "tmp.private", 1, "/tmp and /dev/shm are private and gone after the call")      \
    X(DEV_MINIMAL, "dev.minimal", 1,                                                               \
      "no device but null, zero, full, random, urandom, and terminals of the cage's own")          \
    X(ENV_CLEAN, "env.clean", 1, "the environment holds what the policy names and nothing else")   \
    X(FDS_CLEAN, "fds.clean", 1,                                                                   \
      "descriptors are 0, 1 and 2, pipes or a terminal made for the call")                         \
    X(TTY_NONE, "tty.none", 1, "no terminal but one made for the call; a session of its own")      \
    X(SYSCALLS, "syscalls", 1,                                                                     \
      "system calls outside the profile are refused; foreign ABIs closed")                         \
    X(SETID_NONE, "setid.none", 1, "no set-id file can be made, and none has an effect")           \
    X(FS_READ, "fs.read", 1, "only granted paths and the system directories can be read")          \
    X(FS_STAT, "fs.stat", 1, "names and attributes of other files do not show")                    \
    X(FS_WRITE, "fs.write", 1, "only paths granted as writable can be written")                    \
    X(FS_DENIED, "fs.denied", 0, "denied names below granted paths do not exist for the tool")     \
    X(FS_STEERING, "fs.steering", 0, "files that steer the host stay read-only in writable paths") \
    X(NET_NONE, "net.none", 0, "no network but the cage's own loopback")                           \
    X(NET_ALLOW, "net.allow", 0, "the network is reached only at the named endpoints")             \
    X(NET_INSPECT, "net.inspect", 0, "requests to an endpoint are allowed by method and path")     \
    X(NET_SECRET, "net.secret", 0, "secrets stay outside, and are put into requests there")        \
    X(NET_UNIX, "net.unix", 1, "no unix sockets but those that are granted")                       \
    X(LIMIT_TIMEOUT, "limit.timeout", 1, "the call ends at its deadline")                          \
    X(LIMIT_MEMORY, "limit.memory", 1, "memory of the whole cage is bounded")                      \
    X(LIMIT_PIDS, "limit.pids", 1, "the number of processes and threads is bounded")               \
    X(LIMIT_CPU_TIME, "limit.cpu_time", 0, "processor time of the whole cage is bounded")          \
    X(LIMIT_CPUS, "limit.cpus", 0, "the share of processors is bounded")                           \
    X(LIMIT_DISK, "limit.disk", 1, "private storage is bounded in bytes and files")                \
    X(LIMIT_OPEN_FILES, "limit.open_files", 1, "open descriptors of a process are bounded")        \
    X(LIMIT_OUTPUT, "limit.output", 1, "kept output is bounded")

#define TC_CLAUSE_ENUM_(id, name, always, text) TC_CLAUSE_##id,
enum tc_clause { TC_CLAUSE_MAP(TC_CLAUSE_ENUM_) TC_CLAUSE_COUNT };
#undef TC_CLAUSE_ENUM_

/* Sets of clauses are bits. */
typedef uint64_t tc_clauses;
#define TC_CLAUSE_BIT(clause) ((tc_clauses)1 << (clause))

/* The ones every grant requires. */
tc_clauses tc_clauses_always(void);
/* The ones that a policy may give up (`without`), for machines that cannot hold them. */
tc_clauses tc_clauses_yielding(void);
const char *tc_clause_name(enum tc_clause clause);
const char *tc_clause_text(enum tc_clause clause);

#endif
