/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Compares the server's lists with the approved definitions. */
#include "mcp/pin.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/memory.h"

int tc_pin_new(struct tc_wrap *wrap, const struct tc_pins_key *key)
{
    struct tc_pin *pin = calloc(1, sizeof(*pin));
    if (!pin)
        return TOOLCAGE_EMEMORY;
    wrap->pin = pin;
    pin->key = *key;
    pin->count = wrap->tool_count;
    pin->list = 1;
    pin->tools = calloc(pin->count + 1, sizeof(*pin->tools));
    return pin->tools ? 0 : TOOLCAGE_EMEMORY;
}

void tc_pin_free(struct tc_pin *pin)
{
    if (!pin)
        return;
    for (size_t i = 0; pin->tools && i < pin->count; i++)
        free(pin->tools[i].seen);
    free(pin->tools);
    tc_pins_done(&pin->pins);
    free(pin->told);
    free(pin->note);
    free(pin->meta);
    free(pin);
}

/* ---- notes ---- */

/* Takes ownership; a further one is appended. */
static void add_note(struct tc_wrap *wrap, char *text)
{
    struct tc_pin *pin = wrap->pin;
    char *both = NULL;
    wrap->failed |= !text;
    if (text && pin->note && asprintf(&both, "%s; %s", pin->note, text) < 0)
        wrap->failed = true;
    if (text && pin->note) {
        free(pin->note);
        free(text);
        pin->note = both;
    } else if (text) {
        pin->note = text;
    }
}

static const char *word_of(enum tc_pin_state state)
{
    static const char *const words[] = {
        [TC_PIN_UNSEEN] = "",
        [TC_PIN_FINE] = "",
        [TC_PIN_NEW] = "new",
        [TC_PIN_CHANGED] = "its definition changed",
        [TC_PIN_TWICE] = "listed twice, with different definitions",
        [TC_PIN_UNREAD] = "its definition cannot be compared",
    };
    return words[state];
}

static bool is_held(const struct tc_pin_tool *tool)
{
    return tool->state > TC_PIN_FINE;
}

/* The offer that the file should have for the tool; NULL: none. Borrows. */
static const char *offer_of(const struct tc_pin_tool *tool)
{
    return tool->state == TC_PIN_NEW || tool->state == TC_PIN_CHANGED ? tool->seen : NULL;
}

/* Which tools are held, and which are gone; owned. NULL: out of memory. "": none. */
static char *write_held(const struct tc_wrap *wrap)
{
    enum { NAMED_MAX = 8 };
    const struct tc_pin *pin = wrap->pin;
    char *text = NULL;
    size_t size = 0, held = 0, gone = 0;
    bool offered = false;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < pin->count; i++) {
        const struct tc_pin_tool *tool = &pin->tools[i];
        offered |= offer_of(tool) != NULL;
        if (is_held(tool) && held++ < NAMED_MAX)
            (void)fprintf(out, "%s%s (%s%s%s)", held > 1 ? ", " : "holds ", wrap->tools[i].name,
                          word_of(tool->state), tool->state == TC_PIN_UNREAD ? ": " : "",
                          tool->state == TC_PIN_UNREAD ? tool->why : "");
    }
    if (held > NAMED_MAX)
        (void)fprintf(out, " and %zu more tools", held - NAMED_MAX);
    if (offered)
        (void)fprintf(out, "; to see and approve: toolcage pins show %s", wrap->options->server);
    if (pin->unnamed)
        (void)fprintf(out,
                      "%sholds %zu tools that the policy does not name: write tool.NAME for each",
                      held ? "; " : "", pin->unnamed);
    held += pin->unnamed;
    for (size_t i = 0; i < pin->count; i++)
        if (pin->tools[i].gone && gone++ < NAMED_MAX)
            (void)fprintf(out, "%s%s",
                          gone > 1 ? ", "
                          : held   ? "; no longer lists "
                                   : "no longer lists ",
                          wrap->tools[i].name);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Once for each change. */
static void tell_held(struct tc_wrap *wrap)
{
    struct tc_pin *pin = wrap->pin;
    char *text = write_held(wrap);
    wrap->failed |= !text;
    if (!text || (pin->told && strcmp(text, pin->told) == 0)) {
        free(text);
        return;
    }
    free(pin->told);
    pin->told = text;
    if (*text)
        add_note(wrap, strdup(text));
}

/* ---- the approved definitions ---- */

static const struct tc_pinned *record_of(const struct tc_wrap *wrap, size_t index)
{
    return tc_pins_tool(&wrap->pin->pins, wrap->tools[index].name);
}

static void judge(const struct tc_wrap *wrap, size_t index)
{
    struct tc_pin_tool *tool = &wrap->pin->tools[index];
    const struct tc_pinned *record = record_of(wrap, index);
    if (!tool->seen || tool->state == TC_PIN_TWICE)
        return;
    tool->state = !record || !record->approved                ? TC_PIN_NEW
                  : strcmp(record->approved, tool->seen) != 0 ? TC_PIN_CHANGED
                                                              : TC_PIN_FINE;
}

/* Reads the file again if a person has changed it. */
static void refresh(struct tc_wrap *wrap)
{
    struct tc_pin *pin = wrap->pin;
    struct tc_fault fault;
    if (pin->pins.server && !tc_pins_stale(&pin->pins))
        return;
    tc_pins_done(&pin->pins);
    bool broken = tc_pins_load(&pin->key, &pin->pins, &fault) < 0;
    if (broken && !pin->broken) {
        char *note = NULL;
        if (asprintf(&note, "holds every tool: %s%s%s", fault.text, fault.hint ? "; " : "",
                     fault.hint ? fault.hint : "") < 0)
            note = NULL;
        add_note(wrap, note);
    }
    for (size_t i = 0; i < pin->count; i++) {
        bool was = !pin->broken && pin->tools[i].state == TC_PIN_FINE;
        judge(wrap, i);
        pin->changed |= was != (!broken && pin->tools[i].state == TC_PIN_FINE);
    }
    pin->broken = broken;
}

/* ---- lists ---- */

/* One object of a list. */
static void see(struct tc_wrap *wrap, size_t index, struct tc_slice object)
{
    struct tc_pin *pin = wrap->pin;
    struct tc_pin_tool *tool = &pin->tools[index];
    const char *why;
    char *text = tc_pins_canonical(object.at, object.length, &why);
    bool again = tool->list == pin->list && tool->state != TC_PIN_UNSEEN;
    bool same = text && tool->seen && strcmp(text, tool->seen) == 0;
    wrap->failed |= tc_mcp_starved();
    tool->list = pin->list;
    tool->gone = false;
    if (again && (tool->state == TC_PIN_TWICE || !same)) {
        tool->state = TC_PIN_TWICE;
        free(text);
        return;
    }
    free(tool->seen);
    tool->seen = text;
    tool->why = why;
    tool->state = text ? TC_PIN_NEW : TC_PIN_UNREAD;
    judge(wrap, index);
}

static bool is_last(struct tc_slice result)
{
    struct tc_slice cursor;
    return tc_scan_member(result, "nextCursor", &cursor) && (!cursor.at || tc_scan_is_null(cursor));
}

/* Approved tools that the complete list does not have. */
static void find_gone(const struct tc_wrap *wrap)
{
    for (size_t i = 0; i < wrap->pin->count; i++) {
        const struct tc_pinned *record = record_of(wrap, i);
        struct tc_pin_tool *tool = &wrap->pin->tools[i];
        bool absent = tool->list != wrap->pin->list;
        tool->gone = absent && record && record->approved;
        if (absent) {
            free(tool->seen);
            tool->seen = NULL;
            tool->state = TC_PIN_UNSEEN;
        }
    }
}

static bool is_recorded(const struct tc_wrap *wrap, size_t index)
{
    const struct tc_pin_tool *tool = &wrap->pin->tools[index];
    const struct tc_pinned *record = record_of(wrap, index);
    const char *wanted = offer_of(tool), *stored = record ? record->offered : NULL;
    if (tool->state == TC_PIN_UNSEEN && !tool->gone)
        return true;
    /* what another program was offered stays until a person has seen it */
    return tool->gone == (record && record->missing) &&
           (wanted ? stored && strcmp(wanted, stored) == 0 : !stored || !tool->offered);
}

/* Records what is held for `toolcage pins`, if the file does not have it. */
static void record_offers(struct tc_wrap *wrap)
{
    struct tc_pin *pin = wrap->pin;
    struct tc_fault fault;
    struct tc_pinned *rows = calloc(pin->count + 1, sizeof(*rows));
    size_t count = 0;
    wrap->failed |= !rows;
    for (size_t i = 0; rows && i < pin->count; i++) {
        bool recorded = is_recorded(wrap, i);
        pin->tools[i].offered = offer_of(&pin->tools[i]) != NULL;
        if (!recorded)
            rows[count++] = (struct tc_pinned){.name = wrap->tools[i].name,
                                               .offered = (char *)offer_of(&pin->tools[i]),
                                               .missing = pin->tools[i].gone};
    }
    if (count && tc_pins_offer(&pin->key, rows, count, &fault) < 0)
        add_note(wrap, strdup(fault.text));
    else if (count)
        refresh(wrap);
    free(rows);
}

/* Is it the policy's rule for all tools that it does not name? A definition is approved by name, so
 * these tools stay held. */
static bool is_unnamed(const struct tc_wrap_tool *rule)
{
    return strcmp(rule->name, "*") == 0;
}

/* Tools that are never listed need no pin. */
static void see_all(struct tc_wrap *wrap, struct tc_slice tools)
{
    struct tc_scan_each each = tc_scan_walk(tools);
    while (tc_scan_next(&each)) {
        struct tc_slice name;
        if (!tc_scan_is_object(each.value) || !tc_scan_member(each.value, "name", &name))
            continue;
        const struct tc_wrap_tool *rule = tc_rules_find(wrap, name);
        wrap->pin->unnamed += rule && is_unnamed(rule);
        if (rule && !tc_rules_hide(rule) && !is_unnamed(rule))
            see(wrap, (size_t)(rule - wrap->tools), each.value);
    }
}

void tc_pin_page(struct tc_wrap *wrap, bool first, struct tc_slice result, struct tc_slice tools)
{
    struct tc_pin *pin = wrap->pin;
    refresh(wrap);
    if (first) {
        pin->unnamed = 0;
        pin->list++;
        pin->whole = true;
    }
    see_all(wrap, tools);
    if (pin->whole && is_last(result)) {
        pin->whole = false;
        pin->listed = true;
        find_gone(wrap);
    }
    if (!pin->broken)
        record_offers(wrap);
    tell_held(wrap);
}

bool tc_pin_shows(const struct tc_wrap *wrap, const struct tc_wrap_tool *tool)
{
    const struct tc_pin *pin = wrap->pin;
    return !pin || (!pin->broken && !is_unnamed(tool) &&
                    pin->tools[tool - wrap->tools].state == TC_PIN_FINE);
}

/* ---- while a tool is held ---- */

enum { LOOK_MS = 1000 };

int64_t tc_pin_look_at(const struct tc_wrap *wrap)
{
    const struct tc_pin *pin = wrap->pin;
    bool looks = pin && pin->notify && pin->list > 1;
    return !looks ? 0 : pin->look_at_ms ? pin->look_at_ms : 1;
}

bool tc_pin_look(struct tc_wrap *wrap, int64_t now_ms)
{
    int64_t at = tc_pin_look_at(wrap);
    if (!at || now_ms < at)
        return false;
    wrap->pin->look_at_ms = now_ms + LOOK_MS;
    refresh(wrap);
    bool changed = wrap->pin->changed;
    wrap->pin->changed = false;
    if (changed && !wrap->pin->broken)
        record_offers(wrap);
    if (changed)
        tell_held(wrap);
    return changed;
}

/* ---- calls ---- */

void tc_pin_outdate(struct tc_wrap *wrap)
{
    struct tc_pin *pin = wrap->pin;
    if (!pin)
        return;
    pin->list++;
    pin->listed = pin->whole = false;
}

static const char *reason_of(const struct tc_pin *pin, const struct tc_pin_tool *tool)
{
    static const char *const reasons[] = {
        [TC_PIN_UNSEEN] = "the server does not list it",
        [TC_PIN_FINE] = NULL,
        [TC_PIN_NEW] = "no person has approved its definition",
        [TC_PIN_CHANGED] = "the server changed its definition after a person approved it",
        [TC_PIN_TWICE] = "the server lists it twice, with different definitions",
        [TC_PIN_UNREAD] = "its definition cannot be compared with an approved one",
    };
    if (pin->broken)
        return "its approved definition cannot be read";
    if (!pin->listed)
        return "the server did not list its tools, so it cannot be compared with the approved "
               "definition";
    return reasons[tool->state];
}

char *tc_pin_refusal(struct tc_wrap *wrap, const struct tc_wrap_tool *tool)
{
    char *text = NULL;
    if (!wrap->pin || tc_rules_hide(tool)) /* the tier says so */
        return NULL;
    refresh(wrap);
    const char *why = reason_of(wrap->pin, &wrap->pin->tools[tool - wrap->tools]);
    if (is_unnamed(tool)) {
        text = strdup("held: the server's tools are pinned, and the policy does not name this one; "
                      "do without it");
        wrap->failed |= !text;
        return text;
    }
    if (why && asprintf(&text,
                        "held: %s: %s; do without this tool, and tell the user that `toolcage pins "
                        "show %s` shows the reason",
                        tool->name, why, wrap->options->server) < 0) {
        wrap->failed = true;
        return NULL;
    }
    return text;
}
