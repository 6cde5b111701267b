/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "test.h"

#include "base/cleanup.h"
#include "policy/address.h"

static const struct {
    const char *text;
    enum tc_address_class class;
} rows[] = {
    {"93.184.216.34", TC_ADDRESS_PUBLIC},
    {"1.1.1.1", TC_ADDRESS_PUBLIC},
    {"172.15.255.255", TC_ADDRESS_PUBLIC},
    {"172.32.0.0", TC_ADDRESS_PUBLIC},
    {"100.63.255.255", TC_ADDRESS_PUBLIC},
    {"100.128.0.0", TC_ADDRESS_PUBLIC},
    {"198.17.255.255", TC_ADDRESS_PUBLIC},
    {"223.255.255.255", TC_ADDRESS_PUBLIC},
    {"127.0.0.1", TC_ADDRESS_LOOPBACK},
    {"127.255.255.254", TC_ADDRESS_LOOPBACK},
    {"10.0.0.0", TC_ADDRESS_PRIVATE},
    {"10.255.255.255", TC_ADDRESS_PRIVATE},
    {"172.16.0.1", TC_ADDRESS_PRIVATE},
    {"172.31.255.255", TC_ADDRESS_PRIVATE},
    {"192.168.0.1", TC_ADDRESS_PRIVATE},
    {"100.64.0.1", TC_ADDRESS_PRIVATE},
    {"169.254.1.1", TC_ADDRESS_LINK_LOCAL},
    {"169.254.169.254", TC_ADDRESS_METADATA},
    {"169.254.170.2", TC_ADDRESS_METADATA},
    {"100.100.100.200", TC_ADDRESS_METADATA},
    {"168.63.129.16", TC_ADDRESS_METADATA},
    {"0.0.0.0", TC_ADDRESS_RESERVED},
    {"0.1.2.3", TC_ADDRESS_RESERVED},
    {"198.18.0.1", TC_ADDRESS_RESERVED},
    {"198.19.255.255", TC_ADDRESS_RESERVED},
    {"240.0.0.1", TC_ADDRESS_RESERVED},
    {"255.255.255.255", TC_ADDRESS_RESERVED},
    {"224.0.0.1", TC_ADDRESS_MULTICAST},
    {"192.0.2.1", TC_ADDRESS_DOCUMENTATION},
    {"2606:4700::1111", TC_ADDRESS_PUBLIC},
    {"2a00:1450:4001::200e", TC_ADDRESS_PUBLIC},
    {"::1", TC_ADDRESS_LOOPBACK},
    {"::", TC_ADDRESS_RESERVED},
    {"fe80::1", TC_ADDRESS_LINK_LOCAL},
    {"febf::1", TC_ADDRESS_LINK_LOCAL},
    {"fec0::1", TC_ADDRESS_PRIVATE},
    {"fc00::1", TC_ADDRESS_PRIVATE},
    {"fdff::1", TC_ADDRESS_PRIVATE},
    {"fd00:ec2::254", TC_ADDRESS_METADATA},
    {"fd20:ce::254", TC_ADDRESS_METADATA},
    {"ff02::1", TC_ADDRESS_MULTICAST},
    {"2001:db8::1", TC_ADDRESS_DOCUMENTATION},
    {"3fff:fff::1", TC_ADDRESS_DOCUMENTATION},
    {"2001:2::1", TC_ADDRESS_RESERVED},
    {"2001:20::1", TC_ADDRESS_RESERVED},
    {"100::1", TC_ADDRESS_RESERVED},
    {"4000::1", TC_ADDRESS_RESERVED},
    {"5f00::1", TC_ADDRESS_RESERVED},
    /* an IPv4 address inside */
    {"::ffff:93.184.216.34", TC_ADDRESS_PUBLIC},
    {"::ffff:127.0.0.1", TC_ADDRESS_LOOPBACK},
    {"::ffff:169.254.169.254", TC_ADDRESS_METADATA},
    {"::ffff:0:10.0.0.1", TC_ADDRESS_PRIVATE},
    {"::127.0.0.1", TC_ADDRESS_LOOPBACK},
    {"::93.184.216.34", TC_ADDRESS_RESERVED},
    {"64:ff9b::93.184.216.34", TC_ADDRESS_PUBLIC},
    {"64:ff9b::10.0.0.1", TC_ADDRESS_PRIVATE},
    {"64:ff9b::a9fe:a9fe", TC_ADDRESS_METADATA},
    {"64:ff9b:1::93.184.216.34", TC_ADDRESS_RESERVED},
    {"64:ff9b:1::127.0.0.1", TC_ADDRESS_LOOPBACK},
    {"2002:7f00:1::1", TC_ADDRESS_LOOPBACK},
    {"2002:a9fe:a9fe::", TC_ADDRESS_METADATA},
    {"2002:5db8:d822::1", TC_ADDRESS_RESERVED},
    {"2001:0:1:2:3:4:80ff:fffe", TC_ADDRESS_LOOPBACK},
    {"2001:0:1:2:3:4:a247:27dd", TC_ADDRESS_RESERVED},
    {"2606:4700::5efe:10.0.0.1", TC_ADDRESS_PRIVATE},
    {"2606:4700::200:5efe:127.0.0.1", TC_ADDRESS_LOOPBACK},
    {"2606:4700::5efe:93.184.216.34", TC_ADDRESS_PUBLIC},
};

static void addresses_have_their_class(void **state)
{
    for (size_t i = 0; i < TC_COUNT(rows); i++) {
        enum tc_address_class class = TC_ADDRESS_PUBLIC;
        assert_true(tc_address_class_of(rows[i].text, &class));
        if (class != rows[i].class)
            print_error("%s is %d, not %d\n", rows[i].text, (int)class, (int)rows[i].class);
        assert_int_equal(class, rows[i].class);
    }
}

static void other_spellings_are_no_addresses(void **state)
{
    static const char *const texts[] = {"",           "2130706433", "0x7f000001", "0x7f.1",
                                        "0177.0.0.1", "127.1",      "1.2.3.4.",   "[::1]",
                                        "fe80::1%lo", "1.2.3.4:80", "a"};
    enum tc_address_class class;
    for (size_t i = 0; i < TC_COUNT(texts); i++)
        assert_false(tc_address_class_of(texts[i], &class));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_have_their_class),
        cmocka_unit_test(other_spellings_are_no_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
