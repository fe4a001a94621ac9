/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of one's own tickets, for the files that look and that wake. */
#ifndef HF_ENGINES_FILE_OWN_PRIVATE_H
#define HF_ENGINES_FILE_OWN_PRIVATE_H

#include "engines/file/engine.h"

/* Which watches a round of looking concerns. */
struct hf_own_look {
    bool all;                        /* else those of .wd */
    const struct hf_ticket_id *gone; /* or those that this was in the way of */
    bool woken;                      /* or those that were woken */
    int wd;
};

/* own.c: tell GONE and REVOKED where it is so. */
void hf_own_look_round(struct hf_engine *engine,
                       const struct hf_own_look *look);

/* own.c: have inotify or the timer tell of the ticket; false: neither can. */
bool hf_own_arm(struct hf_engine *engine, struct hf_watch *watch);

/* own_wds.c: what inotify calls the ticket and its directory; -1: nothing. */
void hf_own_set_wds(struct hf_watch *watch, int ticket_wd, int dir_wd);
void hf_own_remove_wds(struct hf_watch *watch);
/* Walk through those whose ticket is watched as ${wd}, then those whose
 * directory is: no inode is both.  ${after} NULL: the first. */
struct hf_watch *hf_own_next_of_wd(const struct hf_engine *engine, int wd,
                                   const struct hf_watch *after);

/* own_wake.c: does it rest, because a watched ticket is ahead of ${own}? */
bool hf_own_rests(const struct hf_engine *engine,
                  const struct hf_file_ticket *own);

/* own_wake.c: ${watch} is woken no more.  Nothing if it was not. */
void hf_own_unwake(struct hf_watch *watch);

#endif
