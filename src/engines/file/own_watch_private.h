/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of one's own tickets, for the files that look and that wake. */
#ifndef HF_ENGINES_FILE_OWN_WATCH_PRIVATE_H
#define HF_ENGINES_FILE_OWN_WATCH_PRIVATE_H

#include "engines/file/engine.h"

/* Which watches a round of looking concerns. */
struct hf_own_check {
    bool all;                        /* else those of .wd */
    const struct hf_ticket_id *gone; /* or those that this was in the way of */
    bool to_arm;                     /* or those that were woken */
    int wd;
};

/* own_watch.c: tell GONE and REVOKED where it is so. */
void hf_own_watch_check(struct hf_engine *engine,
                        const struct hf_own_check *look);

/* own_watch.c: have inotify or the timer tell of the ticket; false: neither
 * can. */
bool hf_inotify_watch_ticket(struct hf_engine *engine,
                             struct hf_ticket_watch *watch);

/* watch_descriptors.c: what inotify calls the ticket and its directory; -1:
 * nothing. */
void hf_watch_descriptors_set(struct hf_ticket_watch *watch, int ticket_wd,
                              int dir_wd);
void hf_watch_descriptors_clear(struct hf_ticket_watch *watch);
/* Walk through those whose ticket is watched as ${wd}, then those whose
 * directory is: no inode is both.  ${after} NULL: the first. */
struct hf_ticket_watch *
hf_watch_descriptors_next(const struct hf_engine *engine, int wd,
                          const struct hf_ticket_watch *after);

/* own_watch_deferred.c: does it rest, because a watched ticket is ahead of
 * ${own_ticket}? */
bool hf_own_watch_is_deferred(const struct hf_engine *engine,
                              const struct hf_file_ticket *own_ticket);

/* own_watch_deferred.c: ${watch} is woken no more.  Nothing if it was not. */
void hf_own_watch_cancel_arm(struct hf_ticket_watch *watch);

#endif
