/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safe-until, for readers in any thread and in signal handlers: one word for
 * each session, however many grants depend on it, and one flag for each grant
 * that a user has, which says whether the word is about that grant.
 *
 *   The reader loads the word first and the flag second.
 *   The core clears the flags of a session before it stores a value of another.
 *
 * So a reader that has loaded a value of another session finds its flag
 * cleared, and one that finds the flag set has loaded a value of the session
 * that its grant belongs to.  In the other order of either, a reader that is
 * interrupted could take the value of a new session for one of a grant that is
 * lost. Nobody waits for anybody: there is no lock and no loop, because a
 * handler may have interrupted whoever it would wait for.
 *
 * A flag is set once in the life of a grant, before anybody hears of the grant.
 * A handle whose grants follow one another has to see besides that the grant is
 * the same after the loads as before: a value loaded earlier may be one of the
 * session before.  See hf_election_safe_until_ms().
 */
#ifndef HF_CORE_SAFE_UNTIL_H
#define HF_CORE_SAFE_UNTIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Elsewhere the compiler takes a lock of its own around each access, and a
 * signal handler that interrupts its owner waits for ever. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_BOOL_LOCK_FREE == 2,
               "holdfast needs 64-bit atomics that are lock-free, because "
               "signal handlers read them; build for a processor that has "
               "them, for instance with -march=armv7-a or -march=i586");

#define HF_CACHE_LINE_BYTES 64

/* Where threads poll the word, nothing that others write is in its line. */
struct hf_safe_until {
    char pad_before[HF_CACHE_LINE_BYTES];
    _Atomic uint64_t ms; /* 0: nothing is promised; HF_FOREVER: no lease */
    /* Grants outlast it.  Of all sessions of a client, so that it does not
     * matter when it is loaded. */
    _Atomic bool lazy;
    char pad_after[HF_CACHE_LINE_BYTES - 2 * sizeof(uint64_t)];
};

/* A reading in its two steps. */
struct hf_safe_until_reading {
    uint64_t ms;
    bool valid;
};

/* The first step, and the second one, which returns safe-until of the grant
 * with the flag ${valid}, or 0.  Anything may happen between them. */
void hf_safe_until_read_word(const struct hf_safe_until *word,
                             const _Atomic bool *valid,
                             struct hf_safe_until_reading *reading);
uint64_t hf_safe_until_read_flag(const struct hf_safe_until *word,
                                 const _Atomic bool *valid,
                                 struct hf_safe_until_reading *reading);

/* Both.  Any thread; async-signal-safe. */
uint64_t hf_safe_until_read(const struct hf_safe_until *word,
                            const _Atomic bool *valid);

/* All readers see ${ms} from now on.  Async-signal-safe. */
void hf_safe_until_store(struct hf_safe_until *word, uint64_t ms);

#endif
