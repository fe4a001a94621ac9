/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter of a root directory, ROOT/counter: one page that every process
 * maps. Each ticket of every lock takes the next number from it, which is its
 * place in the queue and its fencing token in one.
 *
 * A number is never handed out twice, and never below one that was handed out
 * before, also across reboots and loss of the file.  For that numbers are
 * reserved in blocks in a durable place (token_floor.h), and a new counter
 * starts above the reserved ones and above the microseconds of the wall clock.
 *
 * The page also has what processes share without a call of the
 * kernel: which tickets were first, how often one was renamed, and who waits
 * for a lock.
 */
#ifndef HF_ENGINES_FILE_TOKEN_COUNTER_H
#define HF_ENGINES_FILE_TOKEN_COUNTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/holdfast.h>

#include "engines/file/descriptors.h"
#include "engines/file/safe_path.h"
#include "engines/file/token_floor.h"

#define HF_TOKEN_COUNTER_BYTES 4096

/* How many numbers one durable reservation covers: two syncs in a million
 * tickets, and a second's worth of the wall clock's microseconds. */
#define HF_TOKEN_COUNTER_BLOCK (UINT64_C(1) << 20)

/* Room for the numbers of this many tickets that were seen at the head. */
#define HF_TOKEN_COUNTER_HEADS 480

/* Words that waiters for the locks of directories sleep on. */
#define HF_TOKEN_COUNTER_FUTEXES 32

/* The page as it lies in the file, in the machine's own byte order.  It is
 * written under flock(LOCK_EX) of the file, except .value, .renames, .heads and
 * .futexes, which any process writes at any time. */
struct hf_token_counter_page {
    _Atomic uint64_t magic; /* written last: the rest is complete then */
    uint32_t version;
    uint32_t unused;
    uint8_t
        boot[16]; /* the id of the boot in which .value is known to be good */
    _Atomic uint64_t value; /* the last number handed out */
    _Atomic uint64_t limit; /* numbers up to here are reserved */
    /* How many tickets were given a second name by a downgrade.  A list that is
     * read while this rises may have missed such a ticket. */
    _Atomic uint64_t renames;
    /* Numbers of tickets that were at the head of their queue, each at itself
     * modulo the room.  These are hints: a later number takes the place of an
     * earlier one.  No number comes twice, so a number that is here says so of
     * one ticket for ever. */
    _Atomic uint64_t heads[HF_TOKEN_COUNTER_HEADS];
    /* Not 0: somebody waits for the lock of a directory whose name has this
     * hash, see timed_flock.h.  An earlier holdfast leaves zeros here. */
    _Atomic uint32_t futexes[HF_TOKEN_COUNTER_FUTEXES];
};

struct hf_token_counter {
    int fd;       /* of the file; -1: not open */
    dev_t device; /* of the file that is mapped */
    ino_t inode;
    struct hf_token_counter_page *page;  /* NULL: not mapped */
    struct hf_descriptors *descriptors;  /* borrowed */
    const struct hf_path_policy *policy; /* who may own the file; borrowed */
    const char *state;   /* the directory of the token floor; borrowed */
    bool state_required; /* fail if that directory cannot be used */
    /* Tokens would not survive a reboot, because no floor can be written.  Set
     * once, by any thread, after .cause, which says why. */
    atomic_bool not_durable;
    struct hf_error cause;
    /* When the floor has to be looked at again before a number is taken,
     * because a cleaner may remove it; in milliseconds of CLOCK_BOOTTIME. */
    _Atomic uint64_t look_again_ms;
};

/* A cleaner that removes what is older than this removes the floor of a client
 * that goes on taking numbers. */
#define HF_TOKEN_COUNTER_LOOK_EVERY_MS (UINT64_C(3600) * 1000)

/* Open the file at ${path}, which is in the directory ${root}; make or mend it
 * as needed, with ${mode} (exactly so if ${shared}).  One that is there is
 * never given another mode, and in a shared root only a counter is written to:
 * others may have put any file of ours there.  .fd, .descriptors, .policy,
 * .state and .state_required are set before. Time      three calls, and those
 * that look at the floor; the first open after a boot syncs a file. Thread any
 * that may wait. Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT
 * HF_EUNREACHABLE; it is closed then. */
hf_status hf_token_counter_open(struct hf_token_counter *counter, int root,
                                const char *path, mode_t mode, bool shared,
                                struct hf_error *error);
void hf_token_counter_close(struct hf_token_counter *counter);

/* Is the file at ${path} still the one that is mapped, and as long as the page?
 * Only then may the page be touched, because a page beyond the end of a file is
 * a SIGBUS.  The functions below are for a counter that is current. */
bool hf_token_counter_is_current(const struct hf_token_counter *counter,
                                 const char *path);

/* Take the next ${number}.  False if it would be beyond the limit, or if the
 * floor was not looked at for too long: reserve, on a thread that may wait, and
 * take it then. */
bool hf_token_counter_next(struct hf_token_counter *counter, uint64_t *number);

/* Reserve another block, unless another process has done so; and keep the floor
 * from cleaners, or make it again if one has removed it.
 *   Thread    any that may wait.
 *   Fails     HF_EUNREACHABLE if the lock of the file cannot be had; with
 *             .state_required what hf_token_floor_reserve() fails with. */
hf_status hf_token_counter_reserve(struct hf_token_counter *counter,
                                   const char *path, struct hf_error *error);

/* A downgrade has given a ticket its second name and is about to take the first
 * one away.  And: how often has that been? */
void hf_token_counter_add_rename(struct hf_token_counter *counter);
uint64_t hf_token_counter_renames(const struct hf_token_counter *counter);

/* The ticket with this ${number} was seen at the head of its queue.  Nobody can
 * come ahead of it, so the ticket right behind it is next when it has gone.
 * And: was it seen there?  False also if that is not known any more. */
void hf_token_counter_note_head(struct hf_token_counter *counter,
                                uint64_t number);
bool hf_token_counter_was_head(const struct hf_token_counter *counter,
                               uint64_t number);

/* The word on which waiters for the lock of the directory ${dir_name} sleep.
 * Other directories may have the same one. */
_Atomic uint32_t *hf_token_counter_futex(struct hf_token_counter *counter,
                                         const char *dir_name);

#endif
