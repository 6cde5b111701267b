/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which values of settings are secrets: by their names, by their own form, or by a named part
 * (password=…, Authorization: …). Too many rather than too few. */
#include <ctype.h>
#include <string.h>

#include "adopt/adopt.h"
#include "base/strv.h"
#include "policy/names/credentials.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

static bool is_secret_name(const char *name, size_t length)
{
    static const char *const ends[] = {"KEY", "AUTHORIZATION", "AUTH",   "PASS",     "PWD",
                                       "PAT", "COOKIE",        "TOKENS", "SIGNATURE"};
    char upper[128];
    size_t n = 0, from = length < sizeof(upper) ? 0 : length - sizeof(upper) + 1;
    for (; from + n < length; n++)
        upper[n] = name[from + n] == '-' ? '_' : (char)toupper((unsigned char)name[from + n]);
    upper[n] = '\0';
    for (size_t i = 0; i < TC_COUNT(ends); i++)
        if (tc_endswith(upper, ends[i]))
            return true;
    return tc_credential_variable(upper);
}

bool tc_adopt_is_reference(const char *value)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "token "};
    for (size_t i = 0; i < TC_COUNT(schemes); i++)
        value += tc_startswith(value, schemes[i]) ? strlen(schemes[i]) : 0;
    bool dollar = *value == '$', brace = value[dollar] == '{';
    const char *name = value + dollar + brace;
    size_t length = strspn(name, letters);
    if (brace && name[length] == ':' && name[length + 1] != '-') /* env:NAME */
        length += 1 + strspn(name + length + 1, letters);
    return (dollar || brace) && length && (!brace || name[length] == '}') && !name[length + brace];
}

/* The value after the first NAME=VALUE or NAME: VALUE whose name is a secret's; NULL: none. */
const char *tc_adopt_named_secret(const char *text)
{
    for (const char *at = text; (at = strpbrk(at, "=:")); at++) {
        const char *name = at, *value = at + 1 + strspn(at + 1, " ");
        while (name > text && strchr(letters, name[-1]))
            name--;
        while (name < at && *name == '-')
            name++;
        if (name < at && *value && is_secret_name(name, (size_t)(at - name)) &&
            !tc_adopt_is_reference(value))
            return value;
    }
    return NULL;
}

/* Has it a URL with a login, or one that is itself a key? */
static bool has_secret_url(const char *value)
{
    const char *at = strstr(value, "://");
    if (!at)
        return false;
    if (strstr(value, "hook"))
        return true;
    size_t length = strcspn(at + 3, " ");
    const char *end = memrchr(at + 3, '@', length);
    const char *colon = end ? memchr(at + 3, ':', (size_t)(end - at - 3)) : NULL;
    size_t port = colon ? strspn(colon + 1, "0123456789") : 0;
    if (colon && (!port || colon[1 + port] != '/'))
        return true;
    return end && tc_startswith(value, "http") && strcspn(at + 3, "/?#@") == (size_t)(end - at - 3);
}

bool tc_adopt_is_secret(const char *name, const char *value)
{
    if (tc_startswith(value, "eyJ") || tc_startswith(value, "-----BEGIN"))
        return true; /* a JSON Web Token, a key */
    if (!*value || tc_adopt_is_reference(value))
        return false;
    return is_secret_name(name, strlen(name)) || tc_credential_token(value) ||
           tc_adopt_named_secret(value) || has_secret_url(value);
}

bool tc_adopt_names_secret(const char *value)
{
    for (const char *at = value; *(at += strcspn(at, letters));) {
        size_t length = strspn(at, letters);
        if (is_secret_name(at, length))
            return true;
        at += length;
    }
    return false;
}
