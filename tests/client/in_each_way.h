/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One source for the ways to use a client: a case is a function that takes the
 * way, and becomes a cmocka test for each way in which it makes sense.
 *
 *     CASES(X)                   in all four
 *     CASES_WITH_CALLBACKS(X)    not in calls that wait: without a callback
 *                                there is no hf_op to cancel by
 *     CASES_WITHOUT_UV(X)        not on a borrowed loop, where calls that wait
 *                                are refused
 *
 * Define those that the file has, as X(case) for each case, and include this
 * file.  The table of tests is then CASES(CASE_TESTS),
 * CASES_WITH_CALLBACKS(CASE_TESTS_WITH_CALLBACKS) and so on, without commas.
 */

#define CASE_IN_WAY(name, suffix, way)                                         \
    static void name##_##suffix(void **state)                                  \
    {                                                                          \
        (void)state;                                                           \
        name(way);                                                             \
    }

#define CASE_WITH_CALLBACKS(name)                                              \
    CASE_IN_WAY(name, thread, WAY_THREAD)                                      \
    CASE_IN_WAY(name, dispatch, WAY_DISPATCH)                                  \
    CASE_IN_WAY(name, uv, WAY_UV)

#define CASE_WITHOUT_UV(name)                                                  \
    CASE_IN_WAY(name, blocking, WAY_BLOCKING)                                  \
    CASE_IN_WAY(name, thread, WAY_THREAD)                                      \
    CASE_IN_WAY(name, dispatch, WAY_DISPATCH)

#define CASE_IN_EACH_WAY(name)                                                 \
    CASE_IN_WAY(name, blocking, WAY_BLOCKING)                                  \
    CASE_WITH_CALLBACKS(name)

CASES(CASE_IN_EACH_WAY)
#ifdef CASES_WITH_CALLBACKS
CASES_WITH_CALLBACKS(CASE_WITH_CALLBACKS)
#endif
#ifdef CASES_WITHOUT_UV
CASES_WITHOUT_UV(CASE_WITHOUT_UV)
#endif

#define CASE_TESTS(name)                                                       \
    cmocka_unit_test(name##_blocking), CASE_TESTS_WITH_CALLBACKS(name)

#define CASE_TESTS_WITH_CALLBACKS(name)                                        \
    cmocka_unit_test(name##_thread), cmocka_unit_test(name##_dispatch),        \
        cmocka_unit_test(name##_uv),

#define CASE_TESTS_WITHOUT_UV(name)                                            \
    cmocka_unit_test(name##_blocking), cmocka_unit_test(name##_thread),        \
        cmocka_unit_test(name##_dispatch),
