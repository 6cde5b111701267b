/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The field tables of the structs in a grant. The helper uses them, too, for its plans. */
#include <string.h>

#include "policy/grant.h"
#include "policy/parse/keys.h"

#define TC_STRUCT struct tc_limits
#define LIMIT(F, key_, member, word_, unit_, flags_, ...) \
    F(ONE, member, .word = word_, .key = TC_KEY_##key_, .unit = TC_UNIT_##unit_, .flags = flags_)
#define PART(F, type, member, key_, word_, unit_, ...) \
    F(ONE, member, .word = word_, .key = TC_KEY_##key_, .unit = TC_UNIT_##unit_)
#define LIMITS(F) TC_LIMITS_MAP(LIMIT, PART, F)
TC_FIELDS(tc_limits_fields, LIMITS);
#undef TC_STRUCT

/* The location of a setting does not change the grant, so no digest covers origins. */
#define TC_STRUCT struct tc_origin
#define ORIGIN(F) \
    F(ONE, key)   \
    F(ONE, line)
static TC_FIELDS(origin_fields, ORIGIN);
#undef TC_STRUCT

#define TC_STRUCT struct tc_fs_entry
#define FS_ENTRY(F)  \
    F(ONE, path)     \
    F(ONE, from)     \
    F(ONE, access)   \
    F(ONE, optional) \
    F(ONE, argument) \
    F(ONE, bound)    \
    F(ONE, built_in) \
    F(ONE, own)      \
    F(ONE, found)    \
    F(ONE, setup)    \
    F(STRUCT, origin, TC_OF(origin_fields), .flags = TC_FIELD_UNDIGESTED)
TC_FIELDS(tc_fs_entry_fields, FS_ENTRY);
#undef TC_STRUCT

#define TC_STRUCT struct tc_net_entry
#define NET_ENTRY(F) \
    F(ONE, host)     \
    F(ONE, port)     \
    F(LIST, methods) \
    F(LIST, paths)   \
    F(ONE, secret)   \
    F(STRUCT, origin, TC_OF(origin_fields), .flags = TC_FIELD_UNDIGESTED)
TC_FIELDS(tc_net_entry_fields, NET_ENTRY);
#undef TC_STRUCT

#define TC_STRUCT struct tc_upstream
#define UPSTREAM(F) \
    F(ONE, host)    \
    F(ONE, port)    \
    F(ONE, socks)   \
    F(ONE, names)   \
    F(ONE, line, .flags = TC_FIELD_UNDIGESTED)
TC_FIELDS(tc_upstream_fields, UPSTREAM);
#undef TC_STRUCT

#define TC_STRUCT struct tc_secret
#define SECRET(F)  \
    F(ONE, name)   \
    F(ONE, from)   \
    F(ONE, header) \
    F(LIST, hosts) \
    F(ONE, line, .flags = TC_FIELD_UNDIGESTED)
TC_FIELDS(tc_secret_fields, SECRET);
#undef TC_STRUCT

#define TC_STRUCT struct tc_steering
#define STEERING(F) \
    F(LIST, add)    \
    F(LIST, remove) \
    F(ONE, listed)
TC_FIELDS(tc_steering_fields, STEERING);
#undef TC_STRUCT

void tc_secret_values_visit(struct tc_wire *w, struct tc_strv *values)
{
    tc_wire_format(w, "toolcage-secrets-1");
    tc_wire_strv(w, values);
}

void tc_secret_values_done(struct tc_strv *values)
{
    for (size_t i = 0; i < values->count; i++)
        explicit_bzero(values->items[i], strlen(values->items[i]));
    tc_strv_done(values);
}
