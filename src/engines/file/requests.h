/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the core, each with the file that carries it out.  The other
 * requests are in ticket_watch.h, queue_watch.h, barrier.h and queue.h.
 *
 * Each is answered by one event, at once from inside the call, or later when it
 * is with the worker thread.
 */
#ifndef HF_ENGINES_FILE_REQUESTS_H
#define HF_ENGINES_FILE_REQUESTS_H

#include "core/engine.h"
#include "engines/file/listing.h"

/* locked_requests.c: HF_REQUEST_ENQUEUE, also of a ticket that is there. */
void hf_file_enqueue(struct hf_engine *engine, struct hf_request *request);

/* locked_requests.c: a request that needs the lock of its directory, and no
 * preparation: HF_REQUEST_NEW_GENERATION, and HF_REQUEST_CLEAR_FLAG of
 * HF_TICKET_READY. */
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

#endif
