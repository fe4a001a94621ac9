/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something that a contender of holdfast torture wants again and again, and has
 * for a moment: what it does and is told it notes in the history.
 *
 *   IDLE      wants nothing until .until_ms
 *   WAITING   has asked for it
 *   HOLDING   was granted it, and lets go at .until_ms
 *   CHANGING  holds it and has asked to be a reader
 *   RELEASING is about to be without it
 */
#ifndef HF_CLI_BID_H
#define HF_CLI_BID_H

#include <stdatomic.h>

#include <holdfast/holdfast.h>

#include "core/random.h"
#include "history/note.h"

enum hf_bid_kind {
    HF_BID_MUTEX,
    HF_BID_TOOL,      /* a mutex, too, by holdfast run */
    HF_BID_REENTRANT, /* a mutex, too, that counts */
    HF_BID_RWLOCK,
    HF_BID_SEMAPHORE,
    HF_BID_SEVERAL, /* one of two mutexes, or both */
    HF_BID_ELECTION,
};
#define HF_BIDS 7

/* How many locks one is for, at most. */
#define HF_BID_LOCKS 2

/* A bid looks so often whether there is something to do. */
#define HF_BID_LOOK_MS 20

/* What a lock protects: it takes no write with a token less than it has seen.
 * In memory that all contenders share. */
struct hf_resource {
    _Atomic uint64_t token;
    _Atomic unsigned holder; /* the .number of one that holds; 0: nobody */
};

enum hf_bid_state {
    HF_BID_IDLE,
    HF_BID_WAITING,
    HF_BID_HOLDING,
    HF_BID_CHANGING,
    HF_BID_RELEASING,
};

struct hf_bidder {
    struct hf_client *client;
    const char *name; /* of the client, in the history */
    unsigned number;  /* among all contenders, from 1 */
    int history;      /* a pipe: where it notes */
};

struct hf_stake {
    const char *name; /* of the lock */
    struct hf_resource *resource;
    bool wanted; /* this time */
    uint64_t token;
};

struct hf_bid {
    const struct hf_bid_rules *rules;
    const struct hf_bidder *bidder;
    struct hf_random random;
    struct hf_stake stakes[HF_BID_LOCKS];
    unsigned stake_count;
    enum hf_bid_state state;
    bool ending; /* nothing more is to be wanted */
    uint64_t until_ms;
    uint64_t safe_until_us; /* as noted last */
    int fd;                 /* readable when there is something to do; or -1 */
    int exit_code; /* of a failure that trying again does not mend; it has been
                      said */
};

/* What a kind of bid does. */
struct hf_bid_rules {
    /* ${error} says why not; .close() is called all the same. */
    hf_status (*open)(struct hf_bid *bid, struct hf_error *error);
    /* Look what there is to do. */
    void (*advance)(struct hf_bid *bid);
    void (*close)(struct hf_bid *bid);
};

/* Make a new one of ${kind}, IDLE, for .stakes with names and resources; NULL
 * when there is no memory.  Wants hf_bid_free(), after .close(). */
struct hf_bid *hf_bid_new(enum hf_bid_kind kind);
void hf_bid_free(struct hf_bid *bid);

/* For the kinds: each is a struct that begins with its hf_bid. */
struct hf_bid *hf_bid_new_lock(enum hf_bid_kind kind);
struct hf_bid *hf_bid_new_election(void);
struct hf_bid *hf_bid_new_tool(void);
struct hf_bid *hf_bid_new_reentrant(void);

/* ----------------------------------------------------------------- notes -- */

uint64_t hf_bid_now_us(void);

/* Note it of each lock that is wanted. */
void hf_bid_note(const struct hf_bid *bid, enum hf_note_word word);

/* Note that it wants its locks as ${kind}. */
void hf_bid_note_want(const struct hf_bid *bid, enum hf_kind kind,
                      uint32_t permits, uint32_t limit);

/* GRANT or HELD, until ${safe_until_us}; 0, for it is lost already: no longer
 * than now. */
void hf_bid_note_promise(struct hf_bid *bid, enum hf_note_word word,
                         uint64_t safe_until_us);

/* SEEN at ${at_us}, by one who is given no promises. */
void hf_bid_note_seen(const struct hf_bid *bid, uint64_t at_us);

/* HELD, if the promise has moved.  A loss is none. */
void hf_bid_note_new_promise(struct hf_bid *bid, uint64_t safe_until_us);

/* A promise as the library has it, as a time of the history. */
uint64_t hf_bid_promise_us(uint64_t safe_until_ms);

/* ----------------------------------------------------------------- moves -- */

bool hf_bid_one_in(struct hf_bid *bid, uint64_t count);

/* WAITING, without a token. */
void hf_bid_wait(struct hf_bid *bid);

/* HOLDING for a while, and the tormentor knows. */
void hf_bid_hold(struct hf_bid *bid);
void hf_bid_hold_on(struct hf_bid *bid);

/* It holds no more, nor does the tormentor think so. */
void hf_bid_let_go(struct hf_bid *bid);

/* IDLE for a while. */
void hf_bid_rest(struct hf_bid *bid);

/* Note that it gives up, and IDLE.  Some failures are part of the game: an
 * engine that cannot be reached.  Others end it. */
void hf_bid_give_up(struct hf_bid *bid, hf_status status, const char *text);

/* Write to what the locks protect, and note how that went. */
void hf_bid_write_fenced(struct hf_bid *bid);

/* How long one that is not patient waits. */
uint64_t hf_bid_patience_ms(struct hf_bid *bid);

#endif
