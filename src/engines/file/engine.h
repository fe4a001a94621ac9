/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of one client, and what all its files share.  engine.c has the
 * functions that the core calls, and passes each request to the file that
 * carries it out.
 *
 * The thread that calls into the engine or runs its loop holds the client's
 * lock, so nothing here needs a lock of its own.  Only the worker thread runs
 * beside it, and uses nothing but its jobs, .descriptors and the root
 * directory.
 *
 * An answer to the core is one event that names its request.  From inside of
 * that event the core may call the engine again: forget any watch, remove any
 * ticket or end the session.  So a function sends an answer last, or looks
 * again for what it still needs.
 */
#ifndef HF_ENGINES_FILE_ENGINE_H
#define HF_ENGINES_FILE_ENGINE_H

#include <uv.h>

#include "base/engine_host.h"
#include "base/tree.h"
#include "core/engine.h"
#include "engines/file/file.h"
#include "engines/file/inotify.h"
#include "engines/file/lock_dir.h"
#include "engines/file/own_tickets.h"
#include "engines/file/watch.h"
#include "engines/file/worker_thread.h"

struct hf_engine {
    /* functions and settings of the client */
    struct hf_engine_host host;
    struct hf_file_root_settings settings; /* never change after the open */
    char *description;                     /* "file:ROOT", for people */
    /* all open descriptors, for a fork */
    struct hf_file_descriptors descriptors;
    /* The root directory; replaced when somebody has removed or replaced it.
     * NULL: it did not exist when the client, which only lists, looked for it;
     * or the session has ended. */
    struct hf_file_root_dir *root_dir;
    struct hf_file_dir_cache dir_cache;
    struct hf_file_tickets tickets; /* the tickets of this session */

    /* the watches of each kind, newest first */
    struct hf_file_watch *watches[HF_FILE_WATCH_KINDS];
    /* the watches of other sessions' tickets, by position in the queues */
    struct hf_tree other_watches;
    uint64_t watch_number; /* number of the last watch that was made */
    struct hf_file_inotify inotify;

    struct hf_file_worker worker;
    struct hf_file_job *jobs; /* all jobs that the worker has, newest first */
    /* The listing that the last ENQUEUE or LIST was answered with.  NULL: there
     * is none yet, or removal.c has searched a ticket since. */
    struct hf_file_listing *listing;

    /* an HF_REQUEST_END that waits for the jobs to end; or NULL */
    struct hf_request *end;
    bool ended; /* HF_REQUEST_END was answered */
    bool warned_not_durable;

    /* Number of libuv handles that are being closed (engine_lifetime.c). */
    unsigned handles;
    bool freeing; /* the core has freed the engine */
};

/* --------------------------------------------------- engine_lifetime.c -- */

/* Free an engine without handles in the loop. */
void hf_file_engine_free(struct hf_engine *engine);

/* Call this when libuv has closed a handle that was counted in .handles.  If it
 * was the last one, and the engine is being freed, frees the engine. */
void hf_file_handle_closed(struct hf_engine *engine);

/* ------------------------------------------------------------ answers.c -- */

/* Answer ${request} with an event of ${kind} that carries nothing else. */
void hf_file_answer(struct hf_engine *engine, struct hf_request *request,
                    enum hf_event_kind kind);

/* The same, with .found of the event set to ${found}: whether the ticket or the
 * barrier was there. */
void hf_file_answer_found(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind, bool found);

/* Answer HF_EVENT_SUCCESS_READ. */
void hf_file_answer_success(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_success *success);

/* Answer ${request} with HF_EVENT_FAILED and with ${error}, which is not HF_OK.
 * ${failure} says whether the core is to try again. */
void hf_file_fail(struct hf_engine *engine, struct hf_request *request,
                  enum hf_failure failure, const struct hf_error *error);

/* The same, with ${failure} derived from the status of ${error}: an error that
 * passes by itself is tried again, an error that the user must fix is final. */
void hf_file_fail_by_status(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_error *error);

#endif
