/* SPDX-License-Identifier: Apache-2.0 */
#include "desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void desk_init(struct desk *d, enum hf_request_kind kind, const char *queue,
               uint64_t wait_ms)
{
    struct hf_core_config config = {
        .connect_ms = DESK_CONNECT_MS,
        .retry = {.base_ms = 10, .cap_ms = 100, .tries = 3},
        .engine_name = "sim:here"};

    hf_random_seed(&config.random, 1);
    memset(d, 0, sizeof *d);
    d->now_ms = DESK_START_MS;
    hf_core_init(&d->core, &config, d->now_ms);
    d->operation.kind = kind;
    d->operation.queue = queue;
    d->operation.deadline_at_ms =
        wait_ms == HF_FOREVER ? HF_FOREVER : DESK_START_MS + wait_ms;
}

void desk_connect(struct desk *d, bool resumed)
{
    desk_step(d, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                                   .as.connected = {.timeout_ms = 10000,
                                                    .anchor_ms = d->now_ms,
                                                    .resumed = resumed}});
}

void desk_inquire(struct desk *d)
{
    desk_step(d, (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                   .as.operation = &d->operation});
}

void desk_step_only(struct desk *d, struct hf_event event)
{
    event.now_ms = d->now_ms;
    hf_core_step(&d->core, &event);
}

static void take(struct desk *d, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST: /* one at a time; a look is told anew or changed */
        assert_true(d->request == NULL ||
                    d->operation.kind == HF_REQUEST_WATCH_QUEUE);
        d->request = effect->request;
        d->requests++;
        break;
    case HF_EFFECT_UNWATCH:
        assert_ptr_equal(effect->request, d->request);
        d->request = NULL;
        d->forgets++;
        break;
    default:
        d->answered += effect->kind == HF_EFFECT_OPERATION_ANSWERED;
        d->finished += effect->kind == HF_EFFECT_OPERATION_DONE;
        assert_true(d->answered >= d->finished);
    }
}

void desk_take(struct desk *d)
{
    struct hf_effect *effect;

    hf_core_check(&d->core);
    while ((effect = hf_core_next_effect(&d->core)) != NULL)
        take(d, effect);
    assert_true(d->answered <= 1 && d->finished <= 1);
}

void desk_step(struct desk *d, struct hf_event event)
{
    desk_step_only(d, event);
    desk_take(d);
}

void desk_tick(struct desk *d, uint64_t now_ms)
{
    d->now_ms = now_ms;
    desk_step(d, (struct hf_event){.kind = HF_EVENT_TICK});
}

void desk_changed(struct desk *d)
{
    struct hf_event event = {.kind = HF_EVENT_QUEUE_CHANGED};

    event.as.answer.request = d->request;
    desk_step(d, event);
}

void desk_expect_end(const struct desk *d, hf_status status)
{
    assert_int_equal(d->answered, 1);
    assert_int_equal(d->finished, 1);
    assert_int_equal(d->operation.status, status);
    assert_true((status == HF_OK) == (d->operation.text[0] == '\0'));
    assert_null(d->core.first_operation);
}
