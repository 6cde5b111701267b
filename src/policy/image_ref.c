/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "policy/image_ref.h"

#include <string.h>

#include "base/digest.h"
#include "base/strv.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Runs of letters and digits separated by signs. No sign is last; only - and _ may repeat or be
 * first. */
static bool is_joined(const char *text, const char *words, const char *signs)
{
    bool word = false;
    for (; *text; text++) {
        bool sign = strchr(signs, *text) != NULL;
        if (!sign && !strchr(words, *text) && !strchr(letters, *text))
            return false;
        if (sign && !word && *text != '-' && *text != '_')
            return false;
        word = !sign;
    }
    return word;
}

static bool is_name(const char *text)
{
    return strchr(letters, *text) && is_joined(text, letters, "._-/") && !strstr(text, "-/") &&
           !strstr(text, "_/") && !strstr(text, "/-") && !strstr(text, "/_");
}

/* The first colon starts the tag: store names have no registry, so no port. */
static const char *check_name(char *name)
{
    char *tag = strchr(name, ':');
    const char *complaint = NULL;
    if (tag)
        *tag = '\0';
    if (!*name || !is_name(name))
        complaint = "a name has lower-case letters and digits, joined by . _ - and /";
    else if (tag && (!tag[1] || tag[1] == '-' || !is_joined(tag + 1, capitals, "._-")))
        complaint = "a tag has letters, digits, . _ and -, and begins with none of . and -";
    if (tag)
        *tag = ':';
    return complaint;
}

const char *tc_image_ref_parse(const char *text, struct tc_image_ref *ret)
{
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : strlen(text);
    *ret = (struct tc_image_ref){.name = ""};
    if (length >= sizeof(ret->name))
        return "a name has at most 255 characters";
    memcpy(ret->name, text, length);
    if (at && !tc_digest_valid(at + 1))
        return "after @ write sha256: and 64 hexadecimal digits in lower case";
    if (at)
        tc_strcopy(ret->digest, sizeof(ret->digest), at + 1);
    if (strcmp(ret->name, TC_IMAGE_SYSTEM) == 0)
        return "system is not an image: it stands for this machine's own directories";
    return check_name(ret->name);
}
