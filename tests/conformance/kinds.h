/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of tickets, as the admission rule reads what an engine says of
 * them.  Tests of the suite; the bench is their state. */
#ifndef HF_TESTS_CONFORMANCE_KINDS_H
#define HF_TESTS_CONFORMANCE_KINDS_H

#define KINDS_TESTS(X)                                                         \
    X(readers_share)                                                           \
    X(a_writer_waits_for_all_ahead)                                            \
    X(a_reader_waits_for_the_nearest_writer)                                   \
    X(a_release_wakes_whom_it_concerns)                                        \
    X(readers_do_not_starve_a_writer)                                          \
    X(another_family_is_refused)

#define KINDS_DECLARE(name) void name(void **state);
KINDS_TESTS(KINDS_DECLARE)
#undef KINDS_DECLARE

#endif
