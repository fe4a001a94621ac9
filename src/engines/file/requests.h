/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that carry out the requests of the core, and what these files
 * do when a directory has changed.  Watches of tickets are in ticket_watch.h,
 * and lists in queue.h.
 *
 * Each request is answered at once, from inside of the call; or later, if it
 * has become a job of the worker thread.  The watch of a queue is answered with
 * HF_EVENT_LISTED at once, and with HF_EVENT_QUEUE_CHANGED later.
 */
#ifndef HF_ENGINES_FILE_REQUESTS_H
#define HF_ENGINES_FILE_REQUESTS_H

#include "core/engine.h"
#include "core/finding_list.h"
#include "engines/file/root_settings.h"

/* locked_requests.c: HF_REQUEST_ENQUEUE, even if the ticket exists already. */
void hf_file_enqueue(struct hf_engine *engine, struct hf_request *request);

/* locked_requests.c: requests that need the lock of their directory but no
 * preparation: HF_REQUEST_NEW_GENERATION, HF_REQUEST_CLEAR_FLAG of
 * HF_TICKET_READY, HF_REQUEST_WRITE_SUCCESS, and HF_REQUEST_READ_SUCCESS of a
 * holder.  hf_file_enqueue() uses it, too, for a new ticket. */
void hf_file_run_locked(struct hf_engine *engine, struct hf_request *request);

/* name_queues.c: HF_REQUEST_NAMES. */
void hf_file_name_queues(struct hf_engine *engine, struct hf_request *request);

/* removal.c: HF_REQUEST_REMOVE of any ticket; and HF_REQUEST_REVOKE of any
 * ticket, which asks its owner to release. */
void hf_file_remove(struct hf_engine *engine, struct hf_request *request);
void hf_file_revoke(struct hf_engine *engine, struct hf_request *request);

/* downgrade.c: HF_REQUEST_DOWNGRADE. */
void hf_file_downgrade(struct hf_engine *engine, struct hf_request *request);

/* locked_requests.c: HF_REQUEST_END, answered at once, or when the last job of
 * the worker thread has ended. */
void hf_file_end_session(struct hf_engine *engine, struct hf_request *request);

/* barrier.c: HF_REQUEST_SET_FLAG and HF_REQUEST_CLEAR_FLAG of
 * HF_TICKET_BARRIER.  A barrier is a symbolic link in the directory of the
 * name, which is there while the barrier is set. */
void hf_file_set_barrier(struct hf_engine *engine, struct hf_request *request);
void hf_file_clear_barrier(struct hf_engine *engine,
                           struct hf_request *request);

/* barrier.c: HF_REQUEST_WATCH_QUEUE of HF_TICKET_BARRIER.  And the reaction to
 * .on_change of struct hf_file_inotify: answer the watches of barriers that
 * have changed. */
void hf_file_watch_barrier(struct hf_engine *engine,
                           struct hf_request *request);
void hf_file_barrier_watches_on_change(struct hf_engine *engine, int wd,
                                       bool all);

/* queue_watch.c: HF_REQUEST_WATCH_QUEUE of any other kind: of a queue, or of
 * the participants of a double barrier. */
void hf_file_watch_queue(struct hf_engine *engine, struct hf_request *request);

/* queue_watch.c: answer the watches of the queue in ${dir_name}, because one of
 * its tickets has gone or was downgraded and no FIFO watch reports that. */
void hf_file_queue_watches_changed(struct hf_engine *engine,
                                   const char *dir_name);

/* queue_watch.c: the reactions to .on_change, .on_tick and .on_arm of struct
 * hf_file_inotify: answer the queue watches that see a change, and arm those
 * that are HF_FILE_WATCH_TO_ARM. */
void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file);
void hf_file_queue_watches_on_tick(struct hf_engine *engine);
void hf_file_queue_watches_arm(struct hf_engine *engine);

/* examine.c: HF_REQUEST_EXAMINE, with findings about the root directory, its
 * filesystem, the token floor, inotify, and other root directories of this
 * machine. */
void hf_file_examine(struct hf_engine *engine, struct hf_request *request);

/* other_roots.c: add findings about the root directories of this machine other
 * than ${settings}->root. */
void hf_file_examine_other_roots(const struct hf_file_root_settings *settings,
                                 struct hf_finding_list *list);

#endif
