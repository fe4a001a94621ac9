/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers: a symbolic link in the directory of the name, which is there while
 * the barrier is set.
 */
#ifndef HF_ENGINES_FILE_BARRIER_H
#define HF_ENGINES_FILE_BARRIER_H

#include "core/engine.h"
#include "core/ticket.h"
#include "engines/file/file_names.h"

/* A HF_REQUEST_WATCH_QUEUE at a barrier that is set; its .engine_data. */
struct hf_file_barrier_watch {
    struct hf_engine *engine;
    struct hf_request *request;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_ticket_id id; /* of the barrier that the core was shown */
    int barrier_wd;         /* of the link; -1: the timer looks at it */
    int dir_wd;             /* of its directory; -1: the same */
    bool changed;           /* to be answered by the walk that is under way */
    struct hf_file_barrier_watch *next; /* in .barrier_watches of the engine */
    struct hf_file_barrier_watch **link;
};

/* HF_REQUEST_SET_FLAG and HF_REQUEST_CLEAR_FLAG of HF_TICKET_BARRIER. */
void hf_file_set_barrier(struct hf_engine *engine, struct hf_request *request);
void hf_file_clear_barrier(struct hf_engine *engine,
                           struct hf_request *request);

/* HF_REQUEST_WATCH_QUEUE of HF_TICKET_BARRIER; and its UNWATCH, at any time. */
void hf_file_watch_barrier(struct hf_engine *engine,
                           struct hf_request *request);
void hf_file_barrier_watch_forget(struct hf_request *request);

/* Free ${watch} and all that it uses.  The core gets no event. */
void hf_file_barrier_watch_end(struct hf_file_barrier_watch *watch);

/* See .on_change of struct hf_file_inotify: answer the watches of barriers that
 * are not the same any more. */
void hf_file_barrier_watches_on_change(struct hf_engine *engine, int wd,
                                       bool all);

#endif
