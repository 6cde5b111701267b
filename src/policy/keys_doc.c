/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Prints the reference of every key as scdoc, from the master table: a part of toolcage-policy(5).
 */
#include <stdio.h>

#include "policy/keys.h"

/* Text with scdoc's own marks made harmless. */
static void print_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '_' || *text == '*' || *text == '\\' || *text == '[' || *text == '#')
            (void)putchar('\\');
        (void)putchar(*text);
    }
}

static void print_fact(const char *name, const char *text)
{
    if (!text || !text[0])
        return;
    printf("++\n%s: ", name);
    print_text(text);
    (void)putchar('.');
}

static void print_key(const struct tc_key *key)
{
    char range[256];
    tc_key_range(key, range, sizeof(range));
    printf("*%s*\n", key->name);
    printf("\t");
    print_text(key->text);
    if (!key->set) {
        printf("++\nNot provided yet by this version: a policy that says it is refused.\n\n");
        return;
    }
    print_fact("Type", key->type);
    print_fact("Range", range);
    print_fact("Absent", key->fallback);
    printf("\n\n");
    if (!key->example)
        return;
    printf("\t```\n\t");
    for (const char *c = key->example; *c; c++) {
        (void)putchar(*c);
        if (*c == '\n')
            (void)putchar('\t');
    }
    printf("\n\t```\n\n");
}

static void print_scope(enum tc_scope scope)
{
    printf("## ");
    print_text(tc_scope_title(scope));
    printf("\n\n");
    for (const struct tc_key *key = tc_keys; key->name; key++)
        if (key->scopes & 1u << scope)
            print_key(key);
}

int main(void)
{
    /* [defaults] and [server.NAME] take the capability keys of [tool.NAME]: shown once */
    static const enum tc_scope shown[] = {
        TC_SCOPE_FILE,      TC_SCOPE_TOOL,      TC_SCOPE_FILESYSTEM, TC_SCOPE_FS_ENTRY,
        TC_SCOPE_STEERING,  TC_SCOPE_NET_ENTRY, TC_SCOPE_SECRET,     TC_SCOPE_SYSCALLS,
        TC_SCOPE_SETUP,     TC_SCOPE_MEMORY,    TC_SCOPE_OUTPUT,     TC_SCOPE_ENV,
        TC_SCOPE_WORKSPACE, TC_SCOPE_ARGUMENT,  TC_SCOPE_CLASS,      TC_SCOPE_OCI,
        TC_SCOPE_GVISOR,    TC_SCOPE_TEST,
    };
    printf("# KEYS\n\n");
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        print_scope(shown[i]);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
