/* SPDX-License-Identifier: Apache-2.0 */
#include "errand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void *run_blocking(void *arg)
{
    struct errand *e = arg;
    struct hf_error error;

    e->status = e->calls->wait_for(e);
    e->calls->error(e, &error);
    if (e->status != HF_OK)
        memcpy(e->text, error.text, sizeof(e->text));
    atomic_fetch_add(&e->ended, 1);
    return NULL;
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct errand *e = arg;

    assert_null(result->grant);
    e->status = result->status;
    e->tickets = result->tickets;
    snprintf(e->text, sizeof(e->text), "%s", result->text);
    atomic_fetch_add(&e->ended, 1);
}

static void on_drop(void *arg)
{
    struct errand *e = arg;

    atomic_fetch_add(&e->dropped, 1);
}

static bool has_ended(void *arg)
{
    struct errand *e = arg;

    return atomic_load(&e->ended) > 0 &&
           (e->front->way == WAY_BLOCKING || atomic_load(&e->dropped) > 0);
}

struct hf_done errand_done(struct errand *e)
{
    return (struct hf_done){on_done, e, on_drop};
}

void errand_begin(struct errand *e)
{
    if (e->front->way == WAY_BLOCKING)
        e->thread = kit_thread(run_blocking, e);
    else
        assert_int_equal(e->calls->start(e, errand_done(e)), HF_OK);
}

hf_status errand_end(struct errand *e)
{
    front_until(e->front, has_ended, e);
    if (e->front->way == WAY_BLOCKING)
        pthread_join(e->thread, NULL);
    else
        assert_int_equal(atomic_load(&e->dropped), 1);
    hf_op_free(e->op);
    e->op = NULL;
    assert_int_equal(atomic_load(&e->ended), 1);
    assert_true((e->status == HF_OK) == (e->text[0] == '\0'));
    return e->status;
}
