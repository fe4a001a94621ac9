/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of a whole queue: HF_REQUEST_WATCH_QUEUE at the leases of a semaphore
 * or at the participants of a double barrier.
 */
#ifndef HF_ENGINES_FILE_QUEUE_WATCH_H
#define HF_ENGINES_FILE_QUEUE_WATCH_H

#include "core/engine.h"
#include "engines/file/file_names.h"

struct hf_file_fifo_watch;

/* A HF_REQUEST_WATCH_QUEUE that was answered HF_EVENT_LISTED; its .engine_data.
 */
struct hf_file_queue_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_fifo_watch
        *fifo_watches; /* of all tickets of other sessions */
    bool changed;      /* to be answered by the walk that is under way */
    /* Of participants: what the core was shown, to distinguish a change from an
     * event that changed nothing.  How many tickets, READY included, and the
     * greatest number of them. */
    size_t count;
    uint64_t newest;
    /* Of participants: the directory is watched, by inotify as .dir_wd, or by
     * the timer, with .dir_wd -1. */
    bool armed;
    int dir_wd;
    struct hf_file_queue_watch *next; /* in .queue_watches of the engine */
    struct hf_file_queue_watch **link;
};

/* HF_REQUEST_WATCH_QUEUE of any kind but HF_TICKET_BARRIER; and its UNWATCH, at
 * any time. */
void hf_file_watch_queue(struct hf_engine *engine, struct hf_request *request);
void hf_file_queue_watch_forget(struct hf_request *request);

/* Free ${watch} and all that it uses.  The core gets no event. */
void hf_file_queue_watch_end(struct hf_file_queue_watch *watch);

/* A ticket in ${dir_name} has gone whose end no FIFO watch reports: answer the
 * watches of that queue. */
void hf_file_queue_watches_ticket_gone(struct hf_engine *engine,
                                       const char *dir_name);

/* See .on_change of struct hf_file_inotify: answer the watches of participants
 * that are concerned and see a change. */
void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file);

#endif
