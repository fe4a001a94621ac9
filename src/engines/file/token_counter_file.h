/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a counter, ROOT/counter: how it is opened or made, and checked;
 * the page in it, and how a process gets at that.
 *
 * Where nobody else can write to the root, every process maps the page and
 * changes it with atomic operations.  Where others can (?mode=), each of them
 * can truncate the file, and a touch of a mapped page beyond the end of its
 * file is a SIGBUS.  So there nobody maps it: the page is in private memory,
 * and its first words are read from the file and written to it under the lock
 * of the file.
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

/* Room for the numbers of this many tickets that were seen at the head. */
#define HF_TOKEN_COUNTER_HEADS 480

/* Words that waiters for the locks of directories sleep on. */
#define HF_TOKEN_COUNTER_FUTEXES 32

struct hf_file_token_counter;
struct stat;

/* How the processes of a root get at the page.  All of them do it in the same
 * way: the numbers are the versions in the page. */
enum hf_file_counter_access {
    HF_COUNTER_MAPPED = 1,
    HF_COUNTER_COPIED = 2,
};

/* The page as it lies in the file, in the machine's own byte order.  It is
 * written under flock(LOCK_EX) of the file, except .value, .renames, .heads
 * and .futexes of a mapped one, and .renamed of a copied one, which any
 * process writes at any time.  With a copied page the file has what is before
 * .renames, and .renamed; the rest of the copy is this process's own. */
struct hf_file_token_counter_page {
    _Atomic uint64_t magic; /* written last: the rest is complete then */
    uint32_t version;       /* enum hf_file_counter_access */
    uint32_t unused;
    uint8_t
        boot[16]; /* the id of the boot in which .value is known to be good */
    _Atomic uint64_t value; /* the last number handed out */
    _Atomic uint64_t limit; /* numbers up to here are reserved */
    /* How many tickets were given a second name by a downgrade.  A list that is
     * read while this rises may have missed such a ticket. */
    _Atomic uint64_t renames;
    /* Numbers of tickets that were at the head of their queue, each at the
     * index that is the number modulo the room.  These are hints: a later
     * number takes the place of an earlier one.  No number comes twice, so
     * what a number here says of its ticket stays true for ever. */
    _Atomic uint64_t heads[HF_TOKEN_COUNTER_HEADS];
    /* Not 0: somebody waits for the lock of a directory whose name has this
     * hash, see timed_flock.h.  An earlier holdfast leaves zeros here. */
    _Atomic uint32_t futexes[HF_TOKEN_COUNTER_FUTEXES];
    /* A copied page has this in place of .renames: the number of the ticket
     * that was given a second name last.  A count would need a lock, and this
     * is written without one.  No ticket is given a second name twice, so the
     * number never comes again.  It is stored twice: a reader sees by that
     * whether it was written completely. */
    uint64_t renamed[2];
};

/* The page of the file ${fd}: mapped, or zeros in memory.  NULL with errno. */
struct hf_file_token_counter_page *
hf_file_token_counter_page_new(int fd, enum hf_file_counter_access access);
void hf_file_token_counter_page_free(struct hf_file_token_counter_page *page,
                                     enum hf_file_counter_access access);

/* Has the page been completed, by a version that is known, with sensible
 * numbers? */
bool hf_file_token_counter_page_is_sound(
    const struct hf_file_token_counter_page *page);

/* Can the page be used as it is?  Only if its numbers are known to be good in
 * this boot, and all processes get at it by ${access}.  The id of ${boot} is
 * all zero if it is not known. */
bool hf_file_token_counter_page_is_ready(
    const struct hf_file_token_counter_page *page,
    enum hf_file_counter_access access, const struct hf_ticket_id *boot);

/* These three work on a copied page, whose file ${fd} is locked and called
 * ${path}.  The first reads the page's first words: all zeros if the file is
 * too short, because half a number may be one that was handed out.  The second
 * writes them.  The third writes the whole page.
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

/* A downgrade has given the ticket ${number} its second name and is about to
 * take the first one away.
 *   Fails     if that cannot be noted; then the first one must stay. */
hf_status
hf_file_token_counter_note_rename(struct hf_file_token_counter *counter,
                                  uint64_t number, const char *path,
                                  struct hf_error *error);
/* A value that is another one after each
 * hf_file_token_counter_note_rename(); 0 if the file of a copied page cannot be
 * read. */
uint64_t
hf_file_token_counter_renames(const struct hf_file_token_counter *counter);

/* The ticket with this ${number} was seen at the head of its queue.  Nobody can
 * come ahead of it, so the ticket right behind it is next when it has gone.
 * And: was it seen there?  False also if that is not known any more. */
void hf_file_token_counter_note_head(struct hf_file_token_counter *counter,
                                     uint64_t number);
bool hf_file_token_counter_was_head(const struct hf_file_token_counter *counter,
                                    uint64_t number);

/* The word on which waiters for the lock of the directory ${dir_name} sleep.
 * Other directories may have the same one.  NULL: the page is not shared. */
_Atomic uint32_t *
hf_file_token_counter_futex(struct hf_file_token_counter *counter,
                            const char *dir_name);

/* -------------------------------------------------------------- the file -- */

/* Open the file of ${counter} and check it, as hf_file_token_counter_open()
 * says. Sets .fd, .device and .inode, and ${status} to what fstat() says.  If
 * it fails, .fd may be open. */
hf_status hf_file_token_counter_file_open(struct hf_file_token_counter *counter,
                                          int root, const char *path,
                                          mode_t mode, bool shared,
                                          struct stat *status,
                                          struct hf_error *error);

#endif
