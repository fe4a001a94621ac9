/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of a whole queue: HF_REQUEST_WATCH_QUEUE at the leases of a semaphore
 * or at the participants of a double barrier.
 */
#ifndef HF_ENGINES_FILE_QUEUE_WATCH_H
#define HF_ENGINES_FILE_QUEUE_WATCH_H

#include "core/engine.h"

/* HF_REQUEST_WATCH_QUEUE of any kind but HF_TICKET_BARRIER. */
void hf_file_watch_queue(struct hf_engine *engine, struct hf_request *request);

/* A ticket in ${dir_name} has gone whose end no FIFO watch reports: answer the
 * watches of that queue. */
void hf_file_queue_watches_ticket_gone(struct hf_engine *engine,
                                       const char *dir_name);

/* See .on_change of struct hf_file_inotify: answer the watches of participants
 * that are concerned and see a change. */
void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file);

#endif
