/* SPDX-License-Identifier: Apache-2.0 */
/* What test files on the model of leased tickets share. */
#ifndef HF_TESTS_UNIT_LEASED_FIXTURE_H
#define HF_TESTS_UNIT_LEASED_FIXTURE_H

#include "leased_model.h"

/* The model of the test that runs now.  The set-up begin() of each file makes
 * it, and finish() frees it. */
extern struct leased_model *model;

#define LEASED_TEST(name) TEST_WITH(name, begin, finish)
int finish(void **state);

/* The events of ${store} since the last time must be ${text}. */
#define EXPECT_EVENTS(store, text)                                             \
    assert_string_equal(model_events(store), text)

/* Run until an event of the client has ${text} in it, at most ${ms}, or fail.
 * The time of that event. */
uint64_t run_until_event(struct hf_store *store, const char *text, uint64_t ms);

#endif
