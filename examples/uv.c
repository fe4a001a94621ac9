/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a libuv loop of the program's own: no thread is started, and every
 * callback runs between the others of the loop.
 *
 *     cc uv.c -o uv $(pkg-config --cflags --libs holdfast libuv)
 *     ./uv
 */
#include <inttypes.h>
#include <stdio.h>

#include <holdfast/uv.h>

struct program {
    struct hf_client *client;
    struct hf_lock *lock;
    uv_timer_t work; /* stands for whatever the loop does under the lock */
    struct hf_grant *grant;
    int status;
};

/* 4. The client has left the loop, which ends when nothing else is on it. */
static void on_closed(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
    printf("closed\n");
}

static void finish(struct program *program, int status)
{
    struct hf_done done = {on_closed, program, NULL};

    program->status = status;
    uv_close((uv_handle_t *)&program->work, NULL);
    hf_lock_free(program->lock);
    if (hf_client_close_start(program->client, done) != HF_OK)
        program->status = 1;
}

/* 3. HF_OK, or HF_ELOST if the lock was lost while we worked. */
static void on_released(void *arg, const struct hf_result *result)
{
    printf("released: %s\n", hf_status_name(result->status));
    finish(arg, result->status == HF_OK ? 0 : 1);
}

/* 2. The work is done. */
static void on_work_done(uv_timer_t *work)
{
    struct program *program = work->data;
    struct hf_done done = {on_released, program, NULL};

    if (hf_grant_release_start(program->grant, done) != HF_OK)
        finish(program, 1);
}

/* 1. The lock is ours, or never will be. */
static void on_acquired(void *arg, const struct hf_result *result)
{
    struct program *program = arg;

    if (result->status != HF_OK) {
        fprintf(stderr, "%s\n", result->text);
        finish(program, 1);
        return;
    }
    program->grant = result->grant;
    printf("holding %s with token %" PRIu64 "\n", hf_lock_name(program->lock),
           hf_grant_token(program->grant));
    uv_timer_start(&program->work, on_work_done, 10, 0);
}

int main(void)
{
    uv_loop_t *loop = uv_default_loop();
    struct program program = {.status = 0};
    struct hf_done done = {on_acquired, &program, NULL};

    if (hf_client_open_uv(loop, NULL, NULL, &program.client) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    uv_timer_init(loop, &program.work);
    program.work.data = &program;
    if (hf_lock_open(program.client, "nightly-report", NULL, &program.lock) !=
            HF_OK ||
        hf_lock_acquire_start(program.lock, NULL, done, NULL) != HF_OK)
        finish(&program, 1);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    return program.status;
}
