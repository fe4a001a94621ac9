/* SPDX-License-Identifier: Apache-2.0 */
/* Shared texts (base/shared_text.h): equal ones that are kept one after the
 * other are one copy. */

#include "base/shared_text.h"
#include "cmocka/runner.h"
#include "tracked_heap.h"

TEST(equal_texts_are_one)
{
    struct hf_shared_texts texts = {NULL};
    struct hf_shared_text *a = NULL, *b = NULL, *c = NULL;

    assert_true(hf_shared_text_set(&texts, &a, "the session is over"));
    assert_true(hf_shared_text_set(&texts, &b, "the session is over"));
    assert_true(hf_shared_text_set(&texts, &c, "busy"));
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    hf_shared_text_clear(&texts, &a);
    assert_null(a);
    assert_string_equal(hf_shared_text_get(b), "the session is over");
    hf_shared_text_clear(&texts, &b);
    assert_ptr_equal(texts.last, c);
    hf_shared_text_clear(&texts, &c);
    assert_null(texts.last);
}

TEST(another_takes_the_place_of_the_first)
{
    struct hf_shared_texts texts = {NULL};
    struct hf_shared_text *a = NULL;

    assert_string_equal(hf_shared_text_get(a), "");
    assert_true(hf_shared_text_set(&texts, &a, "one"));
    assert_true(hf_shared_text_set(&texts, &a, hf_shared_text_get(a)));
    assert_string_equal(hf_shared_text_get(a), "one");
    assert_true(hf_shared_text_set(&texts, &a, hf_shared_text_get(a) + 1));
    assert_string_equal(hf_shared_text_get(a), "ne");
    assert_true(hf_shared_text_set(&texts, &a, ""));
    assert_null(a);
    assert_null(texts.last);
}

TEST(without_memory_there_is_none)
{
    struct hf_shared_texts texts = {NULL};
    struct hf_shared_text *a = NULL, *b = NULL;

    assert_true(hf_shared_text_set(&texts, &a, "one"));
    tracked_heap_fail(true);
    assert_true(hf_shared_text_set(&texts, &b, "one")); /* which is there */
    assert_false(hf_shared_text_set(&texts, &b, "two"));
    assert_null(b);
    assert_true(hf_shared_text_set(&texts, &b, ""));
    tracked_heap_fail(false);
    hf_shared_text_clear(&texts, &a);
    assert_null(texts.last);
}

TEST_FILE(text)
{
    tracked_heap_install();
    return RUN_TESTS(NULL, NULL);
}
