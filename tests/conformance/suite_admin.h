/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the suite: what an administrator does to a queue, that is detailed
 * lists, eviction, requests to let go, and new descriptions.  Their state is
 * the conformance_fixture. */
#ifndef HF_TESTS_CONFORMANCE_SUITE_ADMIN_H
#define HF_TESTS_CONFORMANCE_SUITE_ADMIN_H

#define ADMIN_TESTS(X)                                                         \
    X(detailed_lists_know_everything)                                          \
    X(detailed_lists_of_nobody_are_empty)                                      \
    X(detailed_lists_have_no_dead)                                             \
    X(detailed_lists_are_as_long_as_the_queue)                                 \
    X(detailed_lists_have_the_texts_that_are_wanted)                           \
    X(holders_can_be_evicted)                                                  \
    X(waiters_can_be_evicted)                                                  \
    X(what_is_gone_cannot_be_evicted)                                          \
    X(owners_learn_who_evicts_them)                                            \
    X(candidates_learn_who_evicts_them)                                        \
    X(owners_learn_it_from_their_own_session)                                  \
    X(owners_that_watch_late_learn_it_too)                                     \
    X(texts_of_evictions_cannot_deceive)                                       \
    X(evictions_need_not_say_anything)                                         \
    X(owners_are_notified_of_revocations)                                      \
    X(owners_are_notified_of_earlier_revocations)                              \
    X(nobody_asks_what_is_gone)                                                \
    X(one_may_ask_oneself)                                                     \
    X(owners_write_their_texts_again)                                          \
    X(texts_of_waiters_are_written_again)                                      \
    X(nothing_is_said_of_what_is_gone)

#define ADMIN_DECLARE(name) void name(void **state);
ADMIN_TESTS(ADMIN_DECLARE)
#undef ADMIN_DECLARE

#endif
