/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of stories on the model of leased tickets. */
#ifndef HF_TESTS_UNIT_LEASED_FIXTURE_H
#define HF_TESTS_UNIT_LEASED_FIXTURE_H

#include "leased_model.h"

/* The story's own, from the test's begin(), which makes it, to finish(). */
extern struct leased_model *model;

#define LEASED_TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
int finish(void **state);

/* What was told since the last time. */
#define EXPECT_EVENTS(store, text)                                             \
    assert_string_equal(model_events(store), text)

/* Run until ${text} is in what the client is told, at most ${ms}; when that
 * was. */
uint64_t run_until_event(struct hf_store *store, const char *text, uint64_t ms);

#endif
