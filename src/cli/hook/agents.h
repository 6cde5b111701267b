/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What the agents' hooks send before a tool runs, and what they accept as the answer: one row for
 * each agent. A hook's input comes from the agent, but the arguments in it are the model's. */
#ifndef TC_CLI_HOOK_AGENTS_H
#define TC_CLI_HOOK_AGENTS_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/show/json.h"

enum tc_hook_kind {
    TC_HOOK_OTHER,   /* not decided by toolcage */
    TC_HOOK_SHELL,   /* a command for a shell */
    TC_HOOK_READ,    /* reads the path in the argument */
    TC_HOOK_WRITE,   /* writes it */
    TC_HOOK_PATCH,   /* writes the files that the patch names */
    TC_HOOK_UNKNOWN, /* refused */
};

/* The variable with the directory in which the agent ran its last command. */
#define TC_HOOK_DIR "TOOLCAGE_AGENT_DIR"

struct tc_hook_tool {
    const char *name;
    enum tc_hook_kind kind;
    const char *argument;
};

struct tc_hook_agent {
    const char *name;    /* for the command line, and the start of a session's name */
    const char *title;   /* for people */
    const char *program; /* in PATH */
    const char *event;
    const char *project;  /* the variable with the project's directory; NULL: it is in the
                             transcript,  because a model can choose the input's cwd */
    const char *folder;   /* of settings, in a home and in a project */
    const char *file;     /* the settings in it that have hooks */
    const char *variable; /* names the user's folder otherwise; NULL: none */
    const char *servers;  /* a project's MCP servers, which the agent starts; NULL: in the folder */
    const char *more;     /* members of the hook that only this agent knows */
    enum { TC_ANSWER_CLAUDE, TC_ANSWER_GEMINI } answer;
    bool cd_stays;          /* for the agent's next command; else each starts in the agent's own */
    const char *background; /* the argument of a command that runs beside later ones; NULL: none */
    const char *mcp;        /* prefix of tools of MCP servers */
    const struct tc_hook_tool *tools; /* a NULL name ends it */
};

struct tc_hook_request {
    const struct tc_hook_agent *agent;
    const struct tc_hook_tool *tool; /* NULL: not in the agent's table */
    enum tc_hook_kind kind;
    enum { TC_STATE_SHARED, TC_STATE_READ, TC_STATE_NONE } state; /* of the session's shell */
    char *name;                                                   /* of the tool */
    char *session;                                                /* name of the live session */
    char *id;              /* the agent's name of its session */
    char *cwd;             /* absolute */
    char *transcript;      /* path; NULL: none */
    char *text;            /* the argument; NULL: absent */
    struct tc_slice input; /* the tool's arguments, in the text that was read */
};

/* NULL: unknown. */
const struct tc_hook_agent *tc_hook_agent_find(const char *name);
/* NULL after the last. */
const struct tc_hook_agent *tc_hook_agent_at(size_t index);

/* Reads the hook's input, which stays valid meanwhile. NULL, or why it is not understood (static).
 */
const char *tc_hook_read(const struct tc_hook_agent *agent, const char *text, size_t length,
                         struct tc_hook_request *ret);
void tc_hook_request_done(struct tc_hook_request *request);

/* The answers. `text` replaces the request's; `reason` is for the model. */
void tc_hook_put_argument(FILE *out, const struct tc_hook_request *request, const char *text);
void tc_hook_put_denial(FILE *out, const struct tc_hook_agent *agent, const char *reason);
void tc_hook_put_nothing(FILE *out, const struct tc_hook_agent *agent);

#endif
