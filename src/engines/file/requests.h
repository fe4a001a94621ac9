/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the core, each with the file that carries it out, and what
 * these files do when a directory has changed.  The watch of a ticket is in
 * ticket_watch.h, and lists are in queue.h.
 *
 * Each is answered at once from inside the call, or later if it has become a
 * job of the worker thread.  A watch of a queue is answered HF_EVENT_LISTED at
 * once, and HF_EVENT_QUEUE_CHANGED later.
 */
#ifndef HF_ENGINES_FILE_REQUESTS_H
#define HF_ENGINES_FILE_REQUESTS_H

#include "core/engine.h"
#include "core/finding_list.h"
#include "engines/file/root_settings.h"

/* locked_requests.c: HF_REQUEST_ENQUEUE, also of a ticket that is there. */
void hf_file_enqueue(struct hf_engine *engine, struct hf_request *request);

/* locked_requests.c: a request that needs the lock of its directory, and no
 * preparation: HF_REQUEST_NEW_GENERATION, HF_REQUEST_CLEAR_FLAG of
 * HF_TICKET_READY, HF_REQUEST_WRITE_SUCCESS, and HF_REQUEST_READ_SUCCESS of a
 * holder.  hf_file_enqueue() ends here too, for a ticket that is not there. */
void hf_file_run_locked(struct hf_engine *engine, struct hf_request *request);

/* name_queues.c: HF_REQUEST_NAMES. */
void hf_file_name_queues(struct hf_engine *engine, struct hf_request *request);

/* removal.c: HF_REQUEST_REMOVE of any ticket; HF_REQUEST_REVOKE of any ticket:
 * ask its owner to let go. */
void hf_file_remove(struct hf_engine *engine, struct hf_request *request);
void hf_file_revoke(struct hf_engine *engine, struct hf_request *request);

/* downgrade.c: HF_REQUEST_DOWNGRADE. */
void hf_file_downgrade(struct hf_engine *engine, struct hf_request *request);

/* locked_requests.c: HF_REQUEST_END.  It is answered at once if no job is with
 * the worker thread, else after the last of them. */
void hf_file_end_session(struct hf_engine *engine, struct hf_request *request);

/* barrier.c: HF_REQUEST_SET_FLAG and HF_REQUEST_CLEAR_FLAG of
 * HF_TICKET_BARRIER.  A barrier is a symbolic link in the directory of the
 * name, which is there while the barrier is set. */
void hf_file_set_barrier(struct hf_engine *engine, struct hf_request *request);
void hf_file_clear_barrier(struct hf_engine *engine,
                           struct hf_request *request);

/* barrier.c: HF_REQUEST_WATCH_QUEUE of HF_TICKET_BARRIER.  And, see .on_change
 * of struct hf_file_inotify: answer the watches of barriers that are not the
 * same any more. */
void hf_file_watch_barrier(struct hf_engine *engine,
                           struct hf_request *request);
void hf_file_barrier_watches_on_change(struct hf_engine *engine, int wd,
                                       bool all);

/* queue_watch.c: HF_REQUEST_WATCH_QUEUE of any other kind: of a queue, or of
 * the participants of a double barrier. */
void hf_file_watch_queue(struct hf_engine *engine, struct hf_request *request);

/* queue_watch.c: a ticket in ${dir_name} has gone or was downgraded, and no
 * FIFO watch reports that: answer the watches of that queue. */
void hf_file_queue_watches_changed(struct hf_engine *engine,
                                   const char *dir_name);

/* queue_watch.c, see .on_change, .on_tick and .on_arm of struct
 * hf_file_inotify: answer the queue watches that are concerned and see a
 * change; arm those that are to be armed. */
void hf_file_queue_watches_on_change(struct hf_engine *engine, int wd, bool all,
                                     const char *file);
void hf_file_queue_watches_on_tick(struct hf_engine *engine);
void hf_file_queue_watches_arm(struct hf_engine *engine);

/* examine.c: HF_REQUEST_EXAMINE: the findings about the root directory, the
 * filesystem that it is on, the token floor, inotify, and other root
 * directories of this machine. */
void hf_file_examine(struct hf_engine *engine, struct hf_request *request);

/* other_roots.c: add the root directories of this machine that are not
 * ${settings}->root. */
void hf_file_examine_other_roots(const struct hf_file_root_settings *settings,
                                 struct hf_finding_list *list);

#endif
