/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On any event loop, here a bare epoll: one descriptor becomes readable when
 * callbacks wait, and they run where hf_client_dispatch() is called.
 *
 *     cc epoll.c -o epoll $(pkg-config --cflags --libs holdfast)
 *     ./epoll
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

struct program {
    struct hf_client *client;
    struct hf_lock *lock;
    bool done;
    int status;
};

static void finish(struct program *program, int status)
{
    program->status = status;
    program->done = true;
}

static void on_released(void *arg, const struct hf_result *result)
{
    printf("released: %s\n", hf_status_name(result->status));
    finish(arg, result->status == HF_OK ? 0 : 1);
}

static void on_acquired(void *arg, const struct hf_result *result)
{
    struct program *program = arg;
    struct hf_done done = {on_released, program, NULL};

    if (result->status != HF_OK) {
        fprintf(stderr, "%s\n", result->text);
        finish(program, 1);
        return;
    }
    printf("holding %s with token %" PRIu64 "\n", hf_lock_name(program->lock),
           hf_grant_token(result->grant));
    if (hf_grant_release_start(result->grant, done) != HF_OK)
        finish(program, 1);
}

/* The loop: the client's descriptor is one among whatever else there is. */
static void run(struct program *program)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    event.data.ptr = program->client;
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD,
                               hf_client_fd(program->client), &event) != 0) {
        perror("epoll");
        finish(program, 1);
    }
    while (!program->done) {
        if (epoll_wait(epoll, &event, 1, -1) == 1)
            hf_client_dispatch(event.data.ptr);
    }
    if (epoll >= 0)
        close(epoll);
}

int main(void)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct program program = {.done = false};
    struct hf_done done = {on_acquired, &program, NULL};

    opts.delivery = HF_DELIVER_DISPATCH;
    if (hf_client_open(NULL, &opts, &program.client) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    if (hf_lock_open(program.client, "nightly-report", NULL, &program.lock) ==
            HF_OK &&
        hf_lock_acquire_start(program.lock, NULL, done, NULL) == HF_OK)
        run(&program);
    else
        finish(&program, 1);
    hf_lock_free(program.lock);
    hf_client_close(program.client);
    printf("closed\n");
    return program.status;
}
