/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safe-until for readers in any thread and in signal handlers: one word for
 * each session, however many grants depend on it, and one flag for each grant
 * of the user, which says whether the word is about that grant.
 *
 *   The reader loads the word first and the flag second.
 *   The core clears the flags of a session before it stores a value of another.
 *
 * So a reader that has loaded a value of a later session finds its flag
 * cleared, and a reader that finds the flag set has loaded a value of the
 * session of its grant.  If either order were reversed, a reader that is
 * interrupted could take the value of a new session for that of a grant that is
 * lost.  There is no lock and no loop, because a signal handler may have
 * interrupted the thread that it would wait for.
 *
 * A flag is set once in the life of a grant, before anybody knows of the grant.
 * A handle whose grants follow one another must also check that the grant after
 * the loads is the one from before them, because the value may be of an earlier
 * session than the flag.  See hf_election_safe_until_ms(). proof/safe_until.pml
 * checks every order of the loads and stores.
 */
#ifndef HF_CORE_PUBLISHED_SAFE_UNTIL_H
#define HF_CORE_PUBLISHED_SAFE_UNTIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Without such atomics the compiler takes a lock of its own around each access,
 * and a signal handler that interrupts the owner of that lock waits for ever.
 */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_BOOL_LOCK_FREE == 2,
               "holdfast needs 64-bit atomics that are lock-free, because "
               "signal handlers read them; build for a processor that has "
               "them, for instance with -march=armv7-a or -march=i586");

#define HF_CACHE_LINE_BYTES 64

/* The word, alone in its cache line, because threads poll it. */
struct hf_safe_until {
    char pad_before[HF_CACHE_LINE_BYTES];
    _Atomic uint64_t ms; /* 0: nothing is proven; HF_FOREVER: no lease */
    /* Grants outlast safe-until.  The same for all sessions of a client, so it
     * does not matter when it is loaded. */
    _Atomic bool lazy;
    char pad_after[HF_CACHE_LINE_BYTES - 2 * sizeof(uint64_t)];
};

/* A reading in two steps, for tests. */
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

/* Both steps.  Any thread; async-signal-safe. */
uint64_t hf_safe_until_read(const struct hf_safe_until *word,
                            const _Atomic bool *valid);

/* Have all readers see ${ms} from now on.  Async-signal-safe. */
void hf_safe_until_store(struct hf_safe_until *word, uint64_t ms);

#endif
