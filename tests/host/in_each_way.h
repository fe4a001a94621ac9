/* SPDX-License-Identifier: Apache-2.0 */
/* Include after defining STORIES(X): makes a cmocka test of each story in each
 * way to use a client, and STORY_TESTS to list them. */

#define STORY_IN_WAY(story, name, way)                                         \
    static void story##_##name(void **state)                                   \
    {                                                                          \
        (void)state;                                                           \
        story(way);                                                            \
    }

#define STORY_IN_EACH_WAY(story)                                               \
    STORY_IN_WAY(story, blocking, WAY_BLOCKING)                                \
    STORY_IN_WAY(story, thread, WAY_THREAD)                                    \
    STORY_IN_WAY(story, dispatch, WAY_DISPATCH)                                \
    STORY_IN_WAY(story, uv, WAY_UV)

STORIES(STORY_IN_EACH_WAY)

#define STORY_TESTS(story)                                                     \
    cmocka_unit_test(story##_blocking), cmocka_unit_test(story##_thread),      \
        cmocka_unit_test(story##_dispatch), cmocka_unit_test(story##_uv),
