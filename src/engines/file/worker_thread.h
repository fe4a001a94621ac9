/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper: a thread for what has to wait for a directory's lock, enqueues
 * and stamps, or for the disk, so that the thread of the loop never does.  They
 * take turns, so that one locked directory keeps nobody from the others.
 * Started with the first of them; it blocks all signals and is never waited
 * for.
 */
#ifndef HF_ENGINES_FILE_WORKER_THREAD_H
#define HF_ENGINES_FILE_WORKER_THREAD_H

#include <uv.h>

#include "core/engine.h"
#include "engines/file/locked_section.h"

/* One critical section in the helper's hands; the request is not looked at
 * there. */
struct hf_job {
    struct hf_request *request;
    struct hf_request *remove_request; /* asked for meanwhile, or NULL */
    struct hf_locked_section_args args;
    char *text;                   /* of the order: its name and its payload */
    struct hf_root_dir *root_dir; /* one reference; a new one if it was stale */
    struct hf_lock_dir lock_dir;
    unsigned reopened;
    uint64_t give_up_at_ms; /* CLOCK_BOOTTIME; 0: not begun */
    atomic_bool cancelled;
    /* When it is done. */
    enum hf_locked_section_answer answer;
    struct hf_locked_section_result result;
    struct hf_error error;
    struct hf_job *next;
    struct hf_job *next_of_engine; /* the engine's own list of all jobs */
};

/* NULL, with errno, without memory.  ${root_dir} gets a reference of the job's.
 */
struct hf_job *hf_job_new(struct hf_request *request,
                          struct hf_root_dir *root_dir);
/* What ${job} still has is closed and freed with it: take out what is to live
 * (.result.fifo, .result.before_fifo, .result.listing, .place, .directory.fd).
 */
void hf_job_free(struct hf_job *job);

struct hf_worker_shared; /* what the thread and its engine share */

struct hf_worker_thread {
    struct hf_worker_shared *shared; /* NULL: never wanted */
    bool running;
    uv_async_t async;
};

/* Have it running: ${on_done} runs on ${loop} with .data = ${data} whenever
 * jobs were done.  False, with errno, if there is no thread or memory to be
 * had; a later call may do better. */
bool hf_worker_thread_start(struct hf_worker_thread *worker, uv_loop_t *loop,
                            uv_async_cb on_done, void *data);
void hf_worker_thread_submit(struct hf_worker_thread *worker,
                             struct hf_job *job);

/* The jobs that are done, in order; NULL if there are none. */
struct hf_job *hf_worker_thread_collect(struct hf_worker_thread *worker);

/* Have the thread end.  No job may be with it.  ${closed} runs on the loop when
 * the handle is closed; false if there is none. */
bool hf_worker_thread_stop(struct hf_worker_thread *worker, uv_close_cb closed);

#endif
