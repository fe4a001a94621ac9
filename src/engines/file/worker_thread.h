/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker thread: it runs the locked sections that must wait for the lock of
 * a directory or for the disk, or for which the root directory must be opened
 * again.  So the thread of the loop never waits.
 *
 * The jobs take turns of HF_FLOCK_SLICE_MS, so that one directory that stays
 * locked does not hold up the others.  The thread is started with the first
 * job.  It blocks all signals, and nobody waits for its end.
 */
#ifndef HF_ENGINES_FILE_WORKER_THREAD_H
#define HF_ENGINES_FILE_WORKER_THREAD_H

#include <uv.h>

#include "core/engine.h"
#include "engines/file/locked_section.h"

/* One locked section for the worker.  The engine may use .request,
 * .remove_request, .cancelled and .next_of_engine at any time, and all members
 * when the job is done.  Until then the other members belong to the worker, but
 * .args does not change and both may read it. */
struct hf_file_job {
    struct hf_request *request;
    /* An HF_REQUEST_REMOVE of the ticket that this job makes, or NULL.  It is
     * carried out when it is known whether the ticket was made. */
    struct hf_request *remove_request;
    struct hf_file_locked_section_args args;
    char *text; /* the memory of .queue and .payload in .args */
    /* Holds one reference, even when the job is done.  The worker replaces it
     * if the root directory was removed or replaced. */
    struct hf_file_root_dir *root_dir;
    struct hf_file_lock_dir lock_dir;
    unsigned reopened; /* how often .root_dir was replaced */
    /* when to give up, by CLOCK_BOOTTIME; 0: the job has not begun */
    uint64_t give_up_at_ms;
    /* the engine sets this to make the job fail instead of wait */
    atomic_bool cancelled;
    /* When the job is done: HF_LOCKED_SECTION_DONE or _FAILED, with its result
     * or error. */
    enum hf_file_locked_section_answer answer;
    struct hf_file_locked_section_result result;
    struct hf_error error;
    struct hf_file_job *next;           /* in a queue of the worker */
    struct hf_file_job *next_of_engine; /* in .jobs of the engine */
};

/* Make a job for ${request}, whose section ${args} describe.  The job copies
 * what the worker needs, and holds a reference to ${root_dir}.  Returns NULL
 * with errno if memory runs out. */
struct hf_file_job *
hf_file_job_new(struct hf_request *request,
                const struct hf_file_locked_section_args *args,
                struct hf_file_root_dir *root_dir);

/* Free ${job} with all that it still has.  The FIFOs of .result must have been
 * taken out. */
void hf_file_job_free(struct hf_file_job *job);

struct hf_file_worker_shared; /* what the thread and its engine share */

struct hf_file_worker {
    /* NULL: no job has needed the thread yet */
    struct hf_file_worker_shared *shared;
    bool running;     /* the thread was started */
    uv_async_t async; /* a handle while .shared is not NULL */
};

/* Start the thread, if it does not run yet.  When jobs are done, ${on_done} is
 * called on ${loop}, with .data set to ${data}.  Returns false with errno if
 * there is no thread or memory; a later call may succeed. */
bool hf_file_worker_start(struct hf_file_worker *worker, uv_loop_t *loop,
                          uv_async_cb on_done, void *data);

/* Give ${job} to the thread, which must be running. */
void hf_file_worker_submit(struct hf_file_worker *worker,
                           struct hf_file_job *job);

/* Take back the jobs that are done, in order, linked by .next; NULL: there are
 * none. */
struct hf_file_job *hf_file_worker_collect(struct hf_file_worker *worker);

/* Have the thread end; it must have no jobs.  Returns true if ${closed} will be
 * called on the loop when the handle is closed; false if there is no handle. */
bool hf_file_worker_stop(struct hf_file_worker *worker, uv_close_cb closed);

#endif
