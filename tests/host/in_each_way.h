/* SPDX-License-Identifier: Apache-2.0 */
/* Include after defining CASES(X): makes a cmocka test of each story in each
 * way to use a client, and CASE_TESTS to list them. */

#define CASE_IN_WAY(scenario, name, way)                                       \
    static void scenario##_##name(void **state)                                \
    {                                                                          \
        (void)state;                                                           \
        scenario(way);                                                         \
    }

#define CASE_IN_EACH_WAY(scenario)                                             \
    CASE_IN_WAY(scenario, blocking, WAY_BLOCKING)                              \
    CASE_IN_WAY(scenario, thread, WAY_THREAD)                                  \
    CASE_IN_WAY(scenario, dispatch, WAY_DISPATCH)                              \
    CASE_IN_WAY(scenario, uv, WAY_UV)

CASES(CASE_IN_EACH_WAY)

#define CASE_TESTS(scenario)                                                   \
    cmocka_unit_test(scenario##_blocking),                                     \
        cmocka_unit_test(scenario##_thread),                                   \
        cmocka_unit_test(scenario##_dispatch),                                 \
        cmocka_unit_test(scenario##_uv),
