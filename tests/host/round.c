/* SPDX-License-Identifier: Apache-2.0 */
#include "round.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

struct hf_double_barrier *round_party(struct round *w, uint32_t parties)
{
    struct hf_double_barrier *barrier;

    assert_int_equal(
        hf_double_barrier_open(w->front.client, "round", parties, &barrier),
        HF_OK);
    return barrier;
}

/* ---------------------------------------------------------------- script -- */

void round_say(struct round *w, char command)
{
    assert_int_equal(write(w->pipe[1], &command, 1), 1);
}

bool round_is_obeyed(void *arg)
{
    struct round *w = arg;
    int unread;

    assert_int_equal(ioctl(w->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* What follows takes the client's lock, under which commands are obeyed. */
void round_say_first(struct round *w, char command)
{
    round_say(w, command);
    front_until(&w->front, round_is_obeyed, w);
}

static bool is_connected(void *arg)
{
    return hf_client_state(((struct round *)arg)->front.client) ==
           HF_STATE_CONNECTED;
}

void round_connect(struct round *w)
{
    round_say(w, SCRIPTED_CONNECT);
    front_until(&w->front, is_connected, w);
}

void round_open(struct round *w, enum way way)
{
    char url[64];

    memset(w, 0, sizeof(*w));
    assert_int_equal(pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", w->pipe[0]);
    front_open(&w->front, way, url, no_listener);
    round_connect(w);
    w->mine = round_party(w, 2);
    w->theirs = round_party(w, 2);
}

void round_close(struct round *w)
{
    hf_double_barrier_free(w->mine);
    hf_double_barrier_free(w->theirs);
    front_close(&w->front);
    round_forget(w);
}

void round_forget(struct round *w)
{
    close(w->pipe[0]);
    close(w->pipe[1]);
}

/* -------------------------------------------------- one call in each way -- */

static hf_status wait_for(struct errand *e)
{
    switch ((enum round_call)e->call) {
    case ROUND_ENTER:
        return hf_double_barrier_enter(e->subject, e->wait_ms);
    case ROUND_LEAVE:
        return hf_double_barrier_leave(e->subject, e->wait_ms);
    case ROUND_MEMBERS:
        break;
    }
    return hf_double_barrier_participants(e->subject, e->wait_ms, &e->tickets);
}

static hf_status start(struct errand *e, struct hf_done done)
{
    switch ((enum round_call)e->call) {
    case ROUND_ENTER:
        return hf_double_barrier_enter_start(e->subject, e->wait_ms, done,
                                             &e->op);
    case ROUND_LEAVE:
        return hf_double_barrier_leave_start(e->subject, e->wait_ms, done,
                                             &e->op);
    case ROUND_MEMBERS:
        break;
    }
    return hf_double_barrier_participants_start(e->subject, e->wait_ms, done);
}

static void error_of(const struct errand *e, struct hf_error *error)
{
    hf_double_barrier_error(e->subject, error);
}

static const struct errand_calls calls = {wait_for, start, error_of};

void round_begin(struct round *w, struct errand *e,
                 struct hf_double_barrier *barrier, enum round_call call,
                 uint64_t wait_ms)
{
    *e = (struct errand){.front = &w->front,
                         .calls = &calls,
                         .subject = barrier,
                         .call = (int)call,
                         .wait_ms = wait_ms};
    errand_begin(e);
}

hf_status round_run(struct round *w, struct hf_double_barrier *barrier,
                    enum round_call call, uint64_t wait_ms)
{
    struct errand e;

    round_begin(w, &e, barrier, call, wait_ms);
    return errand_end(&e);
}

/* So many members there are, as somebody else is told who comes and goes. */
int round_there(struct round *w)
{
    struct hf_double_barrier *other = round_party(w, HF_PARTIES_MAX);
    struct errand e;
    char *from;

    round_begin(w, &e, other, ROUND_ENTER, 0);
    assert_int_equal(errand_end(&e), HF_EBUSY);
    hf_double_barrier_free(other);
    from = strstr(e.text, " of 128 parties are there");
    assert_non_null(from);
    while (from > e.text && from[-1] >= '0' && from[-1] <= '9')
        from--;
    return atoi(from) - 1;
}

struct wanted {
    struct round *world;
    int there;
};

static bool are_there(void *arg)
{
    struct wanted *wanted = arg;

    return round_there(wanted->world) == wanted->there;
}

void round_until_there(struct round *w, int count)
{
    struct wanted wanted = {w, count};

    front_until(&w->front, are_there, &wanted);
}

void round_both(struct round *w, enum round_call call)
{
    struct errand first, second;

    round_begin(w, &first, w->mine, call, HF_FOREVER);
    round_begin(w, &second, w->theirs, call, HF_FOREVER);
    assert_int_equal(errand_end(&first), HF_OK);
    assert_int_equal(errand_end(&second), HF_OK);
}
