/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-hold URL NAME: sessions that hold a lock each, and do nothing else. All
 * are on one loop, because what they cost the server is what is measured.
 * Requests:
 *
 *   hold COUNT   open so many more, each with a lock of its own below NAME;
 *                answered when all hold
 *
 * They end with this program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/uv.h>

#include "protocol.h"

#define HOLDERS_MAX 20000
#define NAME_BYTES 128

struct holder {
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
};

static const char *url, *name;
static uv_loop_t loop;
static uv_poll_t requests;
static struct holder holders[HOLDERS_MAX];
static unsigned opened, wanted, granted;

static void on_acquired(void *arg, const struct hf_result *result)
{
    struct holder *holder = arg;

    if (result->status != HF_OK)
        bench_fail(result->text);
    holder->grant = result->grant;
    if (++granted == wanted)
        bench_end(wanted);
    (void)fflush(stdout);
}

static void hold_one(struct holder *holder, unsigned number)
{
    struct hf_done done = {on_acquired, holder, NULL};
    char text[NAME_BYTES];

    snprintf(text, sizeof(text), "%s/%u", name, number);
    if (hf_client_open_uv(&loop, url, NULL, &holder->client) != HF_OK ||
        hf_lock_open(holder->client, text, NULL, &holder->lock) != HF_OK ||
        hf_lock_acquire_start(holder->lock, NULL, done, NULL) != HF_OK)
        bench_fail("no more sessions could be opened");
}

static void hold(unsigned count)
{
    if (count == 0 || count > HOLDERS_MAX - opened)
        bench_fail("no session, or too many; expected up to 20000 in all");
    wanted = count;
    for (unsigned i = 0; i < count; i++, opened++)
        hold_one(&holders[opened], opened);
}

static void on_request(uv_poll_t *handle, int status, int events)
{
    struct bench_request request;

    (void)status;
    (void)events;
    if (!bench_next_request(&request)) {
        uv_close((uv_handle_t *)handle, NULL);
        exit(0); /* and the sessions with us */
    }
    granted = 0;
    bench_begin();
    if (strcmp(request.word, "hold") == 0)
        hold(request.first);
    else
        bench_fail("no such request; expected hold COUNT");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        bench_fail("expected URL NAME");
    url = argv[1];
    name = argv[2];
    if (uv_loop_init(&loop) != 0 ||
        uv_poll_init(&loop, &requests, STDIN_FILENO) != 0 ||
        uv_poll_start(&requests, UV_READABLE, on_request) != 0)
        bench_fail("no loop could be made");
    return uv_run(&loop, UV_RUN_DEFAULT);
}
