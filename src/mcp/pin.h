/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Pinned tools of a wrapped server: a tool whose definition is not the approved one is held. It is
 * in no list, and no call of it reaches the server. What is held is recorded for `toolcage pins`.
 */
#ifndef TC_MCP_PIN_H
#define TC_MCP_PIN_H

#include "mcp/wrap.h"
#include "pins/pins.h"

enum tc_pin_state {
    TC_PIN_UNSEEN, /* not in a list of this connection yet */
    TC_PIN_FINE,
    TC_PIN_NEW,     /* no definition is approved */
    TC_PIN_CHANGED, /* another one was approved */
    TC_PIN_TWICE,   /* one list has several definitions */
    TC_PIN_UNREAD,  /* it cannot be compared */
};

/* The pin of one tool of the policy. */
struct tc_pin_tool {
    enum tc_pin_state state;
    char *seen;      /* the last definition; NULL: none that can be compared */
    const char *why; /* of TC_PIN_UNREAD */
    unsigned list;   /* the number of the list that had it */
    bool gone;       /* the last complete list does not have it */
    bool offered;    /* this program has stored its definition for a person */
};

struct tc_pin {
    struct tc_pins_key key; /* borrowed */
    struct tc_pins pins;
    bool broken;               /* the file cannot be used, so everything is held */
    struct tc_pin_tool *tools; /* as wrap->tools */
    size_t count;
    unsigned list;      /* the number of the current list */
    bool whole;         /* the current list began at its first page */
    bool listed;        /* a complete list is known, and the server did not change it since */
    bool changed;       /* a person's answer changed what is shown, and the client was not told */
    size_t unnamed;     /* tools that only the policy's "*" matches */
    char *told;         /* the last note about held tools */
    bool notify;        /* the client is one of initialize, to which messages may be sent */
    int64_t look_at_ms; /* when the file is examined next while a tool is held */
    char *note;         /* for the operator; taken by the caller */
    /* The wrapper's own list of tools, which calls wait for: pin_list.c. */
    bool listing;
    bool deciding; /* the calls that waited are decided now, and do not wait again */
    unsigned pages;
    int64_t end_at_ms;
    char *meta; /* members of `_meta` of its requests; NULL: none */
    char id[64];
};

/* 0, or TOOLCAGE_EMEMORY. The tools of `wrap` are loaded, and do not change. */
int tc_pin_new(struct tc_wrap *wrap, const struct tc_pins_key *key);
void tc_pin_free(struct tc_pin *pin);

/* ---- pin.c ---- */

/* A page of a list arrived. `first`: it is the first one. */
void tc_pin_page(struct tc_wrap *wrap, bool first, struct tc_slice result, struct tc_slice tools);
/* May the tool be shown? */
bool tc_pin_shows(const struct tc_wrap *wrap, const struct tc_wrap_tool *tool);
/* The refusal of a call, for the model; owned. NULL: it is allowed, or out of memory, which
 * wrap->failed says. */
char *tc_pin_refusal(struct tc_wrap *wrap, const struct tc_wrap_tool *tool);
/* When tc_pin_look() must be called; 0: no tool is held. */
int64_t tc_pin_look_at(const struct tc_wrap *wrap);
/* Has a person changed what is approved, so that the client's list is outdated? Examines the file
 * once a second. */
bool tc_pin_look(struct tc_wrap *wrap, int64_t now_ms);
/* The server says that its tools changed. */
void tc_pin_outdate(struct tc_wrap *wrap);

/* ---- pin_list.c ---- */

/* Does this call wait for a list? Then it is stored, and a list is requested. A refusal is stored
 * in *ret_refusal (static). */
bool tc_pin_waits(struct tc_wrap *wrap, struct tc_slice message, const struct tc_rpc *rpc,
                  const char **ret_refusal);
/* The answer to the wrapper's own request. True: the list is complete, or has failed, and the calls
 * that wait can be decided. */
bool tc_pin_answer(struct tc_wrap *wrap, const struct tc_rpc *rpc);
/* The same when its time has passed. */
bool tc_pin_late(struct tc_wrap *wrap, int64_t now_ms);
/* The message of a call that waits, owned, no longer among the requests; NULL: none. */
char *tc_pin_next(struct tc_wrap *wrap);

#endif
