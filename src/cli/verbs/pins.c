/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * `toolcage pins`: shows and approves the definitions of the tools of wrapped MCP servers. A yes is
 * bound to the definitions that were shown: at a terminal above the question, elsewhere before, by
 * their digest. A definition is the server's, so it is hostile text. */
#include "pins/pins.h"

#include <stdio.h>
#include <string.h>

#include "cli/call/consent.h"
#include "cli/show/diff.h"
#include "cli/show/failure.h"
#include "cli/show/opts.h"
#include "cli/show/say.h"

enum {
    EXIT_WAITS = 1,        /* nothing was approved */
    ASKED_MAX = 256 << 10, /* bytes that a question may have above it */
};

static const struct tc_option options[] = {
    {"digest", 0, "DIGEST", NULL, "with accept: the digest that show printed; asks no question"},
    TC_OPTION_JSON,
    TC_OPTION_HELP,
    {0},
};

static const char text[] =
    "With `pin = true` of [server.NAME], or wrap --pin, a tool of a wrapped MCP server is shown to "
    "models\n"
    "only with a definition that a person approved. What the server lists instead waits here: "
    "start the\n"
    "client once, then accept. SERVER is its name, or the beginning of its id. accept shows the\n"
    "definitions and asks; without a terminal it needs the digest that show printed. A running "
    "server's\n"
    "client sees an approved tool in its next list.\n"
    "\n"
    "examples:\n"
    "  toolcage pins                          which tools are approved, and which are held\n"
    "  toolcage pins show files               the difference from the approved definitions\n"
    "  toolcage pins accept files             all tools that are held\n"
    "  toolcage pins accept files read_text_file\n"
    "  toolcage pins remove files             approve nothing of this server\n";

static int fail(struct tc_failure *failure, const struct tc_fault *fault)
{
    return tc_failure_set(failure, fault->code, fault->hint, "%s", fault->text);
}

/* ---- list ---- */

static const char *state_of(const struct tc_pinned *tool)
{
    if (tool->offered)
        return tool->approved ? "changed" : "new";
    return tool->missing ? "gone" : "approved";
}

static bool is_known(const struct tc_pinned *tool)
{
    return tool->approved || tool->offered;
}

static void put_tools(FILE *out, const struct tc_pins *pins)
{
    static const struct {
        const char *state, *means;
    } words[] = {{"changed", "held: its definition changed"},
                 {"new", "held: not approved yet"},
                 {"gone", "approved, but not in the server's last list"},
                 {"approved", "approved"}};
    for (size_t i = 0; i < pins->count; i++)
        for (size_t w = 0; is_known(&pins->tools[i]) && w < TC_COUNT(words); w++)
            if (!strcmp(words[w].state, state_of(&pins->tools[i])))
                (void)fprintf(out, "  %-30s  %s\n", pins->tools[i].name, words[w].means);
}

static void put_server(FILE *out, const struct tc_pins *pins)
{
    (void)fprintf(out, "%s  %.12s  %s  %s\n", pins->server, pins->id, pins->policy, pins->command);
    put_tools(out, pins);
}

static void put_member(FILE *out, const char *key, const char *value)
{
    (void)fprintf(out, ",\"%s\":", key);
    tc_cli_json_string(out, value);
}

static void put_object(FILE *out, const struct tc_pins *pins)
{
    bool first = true;
    (void)fprintf(out, "{\"id\":\"%s\"", pins->id);
    put_member(out, "server", pins->server);
    put_member(out, "policy", pins->policy);
    (void)fprintf(out, ",\"command\":%s,\"tools\":[", pins->command);
    for (size_t i = 0; i < pins->count; i++) {
        const struct tc_pinned *tool = &pins->tools[i];
        if (!is_known(tool))
            continue;
        (void)fputs(first ? "{\"name\":" : ",{\"name\":", out);
        tc_cli_json_string(out, tool->name);
        (void)fprintf(out, ",\"state\":\"%s\",\"approved\":%s,\"offered\":%s}", state_of(tool),
                      tool->approved ? tool->approved : "null",
                      tool->offered ? tool->offered : "null");
        first = false;
    }
    (void)fputs("]}", out);
}

static int run_list(const struct tc_args *args, struct tc_failure *failure)
{
    struct tc_pins *list = NULL;
    size_t count = 0, size = 0;
    struct tc_fault fault;
    char *all = NULL;
    bool json = tc_args_has(args, "json");
    int rc = tc_pins_list(&list, &count, &fault);
    FILE *out = rc < 0 ? NULL : open_memstream(&all, &size);
    if (out && json)
        (void)fputs("{\"servers\":[", out);
    for (size_t i = 0; out && i < count; i++) {
        if (json && i)
            (void)fputc(',', out);
        (json ? put_object : put_server)(out, &list[i]);
    }
    tc_pins_free(list, count);
    if (rc < 0)
        return fail(failure, &fault);
    if (!out)
        return tc_cli_no_memory();
    if (!json) {
        rc = tc_cli_print_text(TC_PAINT_ROWS, out, &all);
        if (!count)
            tc_cli_hint("no server is pinned; write `pin = true` in [server.NAME], and start its "
                        "client once");
        return rc;
    }
    (void)fputs("]}", out);
    _autofree_ char *whole = tc_cli_text(out, &all);
    return whole ? tc_cli_print_json(whole) : tc_cli_no_memory();
}

/* ---- which tools ---- */

struct chosen {
    struct tc_pins pins;
    char **names; /* those that are shown; borrowed from the arguments or `pins` */
    size_t count, held;
    char digest[TC_PINS_DIGEST_SIZE];
};

static void done(struct chosen *chosen)
{
    tc_pins_done(&chosen->pins);
    free(chosen->names);
}

static bool is_named(const struct chosen *chosen, const char *name)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (strcmp(chosen->names[i], name) == 0)
            return true;
    return false;
}

/* The tools that the arguments name, or else all that are held. 0, or -1 with the failure. */
static int choose(const struct tc_args *args, struct chosen *ret, struct tc_failure *failure)
{
    struct tc_fault fault;
    size_t named = args->operand_count - 2;
    if (tc_pins_find(args->operands[1], &ret->pins, &fault) < 0)
        return fail(failure, &fault);
    ret->names = calloc(ret->pins.count + named + 1, sizeof(*ret->names));
    if (!ret->names)
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    for (size_t i = 0; i < named; i++) {
        char *name = args->operands[2 + i];
        const struct tc_pinned *tool = tc_pins_tool(&ret->pins, name);
        if (!tool || !is_known(tool))
            return tc_failure_set(failure, TOOLCAGE_ENOT_FOUND, "toolcage pins list",
                                  "server %s has no tool %.80s that was approved or listed",
                                  ret->pins.server, name);
        if (!is_named(ret, name))
            ret->names[ret->count++] = name;
    }
    for (size_t i = 0; !named && i < ret->pins.count; i++)
        if (ret->pins.tools[i].offered)
            ret->names[ret->count++] = ret->pins.tools[i].name;
    for (size_t i = 0; i < ret->count; i++)
        ret->held += tc_pins_tool(&ret->pins, ret->names[i])->offered != NULL;
    if (!tc_pins_digest(&ret->pins, ret->names, ret->count, ret->digest))
        return tc_failure_set(failure, TOOLCAGE_EMEMORY, TC_CLI_FREE_MEMORY, "out of memory");
    return 0;
}

/* ---- show ---- */

/* With an approved definition, characters beyond ASCII are escaped: a lookalike must differ. */
static bool put_diff(FILE *out, const struct tc_pinned *tool)
{
    bool changed = tool->approved && tool->offered;
    _autofree_ char *from = tool->approved ? tc_pins_lines(tool->approved, changed) : strdup("");
    _autofree_ char *to = tool->offered ? tc_pins_lines(tool->offered, changed) : strdup("");
    if (!tool->offered) {
        (void)fprintf(out, "\n%s, approved:\n%s", tool->name, from ? from : "");
        return from;
    }
    _autofree_ char *before = tc_cli_format("%s approved", tool->name);
    _autofree_ char *after = tc_cli_format("%s offered", tool->name);
    const char *names[2] = {tool->approved ? before : "/dev/null", after};
    _autofree_ char *diff = from && to && before && after ? tc_lines_diff(names, from, to) : NULL;
    (void)fprintf(out, "\n%s", diff ? diff : "");
    return diff;
}

/* Owned; NULL: out of memory. */
static char *write_chosen(const struct chosen *chosen)
{
    char *all = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&all, &size);
    bool good = out;
    if (!out)
        return NULL;
    put_server(out, &chosen->pins);
    for (size_t i = 0; good && i < chosen->count; i++)
        good = put_diff(out, tc_pins_tool(&chosen->pins, chosen->names[i]));
    _autofree_ char *whole = tc_cli_text(out, &all);
    return good && whole ? strdup(whole) : NULL;
}

static int show(const struct tc_args *args, struct chosen *chosen, struct tc_failure *failure)
{
    (void)failure;
    char *all = NULL;
    size_t size = 0;
    _autofree_ char *whole = write_chosen(chosen);
    FILE *out = whole ? open_memstream(&all, &size) : NULL;
    if (!out)
        return tc_cli_no_memory();
    if (tc_args_has(args, "json")) {
        put_object(out, &chosen->pins);
        _autofree_ char *json = tc_cli_text(out, &all);
        return json ? tc_cli_print_json(json) : tc_cli_no_memory();
    }
    (void)fputs(whole, out);
    if (chosen->held)
        (void)fprintf(out, "\ndigest | %s\n", chosen->digest);
    return tc_cli_print_text(TC_PAINT_DIFF, out, &all);
}

/* ---- accept, remove ---- */

static int accept_chosen(const struct chosen *chosen, struct tc_failure *failure)
{
    struct tc_fault fault;
    if (tc_pins_accept(&chosen->pins, chosen->names, chosen->count, &fault) < 0)
        return fail(failure, &fault);
    tc_cli_say("approved %zu definition%s of server %s", chosen->count,
               chosen->count == 1 ? "" : "s", chosen->pins.server);
    return 0;
}

static int ask(const struct chosen *chosen, const struct tc_person *person,
               struct tc_failure *failure)
{
    _autofree_ char *whole = write_chosen(chosen);
    if (!whole)
        return tc_cli_no_memory();
    if (strlen(whole) > ASKED_MAX)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE,
                              "read toolcage pins show, and give its digest with --digest; or "
                              "accept fewer tools at once",
                              "the definitions are too large to be shown above a question");
    tc_cli_stderr_painted(TC_PAINT_DIFF, whole);
    if (tc_cli_answer(person->fd, person->in, "approve the definitions above? y: yes, else: no") ==
        'y')
        return accept_chosen(chosen, failure);
    tc_cli_say("nothing was approved");
    return EXIT_WAITS;
}

static int run_accept(const struct tc_args *args, struct chosen *chosen, struct tc_failure *failure)
{
    const char *digest = tc_args_value(args, "digest");
    struct tc_person person = {.fd = -1};
    int rc;
    if (chosen->held != chosen->count || !chosen->count)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage pins list",
                              "server %s has no such definition that waits for approval",
                              chosen->pins.server);
    if (digest && strcmp(digest, chosen->digest) == 0)
        return accept_chosen(chosen, failure);
    if (digest)
        return tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage pins show SERVER",
                              "the definitions have another digest than the one that was shown");
    if (tc_person_open(&person))
        rc = ask(chosen, &person, failure);
    else
        rc = tc_failure_set(failure, TOOLCAGE_EUSAGE,
                            "toolcage pins show SERVER prints it, for --digest",
                            "there is no terminal to show the definitions at, so accept needs the "
                            "digest that was shown");
    tc_person_close(&person);
    return rc;
}

static int run_remove(const struct tc_args *args, struct chosen *chosen, struct tc_failure *failure)
{
    struct tc_fault fault;
    (void)args;
    if (tc_pins_remove(&chosen->pins, &fault) < 0)
        return fail(failure, &fault);
    tc_cli_say("removed the approved definitions of server %s", chosen->pins.server);
    return 0;
}

/* ---- all ---- */

static const struct action {
    const char *name;
    const char *takes; /* the names of its options */
    int least, most;   /* number of arguments after it */
    int (*run)(const struct tc_args *args, struct chosen *chosen, struct tc_failure *failure);
} actions[] = {
    {"list", "json", 0, 0, NULL},
    {"show", "json", 1, -1, show},
    {"accept", "digest", 1, -1, run_accept},
    {"remove", "", 1, 1, run_remove},
};

/* NULL with the failure. */
static const struct action *action_of(const struct tc_args *args, struct tc_failure *failure)
{
    const char *word = args->operand_count ? args->operands[0] : "list";
    int given = args->operand_count ? (int)args->operand_count - 1 : 0;
    const struct action *found = NULL;
    for (size_t i = 0; i < TC_COUNT(actions); i++)
        if (strcmp(actions[i].name, word) == 0)
            found = &actions[i];
    if (!found)
        return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "write list, show, accept or remove",
                                    "pins has no action \"%s\"", word),
               NULL;
    for (size_t i = 0; i < args->given_count; i++)
        if (!strstr(found->takes, args->given[i].option->name))
            return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage pins --help",
                                        "pins %s takes no --%s", word, args->given[i].option->name),
                   NULL;
    if (given < found->least || (found->most >= 0 && given > found->most))
        return (void)tc_failure_set(failure, TOOLCAGE_EUSAGE, "toolcage pins list",
                                    found->run ? "pins %s needs the name of one server"
                                               : "pins %s takes no name",
                                    word),
               NULL;
    return found;
}

static int run_pins(const struct tc_args *args)
{
    _autofailure_ struct tc_failure failure = {0};
    struct chosen chosen = {0};
    const struct action *action = action_of(args, &failure);
    int rc = !action        ? -1
             : !action->run ? run_list(args, &failure)
                            : choose(args, &chosen, &failure);
    if (!rc && action->run)
        rc = action->run(args, &chosen, &failure);
    done(&chosen);
    return rc < 0 ? tc_failure_tell(&failure, args, NULL) : rc;
}

const struct tc_verb tc_verb_pins = {
    .name = "pins",
    .operands = "[list | show SERVER [TOOL]... | accept SERVER [TOOL]... | remove SERVER]",
    .summary = "show and approve the tools of pinned MCP servers",
    .text = text,
    .options = options,
    .minor = true,
    .least = 0,
    .most = -1,
    .run = run_pins,
};
