/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See worker_thread.h.  The thread takes jobs from one queue and gives each a
 * turn.  It puts those that are done into another queue, which it reports to
 * the loop.
 */
#include "engines/file/worker_thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engines/file/listing.h"
#include "thread/descriptor_guard.h"
#include "thread/thread.h"

/* How often one job opens the root directory again because it was replaced. */
#define REPLACED_MAX 8

/* Jobs, linked by .next. */
struct job_queue {
    struct hf_file_job *first;
    struct hf_file_job *last;
};

struct hf_file_worker_shared {
    pthread_mutex_t lock;
    pthread_cond_t has_work; /* .todo has a job, or .stopping is set */
    unsigned references;     /* held by the engine and by the thread */
    bool stopping;           /* the engine has set this to end the thread */
    /* the thread takes the first job, and may put it back at the end */
    struct job_queue todo;
    struct job_queue done; /* the engine takes all of these */
    uv_async_t *async;     /* used only under .lock and before the stop */
};

/* push() appends ${job}; pop() takes the first job, NULL: there is none. */
static void push(struct job_queue *queue, struct hf_file_job *job)
{
    job->next = NULL;
    if (queue->first == NULL)
        queue->first = job;
    else
        queue->last->next = job;
    queue->last = job;
}

static struct hf_file_job *pop(struct job_queue *queue)
{
    struct hf_file_job *job = queue->first;

    if (job != NULL)
        queue->first = job->next;
    return job;
}

struct hf_file_job *
hf_file_job_new(struct hf_request *request,
                const struct hf_file_locked_section_args *args,
                struct hf_file_root_dir *root_dir)
{
    size_t queue_bytes = strlen(args->queue) + 1;
    size_t payload_bytes = strlen(args->ticket.payload) + 1;
    struct hf_file_job *job = hf_alloc(sizeof(*job));

    if (job == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    job->text = hf_alloc(queue_bytes + payload_bytes);
    if (job->text == NULL) {
        hf_free(job);
        errno = ENOMEM;
        return NULL;
    }
    memcpy(job->text, args->queue, queue_bytes);
    memcpy(job->text + queue_bytes, args->ticket.payload, payload_bytes);
    job->request = request;
    job->root_dir = hf_file_root_dir_ref(root_dir);
    job->lock_dir.fd = -1;
    job->result.fifo = -1;
    job->result.blocker_fifo = -1;
    job->args = *args;
    job->args.queue = job->text;
    job->args.ticket.payload = job->text + queue_bytes;
    job->args.wait = HF_FLOCK_WAIT_SLICE;
    job->args.cancelled = &job->cancelled;
    return job;
}

void hf_file_job_free(struct hf_file_job *job)
{
    assert(job->result.fifo < 0 && job->result.blocker_fifo < 0);
    if (job->root_dir != NULL)
        hf_file_descriptors_close(job->root_dir->descriptors,
                                  &job->lock_dir.fd);
    hf_file_listing_unref(job->result.listing);
    hf_file_root_dir_unref(job->root_dir);
    hf_free(job->text);
    hf_free(job);
}

/* Open the root directory again.  Returns false, with the error in the job, if
 * it cannot be opened. */
static bool reopen_root_dir(struct hf_file_job *job)
{
    struct hf_file_root_dir *new_root_dir;

    if (hf_file_root_dir_open(job->root_dir->settings,
                              job->root_dir->descriptors, &new_root_dir,
                              &job->error) != HF_OK)
        return false;
    hf_file_root_dir_unref(job->root_dir);
    job->root_dir = new_root_dir;
    return true;
}

/* Fail ${job}, because it did not get the lock of its directory in time. */
static void fail_timed_out(struct hf_file_job *job)
{
    char path[HF_PATH_BYTES];

    hf_file_root_settings_path(job->root_dir->settings, job->args.dir_name,
                               NULL, path);
    hf_file_flock_set_timeout(job->lock_dir.fd, path, &job->error);
    job->answer = HF_LOCKED_SECTION_FAILED;
}

/* Open the root directory again for the next turn, because it was removed or
 * replaced. */
static void reopen_and_retry(struct hf_file_job *job)
{
    if (job->reopened++ < REPLACED_MAX) {
        if (!reopen_root_dir(job))
            job->answer = HF_LOCKED_SECTION_FAILED;
        return;
    }
    hf_error_set(&job->error, HF_EUNREACHABLE,
                 "%s was replaced %d times while being opened; what does that?",
                 job->root_dir->settings->root, REPLACED_MAX);
    job->answer = HF_LOCKED_SECTION_FAILED;
}

/* Run ${job} for one turn.  Returns false if it needs another turn. */
static bool run_turn(struct hf_file_job *job)
{
    if (job->give_up_at_ms == 0)
        job->give_up_at_ms = hf_file_flock_now_ms() + HF_FLOCK_TIMEOUT_MS;
    job->answer = hf_file_locked_section_run(
        job->root_dir, &job->args, &job->lock_dir, &job->result, &job->error);
    if (job->answer == HF_LOCKED_SECTION_STALE)
        reopen_and_retry(job);
    else if (job->answer == HF_LOCKED_SECTION_BUSY &&
             hf_file_flock_now_ms() >= job->give_up_at_ms)
        fail_timed_out(job);
    return job->answer == HF_LOCKED_SECTION_DONE ||
           job->answer == HF_LOCKED_SECTION_FAILED;
}

/* Drop one of the two references; the last one frees ${shared}. */
static void unref(struct hf_file_worker_shared *shared)
{
    unsigned left;

    pthread_mutex_lock(&shared->lock);
    left = --shared->references;
    pthread_mutex_unlock(&shared->lock);
    if (left > 0)
        return;
    assert(shared->todo.first == NULL && shared->done.first == NULL);
    pthread_cond_destroy(&shared->has_work);
    pthread_mutex_destroy(&shared->lock);
    hf_free(shared);
}

/* The thread: take the first job, run it for one turn without the lock, and put
 * it into .done, or back into .todo. */
static void *thread_main(void *arg)
{
    struct hf_file_worker_shared *shared = arg;
    struct hf_file_job *job;
    bool ended;

    pthread_mutex_lock(&shared->lock);
    while (!shared->stopping) {
        job = pop(&shared->todo);
        if (job == NULL) {
            pthread_cond_wait(&shared->has_work, &shared->lock);
            continue;
        }
        pthread_mutex_unlock(&shared->lock);
        ended = run_turn(job);
        pthread_mutex_lock(&shared->lock);
        push(ended ? &shared->done : &shared->todo, job);
        if (ended)
            hf_descriptor_guard_send(shared->async);
    }
    pthread_mutex_unlock(&shared->lock);
    unref(shared);
    return NULL;
}

/* Make .shared of ${worker} and its handle.  Returns 0 or an errno. */
static int make_shared(struct hf_file_worker *worker, uv_loop_t *loop,
                       uv_async_cb on_done, void *data)
{
    struct hf_file_worker_shared *shared = hf_alloc(sizeof(*shared));
    int failure;

    if (shared == NULL)
        return ENOMEM;
    failure = -uv_async_init(loop, &worker->async, on_done);
    if (failure != 0) {
        hf_free(shared);
        return failure;
    }
    worker->async.data = data;
    uv_unref((uv_handle_t *)&worker->async);
    pthread_mutex_init(&shared->lock, NULL);
    pthread_cond_init(&shared->has_work, NULL);
    shared->references = 1;
    shared->async = &worker->async;
    worker->shared = shared;
    return 0;
}

bool hf_file_worker_start(struct hf_file_worker *worker, uv_loop_t *loop,
                          uv_async_cb on_done, void *data)
{
    int failure = 0;

    if (worker->shared == NULL)
        failure = make_shared(worker, loop, on_done, data);
    if (failure == 0 && !worker->running) {
        worker->shared->references = 2;
        failure = hf_thread_start(NULL, thread_main, worker->shared);
        worker->running = failure == 0;
        if (!worker->running)
            worker->shared->references = 1;
    }
    errno = failure;
    return failure == 0;
}

void hf_file_worker_submit(struct hf_file_worker *worker,
                           struct hf_file_job *job)
{
    struct hf_file_worker_shared *shared = worker->shared;

    assert(worker->running);
    pthread_mutex_lock(&shared->lock);
    push(&shared->todo, job);
    pthread_cond_signal(&shared->has_work);
    pthread_mutex_unlock(&shared->lock);
}

struct hf_file_job *hf_file_worker_collect(struct hf_file_worker *worker)
{
    struct hf_file_job *done;

    pthread_mutex_lock(&worker->shared->lock);
    done = worker->shared->done.first;
    worker->shared->done.first = NULL;
    pthread_mutex_unlock(&worker->shared->lock);
    return done;
}

bool hf_file_worker_stop(struct hf_file_worker *worker, uv_close_cb closed)
{
    struct hf_file_worker_shared *shared = worker->shared;

    if (shared == NULL)
        return false;
    pthread_mutex_lock(&shared->lock);
    shared->stopping = true;
    pthread_cond_signal(&shared->has_work);
    pthread_mutex_unlock(&shared->lock);
    unref(shared);
    worker->shared = NULL;
    uv_close((uv_handle_t *)&worker->async, closed);
    return true;
}
