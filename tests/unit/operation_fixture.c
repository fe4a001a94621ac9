/* SPDX-License-Identifier: Apache-2.0 */
/* The core as a test of one operation sees it. */
#include "operation_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void operation_fixture_init(struct operation_fixture *f,
                            enum hf_request_kind kind, const char *queue,
                            uint64_t wait_ms)
{
    struct hf_core_config config = {
        .connect_ms = OPERATION_CONNECT_MS,
        .retry = {.base_ms = 10, .cap_ms = 100, .tries = 3},
        .engine_name = "sim:here"};

    hf_random_seed(&config.random, 1);
    memset(f, 0, sizeof *f);
    f->now_ms = OPERATION_START_MS;
    hf_core_init(&f->core, &config, f->now_ms);
    f->operation.kind = kind;
    f->operation.queue = queue;
    f->operation.deadline_at_ms =
        wait_ms == HF_FOREVER ? HF_FOREVER : OPERATION_START_MS + wait_ms;
}

void operation_fixture_connect(struct operation_fixture *f, bool resumed)
{
    operation_fixture_step(
        f, (struct hf_event){.kind = HF_EVENT_CONNECTED,
                             .as.connected = {.timeout_ms = 10000,
                                              .clock_drift = 1,
                                              .anchor_ms = f->now_ms,
                                              .resumed = resumed}});
}

void operation_fixture_start(struct operation_fixture *f)
{
    operation_fixture_step(f,
                           (struct hf_event){.kind = HF_EVENT_START_OPERATION,
                                             .as.operation = &f->operation});
}

void operation_fixture_step_only(struct operation_fixture *f,
                                 struct hf_event event)
{
    event.now_ms = f->now_ms;
    hf_core_step(&f->core, &event);
}

static void take(struct operation_fixture *f, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST: /* one at a time, but that a watch is renewed */
        assert_true(f->request == NULL ||
                    f->operation.kind == HF_REQUEST_WATCH_QUEUE);
        f->request = effect->request;
        f->requests++;
        break;
    case HF_EFFECT_UNWATCH:
        assert_ptr_equal(effect->request, f->request);
        f->request = NULL;
        f->forgets++;
        break;
    default:
        f->watching += effect->kind == HF_EFFECT_OPERATION_WATCHING;
        f->answered += effect->kind == HF_EFFECT_OPERATION_ANSWERED;
        f->finished += effect->kind == HF_EFFECT_OPERATION_DONE;
        assert_true(f->answered >= f->finished);
    }
}

void operation_fixture_take(struct operation_fixture *f)
{
    struct hf_effect *effect;

    hf_core_check(&f->core);
    while ((effect = hf_core_next_effect(&f->core)) != NULL)
        take(f, effect);
    assert_true(f->watching <= 1 && f->answered <= 1 && f->finished <= 1);
}

void operation_fixture_step(struct operation_fixture *f, struct hf_event event)
{
    operation_fixture_step_only(f, event);
    operation_fixture_take(f);
}

void operation_fixture_tick(struct operation_fixture *f, uint64_t now_ms)
{
    f->now_ms = now_ms;
    operation_fixture_step(f, (struct hf_event){.kind = HF_EVENT_TICK});
}

void operation_fixture_changed(struct operation_fixture *f)
{
    struct hf_event event = {.kind = HF_EVENT_QUEUE_CHANGED};

    event.as.answer.request = f->request;
    operation_fixture_step(f, event);
}

void operation_fixture_expect_end(const struct operation_fixture *f,
                                  hf_status status)
{
    assert_int_equal(f->answered, 1);
    assert_int_equal(f->finished, 1);
    assert_int_equal(f->operation.status, status);
    assert_true((status == HF_OK) == (f->operation.text[0] == '\0'));
    assert_null(f->core.operations.first);
}
