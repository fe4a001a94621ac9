/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One source for the ways to use a client: a case is a function that takes the
 * way, its argument ${way}, and becomes a test for each way in which it makes
 * sense.  The body follows:
 *
 *     TEST_IN_EACH_WAY(name)      in all four
 *     TEST_WITH_CALLBACKS(name)   not in calls that wait: without a callback
 *                                 there is no hf_op to cancel by
 *     TEST_WITHOUT_UV(name)       not on a borrowed loop, where calls that wait
 *                                 are refused
 */
#ifndef HF_TESTS_CLIENT_IN_EACH_WAY_H
#define HF_TESTS_CLIENT_IN_EACH_WAY_H

#include "cmocka/runner.h"

#define TEST_IN_WAY(name, suffix, way)                                         \
    TEST(name##_##suffix)                                                      \
    {                                                                          \
        name(way);                                                             \
    }

#define TEST_WITH_CALLBACKS(name)                                              \
    static void name(enum way way);                                            \
    TEST_IN_WAY(name, thread, WAY_THREAD)                                      \
    TEST_IN_WAY(name, dispatch, WAY_DISPATCH)                                  \
    TEST_IN_WAY(name, uv, WAY_UV)                                              \
    static void name(enum way way)

#define TEST_WITHOUT_UV(name)                                                  \
    static void name(enum way way);                                            \
    TEST_IN_WAY(name, blocking, WAY_BLOCKING)                                  \
    TEST_IN_WAY(name, thread, WAY_THREAD)                                      \
    TEST_IN_WAY(name, dispatch, WAY_DISPATCH)                                  \
    static void name(enum way way)

#define TEST_IN_EACH_WAY(name)                                                 \
    static void name(enum way way);                                            \
    TEST_IN_WAY(name, blocking, WAY_BLOCKING)                                  \
    TEST_IN_WAY(name, thread, WAY_THREAD)                                      \
    TEST_IN_WAY(name, dispatch, WAY_DISPATCH)                                  \
    TEST_IN_WAY(name, uv, WAY_UV)                                              \
    static void name(enum way way)

#endif
