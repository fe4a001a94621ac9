/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers: a symbolic link in the directory of the name, which is there while
 * the barrier is set.
 */
#ifndef HF_ENGINES_FILE_BARRIER_H
#define HF_ENGINES_FILE_BARRIER_H

#include "core/engine.h"

/* HF_REQUEST_SET_FLAG and HF_REQUEST_CLEAR_FLAG of HF_TICKET_BARRIER. */
void hf_file_set_barrier(struct hf_engine *engine, struct hf_request *request);
void hf_file_clear_barrier(struct hf_engine *engine,
                           struct hf_request *request);

/* HF_REQUEST_WATCH_QUEUE of HF_TICKET_BARRIER. */
void hf_file_watch_barrier(struct hf_engine *engine,
                           struct hf_request *request);

/* See .on_change of struct hf_file_inotify: answer the watches of barriers that
 * are not the same any more. */
void hf_file_barrier_watches_on_change(struct hf_engine *engine, int wd,
                                       bool all);

#endif
