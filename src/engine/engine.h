/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the helper and toolcage-engine say to each other. That program lives as long as one
 * container: it has the engine make and start it, waits for its end and has it removed, also when
 * the helper is killed in the middle: then its socket hangs up, and so does that of our PID 1 in
 * the container. */
#ifndef TC_ENGINE_ENGINE_H
#define TC_ENGINE_ENGINE_H

#include "base/task.h"

/* The socket to the helper, of whole messages; what comes on it after the first is the wish to
 * end. */
enum { TC_ENGINE_CONTROL = 3 };

/* Our program in the image that containers are made of, and the directory of the report socket. */
#define TC_ENGINE_OURS "/.toolcage"
#define TC_ENGINE_INIT TC_ENGINE_OURS "/engine-init"
#define TC_ENGINE_TALK TC_ENGINE_OURS "/talk"

/* On every container of ours: the call that it is for. */
#define TC_ENGINE_LABEL "toolcage.call"

/* Its task. The descriptors stay those of their owner. */
struct tc_engine_config {
    char *engine;     /* "podman", "docker" or "containerd" */
    char *repository; /* of the image, which is made where it is missing */
    char *tag;
    char *name;          /* of the container */
    char *create;        /* JSON: what it is to be, in the engine's words */
    char *client;        /* the program that speaks to it; "": we do, by HTTP */
    char *label;         /* for that program, KEY=VALUE */
    char *runtime;       /* for that program; "": the engine's own */
    char *fifos;         /* for that program, where it is attached: a directory for them; or "" */
    int64_t patience_ms; /* for each answer but the container's end */
    int64_t stale_s;     /* age from which a container of ours that does not run is removed */
    bool about;          /* tell who the engine is */
    bool sweep;          /* look for containers that are left */
    int program;         /* of the image */
    int socket;          /* the engine's (O_PATH) */
    int port, console;   /* where it is attached: a socket that is its standard input and output,
                          * and a pipe that is its standard error; else -1 */
};
extern const struct tc_fields tc_engine_config_fields;
enum { TC_ENGINE_TEXT_MAX = 600 };

/* What it says; numbers that no report of a child of the helper has. */
enum tc_engine_kind {
    TC_ENGINE_ABOUT = 1000, /* who the engine is, for people */
    TC_ENGINE_STARTED,
    TC_ENGINE_FAILED, /* why, for people; the container goes */
    TC_ENGINE_GONE,   /* the container is removed */
    TC_ENGINE_LEFT,   /* it could not be: why */
    TC_ENGINE_SWEPT,  /* how many others went, as text */
};

struct tc_engine_message {
    int32_t kind;
    char text[TC_ENGINE_TEXT_MAX];
};

#endif
