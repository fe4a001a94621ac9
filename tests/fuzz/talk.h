/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation of the client of leased tickets with a server that says what
 * the input says: what is asked, what becomes of the link, and, put into the
 * words of a kind of server by the target, what is answered and told. */
#ifndef HF_TESTS_FUZZ_TALK_H
#define HF_TESTS_FUZZ_TALK_H

#include "engines/leased/leased.h"

#define TALK_REQUESTS 64
#define TALK_CALLS 128

struct talk;

struct talk_request {
    struct hf_request request; /* first: events lead back to it */
    bool asked;                /* and not ended */
    bool answered;             /* a WATCH or LOOK that goes on */
};

/* What the target does.  ${store} is its own. */
struct talk_words {
    /* Say the answer to ${call}, which is not under way any more: by
     * hf_leased_answered(), or by talk_down() where it makes no sense. */
    void (*answer)(struct talk *talk, struct hf_store_call *call);
    void (*notice)(struct talk *talk);
};

struct talk {
    const struct talk_words *words;
    struct hf_leased *leased;
    const uint8_t *bytes;
    size_t left;
    uint64_t now_ms;
    bool linked, up, closed;
    bool proving; /* a PROVE is under way: there is one at a time */
    struct hf_store_call *calls[TALK_CALLS]; /* oldest first */
    size_t call_count;
    struct talk_request requests[TALK_REQUESTS];
};

/* Carry out the input with a client whose store is ${store}; everything that
 * was asked is answered in the end, once. */
void talk_run(struct talk *talk, const struct talk_words *words,
              struct hf_store *store, const uint8_t *bytes, size_t count);

/* The next byte of the input, behind its end 0; and so many bytes of it, less
 * at its end, with the number of them in ${count}. */
uint8_t talk_next(struct talk *talk);
const uint8_t *talk_some(struct talk *talk, size_t *count);

/* The store finds the link of no use. */
void talk_down(struct talk *talk);

/* The store's functions find it so. */
struct talk *talk_of(struct hf_store *store);

#endif
