/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of one client: what all its parts share.  engine.c has the
 * functions that the core calls, and says which file carries out a request.
 *
 * The thread that calls into the engine or runs its loop has the client's lock,
 * so everything here needs no lock of its own.  The worker thread alone runs
 * beside it, and uses only its jobs, .descriptors and the root directory.
 *
 * An answer to the core is one event that names its request.  The core may call
 * back into the engine from inside an answer: it may forget any watch, remove
 * any ticket or end the session.  So a part answers last, or looks again at
 * what it still needs.
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
    struct hf_engine_host host;             /* the client's functions */
    struct hf_file_root_settings settings;  /* never change after the open */
    char *description;                      /* "file:ROOT", for people */
    struct hf_file_descriptors descriptors; /* all that are open, for a fork */
    /* Replaced when somebody has removed or replaced the directory.  NULL: the
     * client only looks and has found none, or the session has ended. */
    struct hf_file_root_dir *root_dir;
    struct hf_file_dir_cache dir_cache;
    struct hf_file_tickets tickets; /* of this session */

    struct hf_file_watch
        *watches[HF_FILE_WATCH_KINDS]; /* each kind, the newest first */
    /* those of tickets of other sessions, by position in the queues */
    struct hf_tree other_watches;
    uint64_t watch_number; /* of the last one made */
    struct hf_file_inotify inotify;

    struct hf_file_worker worker;
    struct hf_file_job
        *jobs; /* all that are with the worker, the newest first */
    /* The last one that has answered an ENQUEUE or a LIST; NULL: none yet, or a
     * ticket was looked for anew since (removal.c). */
    struct hf_file_listing *listing;

    struct hf_request *end; /* HF_REQUEST_END, while it waits for the jobs */
    bool ended;             /* HF_REQUEST_END was answered */
    bool warned_not_durable;

    /* Handles of libuv that are being closed: see engine_lifetime.c. */
    unsigned handles;
    bool freeing; /* the core has freed the engine */
};

/* --------------------------------------------------- engine_lifetime.c -- */

/* Free an engine that has no handles in the loop. */
void hf_file_engine_free(struct hf_engine *engine);

/* libuv has closed a handle that was counted in .handles.  With the last one an
 * engine that is being freed is freed. */
void hf_file_handle_closed(struct hf_engine *engine);

/* ------------------------------------------------------------ answers.c -- */

/* Answer ${request} with an event of ${kind} that carries nothing else. */
void hf_file_answer(struct hf_engine *engine, struct hf_request *request,
                    enum hf_event_kind kind);

/* The same, with .found set to ${found}: whether the ticket or the barrier was
 * there. */
void hf_file_answer_found(struct hf_engine *engine, struct hf_request *request,
                          enum hf_event_kind kind, bool found);

/* Answer HF_EVENT_SUCCESS_READ. */
void hf_file_answer_success(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_success *success);

/* Answer HF_EVENT_FAILED with the status and the text of ${error}, which is
 * not HF_OK.  ${failure} says whether the core is to ask again. */
void hf_file_fail(struct hf_engine *engine, struct hf_request *request,
                  enum hf_failure failure, const struct hf_error *error);

/* The same, with ${failure} taken from the class of the status: an error that
 * passes by itself is retried, one that the user must mend is final. */
void hf_file_fail_by_status(struct hf_engine *engine,
                            struct hf_request *request,
                            const struct hf_error *error);

#endif
