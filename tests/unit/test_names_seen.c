/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over names ends, whatever a server says. */
#include <stdio.h>
#include <string.h>

#include "client/names_page.h"
#include "cmocka/runner.h"

/* A cursor that never comes again. */
static bool goes_on(struct hf_names_seen *seen)
{
    static unsigned page;
    char cursor[32];

    (void)snprintf(cursor, sizeof cursor, "%u", ++page);
    return hf_names_seen_goes_on(seen, cursor, strlen(cursor));
}

TEST(no_name_comes_twice)
{
    struct hf_names_seen seen = {0};
    bool added;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < 1000; i++) {
            char name[32];

            (void)snprintf(name, sizeof name, "name-%u", i);
            assert_true(hf_names_seen_add(&seen, 'q', name, &added));
            assert_int_equal(added, pass == 0);
        }
    }
    assert_int_equal(seen.count, 1000);
    hf_names_seen_free(&seen);
}

TEST(too_many_names_end_a_walk)
{
    struct hf_names_seen seen = {.count = HF_NAMES_SEEN_MAX - 1};

    assert_true(goes_on(&seen));
    seen.count = HF_NAMES_SEEN_MAX;
    assert_true(goes_on(&seen));
    seen.count = HF_NAMES_SEEN_MAX + 1;
    assert_false(goes_on(&seen));
}

TEST(too_many_pages_without_a_new_name_end_a_walk)
{
    struct hf_names_seen seen = {.barren = HF_NAMES_BARREN_MAX - 2};

    assert_true(goes_on(&seen));
    assert_true(goes_on(&seen));
    assert_int_equal(seen.barren, HF_NAMES_BARREN_MAX);
    assert_false(goes_on(&seen));
    seen.count++; /* a new one */
    assert_true(goes_on(&seen));
    assert_int_equal(seen.barren, 1);
}

/* However long the circle is: its pages are not all remembered. */
TEST(a_walk_in_circles_ends)
{
    for (unsigned length = 1; length <= 300; length += 23) {
        struct hf_names_seen seen = {0};
        char cursor[32];
        unsigned page = 0;

        do {
            assert_true(page < 40 * length + 1000);
            (void)snprintf(cursor, sizeof cursor, "%u", page++ % length);
        } while (hf_names_seen_goes_on(&seen, cursor, strlen(cursor)));
        assert_int_equal(seen.returns, HF_NAMES_RETURNS_MAX + 1);
    }
}
