/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the suite: kinds of tickets, and whom the admission rule lets in by
 * the lists of the engine.  Their state is the conformance_fixture. */
#ifndef HF_TESTS_CONFORMANCE_KINDS_H
#define HF_TESTS_CONFORMANCE_KINDS_H

#define KINDS_TESTS(X)                                                         \
    X(readers_share)                                                           \
    X(a_writer_waits_for_all_ahead)                                            \
    X(a_reader_waits_for_the_nearest_writer)                                   \
    X(a_release_wakes_whom_it_concerns)                                        \
    X(readers_do_not_starve_a_writer)                                          \
    X(another_family_is_refused)                                               \
    X(an_election_is_won_in_queue_order)                                       \
    X(fn04_a_downgraded_writer_keeps_its_position)                             \
    X(a_downgrade_lets_readers_in)                                             \
    X(a_downgrade_wakes_its_own_session)                                       \
    X(a_downgrade_is_idempotent)                                               \
    X(what_is_gone_cannot_be_downgraded)                                       \
    X(a_downgraded_ticket_is_watched_anew)                                     \
    X(a_downgrade_keeps_a_request_to_let_go)                                   \
    X(a_request_to_let_go_finds_what_is_downgraded)                            \
    X(an_eviction_finds_what_is_downgraded)                                    \
    X(a_downgrade_and_a_removal_leave_nothing)                                 \
    X(a_downgraded_writer_describes_itself)

#define KINDS_DECLARE(name) void name(void **state);
KINDS_TESTS(KINDS_DECLARE)
#undef KINDS_DECLARE

#endif
