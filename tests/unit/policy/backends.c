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
static void each_tier_and_risk_has_one_backend(void **state)
{
    unsigned tiers = 0, risks = 0;
    for (const struct tc_backend *b = tc_backends; b->name; b++) {
        assert_false(tiers & b->tiers);
        assert_false(risks & b->risks);
        assert_false((b->tiers | b->risks) && b->kind == TC_BACKEND_NOTHING);
        tiers |= b->tiers;
        risks |= b->risks;
    }
    assert_int_equal(tiers, all_of(tc_words_tier));
    assert_int_equal(risks, all_of(tc_words_risk));
}

/* Nothing that it names is unknown to the language. */
static void each_row_is_whole(void **state)
{
    for (size_t i = 0; tc_backends[i].name; i++) {
        const struct tc_backend *b = &tc_backends[i];
        const struct tc_key *table = tc_key_find(tc_keys, TC_SCOPE_BACKENDS, b->name);
        assert_string_equal(tc_words_backend[i], b->name);
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
        cmocka_unit_test(each_tier_and_risk_has_one_backend),
        cmocka_unit_test(each_row_is_whole),
        cmocka_unit_test(settings_are_found_by_their_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
