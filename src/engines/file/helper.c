/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/file/helper.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "thread/thread.h"

/* How often one job opens the place anew because it was replaced. */
#define REPLACED_MAX 8

struct job_queue {
    struct hf_job *first;
    struct hf_job *last;
};

struct hf_helper_desk {
    pthread_mutex_t lock;
    pthread_cond_t work;
    unsigned references; /* the engine's and the thread's */
    bool stopping;
    struct job_queue todo;
    struct job_queue done;
    uv_async_t *async; /* sent to under the lock, so never after the stop */
};

static void push(struct job_queue *queue, struct hf_job *job)
{
    job->next = NULL;
    if (queue->first == NULL)
        queue->first = job;
    else
        queue->last->next = job;
    queue->last = job;
}

static struct hf_job *pop(struct job_queue *queue)
{
    struct hf_job *job = queue->first;

    if (job != NULL)
        queue->first = job->next;
    return job;
}

struct hf_job *hf_job_new(struct hf_request *request, struct hf_place *place)
{
    size_t queue_bytes = strlen(request->queue) + 1;
    const char *payload = request->payload == NULL ? "" : request->payload;
    size_t payload_bytes = strlen(payload) + 1;
    struct hf_job *job = hf_alloc(sizeof(*job));

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
    memcpy(job->text, request->queue, queue_bytes);
    memcpy(job->text + queue_bytes, payload, payload_bytes);
    job->request = request;
    job->place = hf_place_ref(place);
    job->directory.fd = -1;
    job->result.fifo = -1;
    job->result.before_fifo = -1;
    job->order = (struct hf_section_order){
        .work = request->kind,
        .queue = job->text,
        .ticket = {.id = request->ticket,
                   .kind = request->ticket_kind,
                   .weight = request->weight,
                   .payload = job->text + queue_bytes},
        .limit = request->limit,
        .patience = HF_PATIENCE_SLICE,
        .cancelled = &job->cancelled,
    };
    return job;
}

void hf_job_free(struct hf_job *job)
{
    assert(job->result.fifo < 0 && job->result.before_fifo < 0);
    if (job->place != NULL)
        hf_descriptors_close(job->place->descriptors, &job->directory.fd);
    hf_listing_unref(job->result.listing);
    hf_place_unref(job->place);
    hf_free(job->text);
    hf_free(job);
}

static bool reopen_place(struct hf_job *job)
{
    struct hf_place *fresh;

    if (hf_place_open(job->place->site, job->place->descriptors, &fresh,
                      &job->error) != HF_OK)
        return false;
    hf_place_unref(job->place);
    job->place = fresh;
    return true;
}

static void give_up(struct hf_job *job)
{
    char entry[HF_ENTRY_BYTES];
    char path[HF_PATH_BYTES];

    hf_entry_format(job->order.queue, entry);
    hf_site_path(job->place->site, entry, NULL, path);
    hf_patience_overdue(job->directory.fd, path, &job->error);
    job->answer = HF_SECTION_FAILED;
}

static void try_again_elsewhere(struct hf_job *job)
{
    if (job->reopened++ < REPLACED_MAX) {
        if (!reopen_place(job))
            job->answer = HF_SECTION_FAILED;
        return;
    }
    hf_error_set(&job->error, HF_EUNREACHABLE,
                 "%s was replaced %d times while being opened; what does that?",
                 job->place->site->root, REPLACED_MAX);
    job->answer = HF_SECTION_FAILED;
}

/* One turn of ${job}; false if it wants another. */
static bool run(struct hf_job *job)
{
    if (job->give_up_at_ms == 0)
        job->give_up_at_ms = hf_patience_now_ms() + HF_PATIENCE_MS;
    job->answer = hf_section_carry_out(job->place, &job->order, &job->directory,
                                       &job->result, &job->error);
    if (job->answer == HF_SECTION_STALE)
        try_again_elsewhere(job);
    else if (job->answer == HF_SECTION_BUSY &&
             hf_patience_now_ms() >= job->give_up_at_ms)
        give_up(job);
    return job->answer == HF_SECTION_DONE || job->answer == HF_SECTION_FAILED;
}

static void unref(struct hf_helper_desk *desk)
{
    unsigned left;

    pthread_mutex_lock(&desk->lock);
    left = --desk->references;
    pthread_mutex_unlock(&desk->lock);
    if (left > 0)
        return;
    assert(desk->todo.first == NULL && desk->done.first == NULL);
    pthread_cond_destroy(&desk->work);
    pthread_mutex_destroy(&desk->lock);
    hf_free(desk);
}

static void *thread_main(void *arg)
{
    struct hf_helper_desk *desk = arg;
    struct hf_job *job;
    bool ended;

    pthread_mutex_lock(&desk->lock);
    while (!desk->stopping) {
        job = pop(&desk->todo);
        if (job == NULL) {
            pthread_cond_wait(&desk->work, &desk->lock);
            continue;
        }
        pthread_mutex_unlock(&desk->lock);
        ended = run(job);
        pthread_mutex_lock(&desk->lock);
        push(ended ? &desk->done : &desk->todo, job);
        if (ended)
            uv_async_send(desk->async);
    }
    pthread_mutex_unlock(&desk->lock);
    unref(desk);
    return NULL;
}

static int make_desk(struct hf_helper *helper, uv_loop_t *loop,
                     uv_async_cb on_done, void *data)
{
    struct hf_helper_desk *desk = hf_alloc(sizeof(*desk));
    int failure;

    if (desk == NULL)
        return ENOMEM;
    failure = -uv_async_init(loop, &helper->async, on_done);
    if (failure != 0) {
        hf_free(desk);
        return failure;
    }
    helper->async.data = data;
    uv_unref((uv_handle_t *)&helper->async);
    pthread_mutex_init(&desk->lock, NULL);
    pthread_cond_init(&desk->work, NULL);
    desk->references = 1;
    desk->async = &helper->async;
    helper->desk = desk;
    return 0;
}

bool hf_helper_start(struct hf_helper *helper, uv_loop_t *loop,
                     uv_async_cb on_done, void *data)
{
    int failure = 0;

    if (helper->desk == NULL)
        failure = make_desk(helper, loop, on_done, data);
    if (failure == 0 && !helper->running) {
        helper->desk->references = 2;
        failure = hf_thread_start(NULL, thread_main, helper->desk);
        helper->running = failure == 0;
        if (!helper->running)
            helper->desk->references = 1;
    }
    errno = failure;
    return failure == 0;
}

void hf_helper_submit(struct hf_helper *helper, struct hf_job *job)
{
    struct hf_helper_desk *desk = helper->desk;

    assert(helper->running);
    pthread_mutex_lock(&desk->lock);
    push(&desk->todo, job);
    pthread_cond_signal(&desk->work);
    pthread_mutex_unlock(&desk->lock);
}

struct hf_job *hf_helper_collect(struct hf_helper *helper)
{
    struct hf_job *done;

    pthread_mutex_lock(&helper->desk->lock);
    done = helper->desk->done.first;
    helper->desk->done.first = NULL;
    pthread_mutex_unlock(&helper->desk->lock);
    return done;
}

bool hf_helper_stop(struct hf_helper *helper, uv_close_cb closed)
{
    struct hf_helper_desk *desk = helper->desk;

    if (desk == NULL)
        return false;
    pthread_mutex_lock(&desk->lock);
    desk->stopping = true;
    pthread_cond_signal(&desk->work);
    pthread_mutex_unlock(&desk->lock);
    unref(desk);
    helper->desk = NULL;
    uv_close((uv_handle_t *)&helper->async, closed);
    return true;
}
