/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The table of backends, and what it decides where a policy names none. */
#include "policy/backends.h"
#include "policy/settings.h"
#include "test.h"

static unsigned all_of(const char *const *words)
{
    unsigned bits = 0;
    for (unsigned i = 0; words[i]; i++)
        bits |= 1u << i;
    return bits;
}

/* A word that stood for two backends would stand for the first one in silence. */
static void every_tier_and_risk_selects_one_backend(void **state)
{
    unsigned tiers = 0, risks = 0;
    for (const struct tc_backend *b = tc_backends; b->name; b++) {
        assert_false(tiers & b->tiers);
        assert_false(risks & b->risks);
        assert_false((b->tiers | b->risks) && b->kind == TC_BACKEND_NOTHING);
        tiers |= b->tiers;
        risks |= b->risks;
    }
    assert_int_equal(tiers, all_of(tc_values_tier));
    assert_int_equal(risks, all_of(tc_values_risk));
}

/* What a policy means that names none, and what `policy diff` holds against what. */
static void backend_properties_are_as_listed(void **state)
{
    enum { AUTO = 1, ASSISTED = 2, HUMAN_APPROVE = 4, MANUAL_ONLY = 8 };
    enum { PURE_COMPUTE = 1, FILE_OPS = 2, BUILD_TEST = 4, UNTRUSTED = 8 };
    static const struct tc_backend rows[] = {
        {"not-a-security-boundary", TC_BACKEND_NOTHING, 0, 0, 0, TC_KEY_NONE},
        {"process", TC_BACKEND_PROCESS, 1, AUTO, 0, TC_KEY_NONE},
        {"oci", TC_BACKEND_CONTAINER, 1, 0, FILE_OPS | BUILD_TEST, TC_KEY_IMAGE},
        {"podman", TC_BACKEND_CONTAINER, 1, 0, 0, TC_KEY_NONE},
        {"docker", TC_BACKEND_CONTAINER, 1, 0, 0, TC_KEY_NONE},
        {"containerd", TC_BACKEND_CONTAINER, 1, 0, 0, TC_KEY_NONE},
        {"gvisor", TC_BACKEND_SENTRY, 2, ASSISTED | HUMAN_APPROVE, 0, TC_KEY_NONE},
        {"firecracker", TC_BACKEND_MACHINE, 3, MANUAL_ONLY, UNTRUSTED, TC_KEY_NONE},
        {"qemu", TC_BACKEND_MACHINE, 3, 0, 0, TC_KEY_NONE},
        {"wasm", TC_BACKEND_MODULE, TC_STRENGTH_UNKNOWN, 0, PURE_COMPUTE, TC_KEY_MODULE},
        {"wasmtime", TC_BACKEND_MODULE, TC_STRENGTH_UNKNOWN, 0, 0, TC_KEY_NONE},
        {"wasmedge", TC_BACKEND_MODULE, TC_STRENGTH_UNKNOWN, 0, 0, TC_KEY_NONE},
        {"kata", TC_BACKEND_MACHINE, 3, 0, 0, TC_KEY_NONE},
        {"kubernetes", TC_BACKEND_CLUSTER, TC_STRENGTH_UNKNOWN, 0, 0, TC_KEY_NONE},
    };
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        const struct tc_backend *b = &tc_backends[i];
        assert_string_equal(b->name, rows[i].name);
        if (b->kind != rows[i].kind || b->strength != rows[i].strength ||
            b->tiers != rows[i].tiers || b->risks != rows[i].risks || b->key != rows[i].key)
            fail_msg("%s is another", b->name);
    }
    assert_null(tc_backends[TC_COUNT(rows)].name);
}

/* Whose each of up to three layers is; 0 stands for none. */
static void note_layers(struct tc_buf *out, size_t a, size_t b, size_t c)
{
    char *names[] = {(char *)tc_backends[a].name, b ? (char *)tc_backends[b - 1].name : NULL,
                     c ? (char *)tc_backends[c - 1].name : NULL, NULL};
    const struct tc_strv layers = {names, 1 + (b > 0) + (c > 0)};
    const char *whose = tc_backend_of_layers(&layers);
    if (whose)
        tc_buf_addf(out, "%s %s%s%s: %s\n", names[0], b ? names[1] : "", c ? " " : "",
                    c ? names[2] : "", whose);
}

static void supported_layers_select_their_backend(void **state)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    for (size_t a = 0; tc_backends[a].name; a++)
        for (size_t b = 0; b == 0 || tc_backends[b - 1].name; b++)
            for (size_t c = 0; c == 0 || (b && tc_backends[c - 1].name); c++)
                note_layers(&out, a, b, c);
    assert_string_equal(out.data, "process wasm: wasm\n"
                                  "process wasmedge: wasmedge\n"
                                  "firecracker process: firecracker\n"
                                  "firecracker process wasm: firecracker\n"
                                  "firecracker oci: firecracker\n"
                                  "firecracker oci wasm: firecracker\n"
                                  "firecracker wasm: firecracker\n"
                                  "qemu process: qemu\n"
                                  "qemu process wasm: qemu\n"
                                  "qemu oci: qemu\n"
                                  "qemu oci wasm: qemu\n"
                                  "qemu wasm: qemu\n"
                                  "kata process: kata\n");
}

/* Nothing that it names is unknown to the language. */
static void backend_rows_are_complete(void **state)
{
    for (size_t i = 0; tc_backends[i].name; i++) {
        const struct tc_backend *b = &tc_backends[i];
        const struct tc_key *table = tc_key_find(tc_keys, TC_SCOPE_BACKENDS, b->name);
        assert_string_equal(tc_values_backend[i], b->name);
        assert_ptr_equal(tc_backend_find(b->name), b);
        assert_int_equal(table != NULL, b->scope != TC_SCOPE_FILE);
        assert_true(b->strength >= TC_STRENGTH_UNKNOWN);
    }
    assert_null(tc_backend_find("docker-in-docker"));
    assert_int_equal(tc_backend_strength("docker-in-docker"), TC_STRENGTH_UNKNOWN);
}

static void settings_are_found_by_their_whole_name(void **state)
{
    _autostrv_ struct tc_strv settings = {0};
    assert_true(tc_strv_add(&settings, "oci.runtimes=x"));
    assert_true(tc_strv_add(&settings, "oci.runtime=runc=2"));
    assert_string_equal(tc_setting(&settings, "oci.runtime"), "runc=2");
    assert_null(tc_setting(&settings, "oci.run"));
    assert_string_equal(tc_setting_of("oci.runtime=runc", "oci"), "runtime=runc");
    assert_null(tc_setting_of("oci.runtime=runc", "oc"));
    assert_null(tc_setting_of("oci.runtime=runc", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tier_and_risk_selects_one_backend),
        cmocka_unit_test(backend_properties_are_as_listed),
        cmocka_unit_test(supported_layers_select_their_backend),
        cmocka_unit_test(backend_rows_are_complete),
        cmocka_unit_test(settings_are_found_by_their_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
