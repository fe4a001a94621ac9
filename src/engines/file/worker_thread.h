/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker thread: it runs the locked sections that have to wait for the lock
 * of a directory or for the disk, or for which the root directory has to be
 * opened anew, so that the thread of the loop never waits.
 *
 * Its jobs take turns of HF_FLOCK_SLICE_MS, so that one directory that stays
 * locked keeps nobody from the others.  The thread is started with the first
 * job. It blocks all signals, and nobody waits for its end.
 */
#ifndef HF_ENGINES_FILE_WORKER_THREAD_H
#define HF_ENGINES_FILE_WORKER_THREAD_H

#include <uv.h>

#include "core/engine.h"
#include "engines/file/locked_section.h"

/* One locked section for the worker.  The engine uses .request,
 * .remove_request, .cancelled and .next_of_engine at any time, and everything
 * when the job is done; in between the rest is the worker's, but .args does not
 * change and both may read it. */
struct hf_file_job {
    struct hf_request *request;
    /* A HF_REQUEST_REMOVE of the ticket that the job makes, to be carried out
     * when it is known whether the ticket was made; or NULL. */
    struct hf_request *remove_request;
    struct hf_file_locked_section_args args;
    char *text; /* the memory of .queue and .payload in .args */
    /* One reference, also when the job is done: the worker replaces it if the
     * root directory was removed or replaced. */
    struct hf_file_root_dir *root_dir;
    struct hf_file_lock_dir lock_dir;
    unsigned reopened;      /* how often .root_dir has been replaced */
    uint64_t give_up_at_ms; /* CLOCK_BOOTTIME; 0: the job has not begun */
    /* set by the engine: the job fails if it has to wait */
    atomic_bool cancelled;
    /* When the job is done: _DONE or _FAILED, and what belongs to it. */
    enum hf_file_locked_section_answer answer;
    struct hf_file_locked_section_result result;
    struct hf_error error;
    struct hf_file_job *next;           /* in a queue of the worker */
    struct hf_file_job *next_of_engine; /* in .jobs of the engine */
};

/* A job for ${request}, whose section ${args} describe; it copies what the
 * worker needs, and has a reference to ${root_dir} of its own.  NULL, with
 * errno, if memory runs out. */
struct hf_file_job *
hf_file_job_new(struct hf_request *request,
                const struct hf_file_locked_section_args *args,
                struct hf_file_root_dir *root_dir);

/* Free ${job} and close or give back what it still has.  The FIFOs of .result
 * must have been taken out. */
void hf_file_job_free(struct hf_file_job *job);

struct hf_file_worker_shared; /* what the thread and its engine share */

struct hf_file_worker {
    struct hf_file_worker_shared *shared; /* NULL: no job has ever needed it */
    bool running;                         /* the thread was started */
    uv_async_t async; /* a handle while .shared is not NULL */
};

/* Start the thread, if it does not run yet.  ${on_done} runs on ${loop}, with
 * .data = ${data}, when jobs were done.  False, with errno, if there is no
 * thread or memory to be had; a later call may do better. */
bool hf_file_worker_start(struct hf_file_worker *worker, uv_loop_t *loop,
                          uv_async_cb on_done, void *data);

/* Give ${job} to the thread, which runs. */
void hf_file_worker_submit(struct hf_file_worker *worker,
                           struct hf_file_job *job);

/* Take back the jobs that are done, in order, linked by .next; NULL: none are.
 */
struct hf_file_job *hf_file_worker_collect(struct hf_file_worker *worker);

/* Have the thread end; no job is with it.  True if ${closed} will run on the
 * loop, when the handle is closed; false if there is no handle. */
bool hf_file_worker_stop(struct hf_file_worker *worker, uv_close_cb closed);

#endif
