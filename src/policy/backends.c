/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table of backends. A new backend is a row here and a folder. */
#include "policy/backends.h"

#include <string.h>

#include "base/strv.h"

const char *const tc_values_tier[] = {"Auto", "Assisted", "HumanApprove", "ManualOnly", NULL};
const char *const tc_values_risk[] = {"pure_compute", "file_ops", "build_test", "untrusted", NULL};

/* bits in the order of the values above */
enum { AUTO = 1, ASSISTED = 2, HUMAN_APPROVE = 4, MANUAL_ONLY = 8 };
enum { PURE_COMPUTE = 1, FILE_OPS = 2, BUILD_TEST = 4, UNTRUSTED = 8 };
enum { UNKNOWN = TC_STRENGTH_UNKNOWN };

/* name, kind, strength, tiers, risks, key, scope of its settings. Only an explicit `backend`
 * selects the first row; no tier or risk implies it. */
#define BACKENDS(B)                                                         \
    B("not-a-security-boundary", NOTHING, 0, 0, 0, NONE, FILE)              \
    B("process", PROCESS, 1, AUTO, 0, NONE, FILE)                           \
    B("oci", CONTAINER, 1, 0, FILE_OPS | BUILD_TEST, IMAGE, OCI)            \
    B("podman", CONTAINER, 1, 0, 0, NONE, PODMAN)                           \
    B("docker", CONTAINER, 1, 0, 0, NONE, DOCKER)                           \
    B("containerd", CONTAINER, 1, 0, 0, NONE, CONTAINERD)                   \
    B("gvisor", SENTRY, 2, ASSISTED | HUMAN_APPROVE, 0, NONE, GVISOR)       \
    B("firecracker", MACHINE, 3, MANUAL_ONLY, UNTRUSTED, NONE, FIRECRACKER) \
    B("qemu", MACHINE, 3, 0, 0, NONE, QEMU)                                 \
    B("wasm", MODULE, UNKNOWN, 0, PURE_COMPUTE, MODULE, WASM)               \
    B("wasmtime", MODULE, UNKNOWN, 0, 0, NONE, FILE)                        \
    B("wasmedge", MODULE, UNKNOWN, 0, 0, NONE, FILE)                        \
    B("kata", MACHINE, 3, 0, 0, NONE, KATA)                                 \
    B("kubernetes", CLUSTER, UNKNOWN, 0, 0, NONE, FILE)

#define ROW(name, kind, strength, tiers, risks, key, scope) \
    {name, TC_BACKEND_##kind, strength, tiers, risks, TC_KEY_##key, TC_SCOPE_##scope},
#define WORD(name, ...) name,

const struct tc_backend tc_backends[] = {BACKENDS(ROW){.name = NULL}};
const char *const tc_values_backend[] = {BACKENDS(WORD) NULL};

const struct tc_backend *tc_backend_find(const char *name)
{
    for (const struct tc_backend *b = tc_backends; b->name; b++)
        if (tc_streq(b->name, name))
            return b;
    return NULL;
}

int tc_backend_strength(const char *name)
{
    const struct tc_backend *b = tc_backend_find(name);
    return b ? b->strength : TC_STRENGTH_UNKNOWN;
}

/* A VM's guest runs each call in a process cage or a container; a module runtime can run inside
 * either. */
enum { LAYERS = 3 };
static const char *const layers_of[][LAYERS + 1] = {
    {"qemu", "process"},
    {"qemu", "oci"},
    {"qemu", "wasm"},
    {"qemu", "process", "wasm"},
    {"qemu", "oci", "wasm"},
    {"firecracker", "process"},
    {"firecracker", "oci"},
    {"firecracker", "wasm"},
    {"firecracker", "process", "wasm"},
    {"firecracker", "oci", "wasm"},
    {"kata", "process"},
    {"process", "wasm"},
    {"process", "wasmedge"},
};

static bool are(const struct tc_strv *layers, const char *const *names)
{
    size_t n = 0;
    while (n < layers->count && names[n] && strcmp(layers->items[n], names[n]) == 0)
        n++;
    return n == layers->count && !names[n];
}

static const struct tc_backend *kind_at(const struct tc_strv *layers, size_t at)
{
    return at < layers->count ? tc_backend_find(layers->items[at]) : NULL;
}

/* The backend is the VM, the outermost layer; without a VM, the module runtime, the innermost. */
const char *tc_backend_of_layers(const struct tc_strv *layers)
{
    const struct tc_backend *outer = kind_at(layers, 0);
    for (size_t i = 0; i < TC_COUNT(layers_of); i++)
        if (are(layers, layers_of[i]))
            return outer->kind == TC_BACKEND_MACHINE ? outer->name
                                                     : layers->items[layers->count - 1];
    return NULL;
}

const char *tc_backend_within(const struct tc_strv *layers)
{
    return layers->count > 1 ? layers->items[1] : TC_BACKEND_DEFAULT;
}

bool tc_backend_runs_module(const struct tc_strv *layers)
{
    const struct tc_backend *inner = kind_at(layers, layers->count - 1);
    return inner && inner->kind == TC_BACKEND_MODULE;
}

/* The bit of a value; 0: unknown value. */
static unsigned bit_of(const char *const *words, const char *word)
{
    for (unsigned i = 0; words[i]; i++)
        if (tc_streq(words[i], word))
            return 1u << i;
    return 0;
}

const char *tc_backend_of_tier(const char *tier)
{
    unsigned bit = bit_of(tc_values_tier, tier);
    for (const struct tc_backend *b = tc_backends; b->name; b++)
        if (b->tiers & bit)
            return b->name;
    return TC_BACKEND_DEFAULT;
}

const char *tc_backend_of_risk(const char *risk)
{
    unsigned bit = bit_of(tc_values_risk, risk);
    for (const struct tc_backend *b = tc_backends; b->name; b++)
        if (b->risks & bit)
            return b->name;
    return TC_BACKEND_DEFAULT;
}

bool tc_tier_asks(const char *tier)
{
    return bit_of(tc_values_tier, tier) & (HUMAN_APPROVE | MANUAL_ONLY);
}
