/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are kept: equal ones that come one after the other are one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/text.h"
#include "shelf.h"

static void equal_texts_are_one(void **state)
{
    struct hf_texts texts = {NULL};
    struct hf_text *a = NULL, *b = NULL, *c = NULL;

    (void)state;
    assert_true(hf_text_keep(&texts, &a, "the session is over"));
    assert_true(hf_text_keep(&texts, &b, "the session is over"));
    assert_true(hf_text_keep(&texts, &c, "busy"));
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    hf_text_drop(&texts, &a);
    assert_null(a);
    assert_string_equal(hf_text_of(b), "the session is over");
    hf_text_drop(&texts, &b);
    assert_ptr_equal(texts.last, c);
    hf_text_drop(&texts, &c);
    assert_null(texts.last);
}

static void another_takes_the_place_of_the_first(void **state)
{
    struct hf_texts texts = {NULL};
    struct hf_text *a = NULL;

    (void)state;
    assert_string_equal(hf_text_of(a), "");
    assert_true(hf_text_keep(&texts, &a, "one"));
    assert_true(hf_text_keep(&texts, &a, hf_text_of(a)));
    assert_string_equal(hf_text_of(a), "one");
    assert_true(hf_text_keep(&texts, &a, hf_text_of(a) + 1));
    assert_string_equal(hf_text_of(a), "ne");
    assert_true(hf_text_keep(&texts, &a, ""));
    assert_null(a);
    assert_null(texts.last);
}

static void without_memory_there_is_none(void **state)
{
    struct hf_texts texts = {NULL};
    struct hf_text *a = NULL, *b = NULL;

    (void)state;
    assert_true(hf_text_keep(&texts, &a, "one"));
    shelf_refuse(true);
    assert_true(hf_text_keep(&texts, &b, "one")); /* which is there */
    assert_false(hf_text_keep(&texts, &b, "two"));
    assert_null(b);
    assert_true(hf_text_keep(&texts, &b, ""));
    shelf_refuse(false);
    hf_text_drop(&texts, &a);
    assert_null(texts.last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_are_one),
        cmocka_unit_test(another_takes_the_place_of_the_first),
        cmocka_unit_test(without_memory_there_is_none),
    };

    shelf_own();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
