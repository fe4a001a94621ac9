/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of own tickets by the watch descriptors of inotify.
 *
 * Each FIFO has a watch descriptor of its own; the tickets of one directory
 * share that of the directory.  The trees lead an event to the watches that it
 * concerns, and show whether a watch descriptor is still used.
 */
#ifndef HF_ENGINES_FILE_WATCH_DESCRIPTORS_H
#define HF_ENGINES_FILE_WATCH_DESCRIPTORS_H

#include "engines/file/inotify.h"
#include "engines/file/ticket_watch.h"

/* Make the trees of ${inotify}, which are zeroed, empty. */
void hf_file_watch_descriptors_init(struct hf_file_inotify *inotify);

/* From now on inotify calls the FIFO of ${watch} ${ticket_wd} and its directory
 * ${dir_wd}; -1: it does not watch it. */
void hf_file_watch_descriptors_set(struct hf_file_ticket_watch *watch,
                                   int ticket_wd, int dir_wd);

/* Take ${watch} out of the trees.  Its descriptors stay noted in it. */
void hf_file_watch_descriptors_clear(struct hf_file_ticket_watch *watch);

/* The watch after ${after} among those that have ${wd}; ${after} NULL: the
 * first.  First come those whose FIFO it is, then those whose directory it is;
 * no inode is both.  NULL: there is none. */
struct hf_file_ticket_watch *
hf_file_watch_descriptors_next(const struct hf_engine *engine, int wd,
                               const struct hf_file_ticket_watch *after);

#endif
