/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counter of a root directory, ROOT/counter: one page that every process
 * maps, from which each ticket of every lock takes the next number, its place
 * and its fencing token in one.  A number is never handed out twice and never
 * below one handed out before, across reboots and loss of the file included:
 * numbers are reserved in blocks in a durable place (token_floor.h), and a new
 * counter starts above those and above the microseconds of the wall clock.
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

/* Room for as many tickets that were seen to be first. */
#define HF_TOKEN_COUNTER_HEADS 480

/* Words that waiters for the locks of directories sleep on. */
#define HF_TOKEN_COUNTER_FUTEXES 32

/* As it lies in the file, in the machine's own byte order.  Written under
 * flock(LOCK_EX) of the file, except .value, .renamings, .firsts and
 * .contended. */
struct hf_token_counter_page {
    _Atomic uint64_t magic; /* written last: the rest is then complete */
    uint32_t version;
    uint32_t unused;
    uint8_t boot[16];       /* of the boot that .value is known to be good in */
    _Atomic uint64_t value; /* the last number handed out */
    _Atomic uint64_t limit; /* numbers up to here are reserved */
    /* How many tickets have been given another name: who lists while one is,
     * may have missed both. */
    _Atomic uint64_t renames;
    /* Numbers of tickets ahead of which nobody was, each at itself modulo the
     * room: hints, of which a later one takes the place of an earlier.  No
     * number comes twice, so one that is here is that ticket's for ever. */
    _Atomic uint64_t heads[HF_TOKEN_COUNTER_HEADS];
    /* Is the lock of a directory waited for, by the hash of its name: see
     * timed_flock.h.  An earlier holdfast left zeros here, and does not look.
     */
    _Atomic uint32_t futexes[HF_TOKEN_COUNTER_FUTEXES];
};

struct hf_token_counter {
    int fd;
    dev_t device;
    ino_t inode;
    struct hf_token_counter_page *page;
    struct hf_descriptors *descriptors;
    const struct hf_path_policy *policy; /* whose the file may be; borrowed */
    const char *state;   /* the directory of the floor; borrowed */
    bool state_required; /* it was named: without it, fail */
    /* Set where tokens would not survive a reboot; .why tells. */
    atomic_bool not_durable;
    struct hf_error cause;
};

/* Open the file in the directory ${root} that is at ${path}, making or mending
 * it with ${mode} (exactly so if ${shared}) as needed.  ${counter}'s
 * .descriptors, .trust and .state... are set before.
 *   Time      normally three calls; the first after a boot syncs a file.
 *   Fails     HF_EDIR HF_EDENIED HF_EFULL HF_ELIMIT. */
hf_status hf_token_counter_open(struct hf_token_counter *counter, int root,
                                const char *path, mode_t mode, bool shared,
                                struct hf_error *error);
void hf_token_counter_close(struct hf_token_counter *counter);

/* Is the file at ${path} still the one that is mapped, and long enough to be
 * touched?  To be asked before each hf_token_counter_next(). */
bool hf_token_counter_is_current(const struct hf_token_counter *counter,
                                 const char *path);

/* The next number.  False if it would be beyond the limit: reserve more, on a
 * thread that may wait, and ask again. */
bool hf_token_counter_next(struct hf_token_counter *counter, uint64_t *number);

/* A ticket has its new name and still has its old one: this comes in between.
 * And how often that was.  Only of a counter that is current. */
void hf_token_counter_add_rename(struct hf_token_counter *counter);
uint64_t hf_token_counter_renames(const struct hf_token_counter *counter);

/* The ticket with this number was seen with nobody ahead of it in its queue.
 * Nobody can come there, so who stands right behind it is next when it is gone.
 * And was it?  False also where that is not known any more.  Only of a counter
 * that is current. */
void hf_token_counter_note_head(struct hf_token_counter *counter,
                                uint64_t number);
bool hf_token_counter_was_head(const struct hf_token_counter *counter,
                               uint64_t number);

/* The word of the directory called ${dir_name}; other names may have the same
 * one. Only of a counter that is current. */
_Atomic uint32_t *hf_token_counter_futex(struct hf_token_counter *counter,
                                         const char *dir_name);

/* Reserve another block unless that has been done.
 *   Fails     HF_EUNREACHABLE for a lock held too long; with a ?state= that was
 * named, what hf_token_floor_reserve() fails with. */
hf_status hf_token_counter_reserve(struct hf_token_counter *counter,
                                   const char *path, struct hf_error *error);

#endif
