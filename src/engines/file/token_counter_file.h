/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a counter, ROOT/counter: opens or makes and checks the file, and
 * reads and writes the page in it.
 *
 * If nobody else can write to the root directory, every process maps the page
 * and changes it with atomic operations.  If others can (?mode=), each of them
 * can truncate the file, and a mapped page beyond the end of its file causes
 * SIGBUS.  So there nobody maps it: the page is in private memory, and its
 * first words are read from the file and written to it under the flock() of the
 * file.
 */
#ifndef HF_ENGINES_FILE_TOKEN_COUNTER_FILE_H
#define HF_ENGINES_FILE_TOKEN_COUNTER_FILE_H

#include <holdfast/status.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/ticket.h"

#define HF_TOKEN_COUNTER_BYTES 4096
#define HF_TOKEN_COUNTER_MAGIC                                                 \
    UINT64_C(0x746e756f43466448) /* "HdFCount", little-endian */

/* Room for the numbers of this many tickets that were seen as the first. */
#define HF_TOKEN_COUNTER_HEADS 480

/* The number of words that waiters for the locks of directories sleep on. */
#define HF_TOKEN_COUNTER_FUTEXES 32

struct hf_file_token_counter;
struct stat;

/* How the processes of a root use the page.  All must do it in the same way, so
 * these are stored as the version in the page. */
enum hf_file_counter_access {
    HF_COUNTER_MAPPED = 1,
    HF_COUNTER_COPIED = 2,
};

/* The page as it is in the file, in the machine's own byte order.  It is
 * written under flock(LOCK_EX) of the file, with these exceptions, which any
 * process writes at any time: .value, .renames, .heads and .futexes of a mapped
 * page, and .renamed of a copied one.  With a copied page, the file has only
 * .renamed and what stands before .renames; the rest is private to each
 * process. */
struct hf_file_token_counter_page {
    /* written last, so if it is right the rest is complete */
    _Atomic uint64_t magic;
    uint32_t version; /* enum hf_file_counter_access */
    uint32_t unused;
    uint8_t boot[16]; /* id of the boot in which .value is known to be valid */
    _Atomic uint64_t value; /* the last number given out */
    _Atomic uint64_t limit; /* the last number that is reserved */
    /* How many tickets got a second name in a downgrade.  A list that is read
     * while this changes may have missed such a ticket. */
    _Atomic uint64_t renames;
    /* Numbers of tickets that were the first of their queues, each at the index
     * number % HF_TOKEN_COUNTER_HEADS.  A later number replaces an earlier one,
     * so this is only a hint.  No number is used twice, so what a number here
     * says about its ticket stays true. */
    _Atomic uint64_t heads[HF_TOKEN_COUNTER_HEADS];
    /* Not 0: somebody waits for the lock of a directory whose name has this
     * hash (timed_flock.h).  Earlier versions of holdfast leave zeros here. */
    _Atomic uint32_t futexes[HF_TOKEN_COUNTER_FUTEXES];
    /* For a copied page instead of .renames: the number of the ticket that got
     * a second name last.  It is used instead of a count, which could not be
     * written without a lock.  No ticket gets a second name twice, so a number
     * never comes again.  It is stored twice, so that a reader can see whether
     * it was written completely. */
    uint64_t renamed[2];
};

/* Returns the page of the file ${fd}: mapped, or zeros in memory.  Returns NULL
 * with errno on failure. */
struct hf_file_token_counter_page *
hf_file_token_counter_page_new(int fd, enum hf_file_counter_access access);
void hf_file_token_counter_page_free(struct hf_file_token_counter_page *page,
                                     enum hf_file_counter_access access);

/* Returns whether the page is complete, has a known version, and has sensible
 * numbers. */
bool hf_file_token_counter_page_is_sound(
    const struct hf_file_token_counter_page *page);

/* Returns whether the page can be used as it is: its numbers are known to be
 * valid in this boot, and all processes use it by ${access}.  ${boot} is all
 * zero if the id of the boot is not known. */
bool hf_file_token_counter_page_is_ready(
    const struct hf_file_token_counter_page *page,
    enum hf_file_counter_access access, const struct hf_ticket_id *boot);

/* These three work on a copied page, whose file ${fd}, called ${path}, is
 * locked.  _load() reads the first words of the page; if the file is too short
 * they become zeros, because half a number could be one that was given out.
 * _store() writes these words.  _store_all() writes the whole page.
 *   Fails     HF_EDIR and what else read and write fail with. */
hf_status
hf_file_token_counter_page_load(struct hf_file_token_counter_page *page, int fd,
                                const char *path, struct hf_error *error);
hf_status
hf_file_token_counter_page_store(const struct hf_file_token_counter_page *page,
                                 int fd, const char *path,
                                 struct hf_error *error);
hf_status hf_file_token_counter_page_store_all(
    const struct hf_file_token_counter_page *page, int fd, const char *path,
    struct hf_error *error);

/* ------------------------------------------- what processes leave there -- */

/* Note that a downgrade has given the ticket ${number} its second name and is
 * about to remove the first one.
 *   Fails     if that cannot be noted; then the first name must stay. */
hf_status
hf_file_token_counter_note_rename(struct hf_file_token_counter *counter,
                                  uint64_t number, const char *path,
                                  struct hf_error *error);
/* Returns a value that changes with each hf_file_token_counter_note_rename(); 0
 * if the file of a copied page cannot be read. */
uint64_t
hf_file_token_counter_renames(const struct hf_file_token_counter *counter);

/* hf_file_token_counter_note_head() notes that the ticket ${number} was seen as
 * the first of its queue.  No ticket is ever added ahead of it, so when it has
 * gone, the ticket right behind it is the first.
 * hf_file_token_counter_was_head() returns whether this was noted; false also
 * if it was overwritten since. */
void hf_file_token_counter_note_head(struct hf_file_token_counter *counter,
                                     uint64_t number);
bool hf_file_token_counter_was_head(const struct hf_file_token_counter *counter,
                                    uint64_t number);

/* Returns the word on which waiters for the lock of the directory ${dir_name}
 * sleep.  Several directories may have the same one.  NULL: the page is not
 * shared. */
_Atomic uint32_t *
hf_file_token_counter_futex(struct hf_file_token_counter *counter,
                            const char *dir_name);

/* -------------------------------------------------------------- the file -- */

/* Open the file of ${counter} and check it, as for
 * hf_file_token_counter_open().  Sets .fd, .device and .inode, and ${status}
 * from fstat().  If it fails, .fd may be open. */
hf_status hf_file_token_counter_file_open(struct hf_file_token_counter *counter,
                                          int root, const char *path,
                                          mode_t mode, bool shared,
                                          struct stat *status,
                                          struct hf_error *error);

#endif
