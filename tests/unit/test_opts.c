/* SPDX-License-Identifier: Apache-2.0 */
/* Option structures of other versions of the library: a field that an earlier
 * version does not have is the default, one that a later version sets is
 * refused. */
#include <string.h>

#include <holdfast/holdfast.h>
#include <holdfast/zookeeper.h>
#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>

#include "cmocka/runner.h"
#include "operation/opts_compat.h"

/* The structure in three releases. */
struct first_opts {
    size_t size;
    uint64_t a;
    uint32_t b; /* and padding, in most ABIs */
};

struct test_opts {
    size_t size;
    uint64_t a;
    uint32_t b;
    uint64_t c;
    uint64_t d;
};

struct later_opts {
    struct test_opts test_opts;
    uint64_t e;
    uint64_t f;
};

static const struct test_opts defaults = {sizeof(struct test_opts), 1, 2, 3, 4};

static const struct hf_opts_type type = {
    .initialiser = "OPTS_INIT",
    .first_bytes = offsetof(struct first_opts, b) + sizeof(uint32_t),
    .bytes = sizeof(struct test_opts),
    .defaults = &defaults,
};

static void check(const struct test_opts *taken, uint64_t a, uint32_t b,
                  uint64_t c, uint64_t d)
{
    assert_int_equal(taken->size, sizeof(*taken));
    assert_int_equal(taken->a, a);
    assert_int_equal(taken->b, b);
    assert_int_equal(taken->c, c);
    assert_int_equal(taken->d, d);
}

TEST(nothing_given_is_all_defaults)
{
    struct hf_error error;
    struct test_opts taken;

    assert_int_equal(hf_opts_copy(&type, NULL, &taken, &error), HF_OK);
    check(&taken, 1, 2, 3, 4);
}

/* Its padding has any bytes, and no field is read from it. */
TEST(what_is_smaller_is_filled_up)
{
    struct hf_error error;
    struct first_opts given;
    struct test_opts taken;

    memset(&given, 0xff, sizeof(given));
    given.size = sizeof(given);
    given.a = 10;
    given.b = 20;
    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error), HF_OK);
    check(&taken, 10, 20, 3, 4);
    given.size = type.first_bytes;
    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error), HF_OK);
    check(&taken, 10, 20, 3, 4);
}

TEST(one_between_sets_what_it_has)
{
    struct test_opts given = {offsetof(struct test_opts, d), 10, 20, 30, 40};
    struct hf_error error;
    struct test_opts taken;

    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error), HF_OK);
    check(&taken, 10, 20, 30, 4);
    given.size = sizeof(given);
    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error), HF_OK);
    check(&taken, 10, 20, 30, 40);
}

TEST(what_is_larger_must_end_in_zeros)
{
    struct later_opts given = {{sizeof(given), 10, 20, 30, 40}, 0, 0};
    struct hf_error error;
    struct test_opts taken;

    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error), HF_OK);
    check(&taken, 10, 20, 30, 40);
    for (size_t i = sizeof(given.test_opts); i < sizeof(given); i++) {
        ((unsigned char *)&given)[i] = 1;
        assert_int_equal(hf_opts_copy(&type, &given, &taken, &error),
                         HF_EUNSUPPORTED);
        assert_int_equal(error.status, HF_EUNSUPPORTED);
        assert_non_null(strstr(error.text, "newer holdfast"));
        check(&taken, 10, 20, 30, 40); /* with callbacks to be dropped */
        ((unsigned char *)&given)[i] = 0;
    }
}

/* Only the size is read. */
TEST(what_is_no_size_is_refused)
{
    const size_t sizes[] = {0, 1, type.first_bytes - 1, HF_OPTS_BYTES_MAX + 1,
                            SIZE_MAX};
    struct hf_error error;
    struct test_opts taken;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        memset(&taken, 0xff, sizeof(taken));
        assert_int_equal(hf_opts_copy(&type, &sizes[i], &taken, &error),
                         HF_EINVAL);
        assert_non_null(strstr(error.text, "OPTS_INIT"));
        check(&taken, 1, 2, 3, 4);
    }
}

/* The largest structure ends with the last byte that can be read. */
TEST(the_largest_is_taken)
{
    union {
        size_t size;
        unsigned char bytes[HF_OPTS_BYTES_MAX];
    } given;
    struct hf_error error;
    struct test_opts taken;

    /* From gcc 15 on an initialiser of a union clears no more than a member. */
    memset(&given, 0, sizeof(given));
    given.size = sizeof(given);
    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error), HF_OK);
    given.bytes[sizeof(given) - 1] = 1;
    assert_int_equal(hf_opts_copy(&type, &given, &taken, &error),
                     HF_EUNSUPPORTED);
}

/* Each public function that sets defaults, and its macro. */
#define CHECK_INIT(noun, NOUN, field)                                          \
    TEST(init_of_##noun)                                                       \
    {                                                                          \
        static const struct hf_##noun##_opts wanted = HF_##NOUN##_OPTS_INIT;   \
        struct {                                                               \
            struct hf_##noun##_opts opts;                                      \
            unsigned char behind[16];                                          \
        } made;                                                                \
        unsigned char zeros[16] = {0};                                         \
        size_t size = sizeof made.opts;                                        \
                                                                               \
        memset(&made, 0xa5, sizeof made);                                      \
        hf_##noun##_opts_init(&made.opts, size);                               \
        assert_memory_equal(&made.opts, &wanted, size);                        \
        assert_int_equal(made.behind[0], 0xa5);                                \
        /* A program that knows a field more, and one that knows one less. */  \
        hf_##noun##_opts_init(&made.opts, size + sizeof made.behind);          \
        assert_int_equal(made.opts.size, size + sizeof made.behind);           \
        assert_memory_equal(made.behind, zeros, sizeof zeros);                 \
        memset(&made, 0xa5, sizeof made);                                      \
        hf_##noun##_opts_init(&made.opts, size - 1);                           \
        assert_int_equal(made.opts.size, size - 1);                            \
        assert_int_equal(((unsigned char *)&made.opts)[size - 1], 0xa5);       \
    }
HF_OPTS_TABLE(CHECK_INIT)
