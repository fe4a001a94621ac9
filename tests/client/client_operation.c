/* SPDX-License-Identifier: Apache-2.0 */
/* Starts an operation in the way of its host, and collects its end. */
#include "client_operation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void *run_blocking(void *arg)
{
    struct client_operation *operation = arg;

    operation->status = operation->calls->wait_for(operation);
    if (operation->status != HF_OK)
        memcpy(operation->text, hf_last_error()->text, sizeof(operation->text));
    atomic_fetch_add(&operation->ended, 1);
    return NULL;
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct client_operation *operation = arg;

    assert_null(result->grant);
    operation->status = result->status;
    operation->tickets = result->tickets;
    snprintf(operation->text, sizeof(operation->text), "%s", result->text);
    assert_last_error(result->status, result->text);
    atomic_fetch_add(&operation->ended, 1);
}

static void on_drop(void *arg)
{
    struct client_operation *operation = arg;

    atomic_fetch_add(&operation->dropped, 1);
}

static bool has_ended(void *arg)
{
    struct client_operation *operation = arg;

    return atomic_load(&operation->ended) > 0 &&
           (operation->fixture->way == WAY_BLOCKING ||
            atomic_load(&operation->dropped) > 0);
}

struct hf_done client_operation_done(struct client_operation *operation)
{
    return (struct hf_done){on_done, operation, on_drop};
}

void client_operation_begin(struct client_operation *operation)
{
    if (operation->fixture->way == WAY_BLOCKING)
        operation->thread = start_thread(run_blocking, operation);
    else
        assert_int_equal(operation->calls->start(
                             operation, client_operation_done(operation)),
                         HF_OK);
}

hf_status client_operation_await(struct client_operation *operation)
{
    client_wait_until(operation->fixture, has_ended, operation);
    if (operation->fixture->way == WAY_BLOCKING)
        pthread_join(operation->thread, NULL);
    else
        assert_int_equal(atomic_load(&operation->dropped), 1);
    hf_op_free(operation->op);
    operation->op = NULL;
    assert_int_equal(atomic_load(&operation->ended), 1);
    assert_true((operation->status == HF_OK) == (operation->text[0] == '\0'));
    return operation->status;
}
