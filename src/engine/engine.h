/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The protocol between the helper and toolcage-engine. toolcage-engine lives as long as one
 * container: it has the engine create and start the container, waits for its end and has it
 * removed. If the helper is killed, its socket hangs up, as does the socket of toolcage's PID 1 in
 * the container, and the container is removed. */
#ifndef TC_ENGINE_ENGINE_H
#define TC_ENGINE_ENGINE_H

#include "base/task.h"

/* The socket to the helper, SOCK_SEQPACKET. The first message is the task; any later one requests
 * the end. */
enum { TC_ENGINE_CONTROL = 3 };

/* In the image: toolcage's init program, and the directory of the report socket. */
#define TC_ENGINE_OURS "/.toolcage"
#define TC_ENGINE_INIT TC_ENGINE_OURS "/engine-init"
#define TC_ENGINE_TALK TC_ENGINE_OURS "/talk"

/* The label of every container of toolcage; its value is the call. */
#define TC_ENGINE_LABEL "toolcage.call"

/* The task. The fds stay their owner's. */
struct tc_engine_config {
    char *engine;     /* "podman", "docker" or "containerd" */
    char *repository; /* of the image, which is created if missing */
    char *tag;
    char *name;          /* of the container */
    char *create;        /* JSON for the engine's create request, or containerd's spec */
    char *client;        /* path of ctr; "": HTTP is used */
    char *label;         /* for ctr, KEY=VALUE */
    char *runtime;       /* for ctr; "": the engine's default */
    char *fifos;         /* for ctr, when attached: a directory for its FIFOs; or "" */
    int64_t patience_ms; /* for each response except the container's end */
    int64_t stale_s;     /* age from which a stopped container of toolcage is removed */
    bool about;          /* report the engine's version */
    bool sweep;          /* remove leftover containers */
    int program;         /* for the image */
    int socket;          /* the engine's (O_PATH) */
    int port, console; /* when attached: a socket as the container's standard input and output, and
                        * a pipe as its standard error; else -1 */
};
extern const struct tc_fields tc_engine_config_fields;
enum { TC_ENGINE_TEXT_MAX = 600 };

/* Kinds of reports; disjoint from those of the helper's other children. */
enum tc_engine_kind {
    TC_ENGINE_ABOUT = 1000, /* the engine's version, for people */
    TC_ENGINE_STARTED,
    TC_ENGINE_FAILED, /* the cause, for people; the container is removed */
    TC_ENGINE_GONE,   /* the container is removed */
    TC_ENGINE_LEFT,   /* not removed: the cause */
    TC_ENGINE_SWEPT,  /* number of leftover containers removed, as text */
};

struct tc_engine_message {
    int32_t kind;
    char text[TC_ENGINE_TEXT_MAX];
};

#endif
