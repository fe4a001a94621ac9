/* SPDX-License-Identifier: Apache-2.0 */
/* An errand on behalf of a user: started, or the same waited for. */
#include <string.h>

#include "core/error.h"
#include "host/errand.h"

static const struct hf_done no_done = {NULL, NULL, NULL};

static hf_status check_which(enum hf_tickets_which which,
                             struct hf_error *error)
{
    if (which <= HF_TICKETS_WAITERS)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'which' is %d; expected HF_TICKETS_ALL, "
                        "HF_TICKETS_HOLDERS or HF_TICKETS_WAITERS",
                        (int)which);
}

static hf_status parse_id(const char *text, struct hf_errand_order *order,
                          struct hf_error *error)
{
    if (text == NULL || hf_ticket_id_parse(&order->ticket, text, strlen(text)))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s' is no id of a ticket; expected one as "
                        "hf_lock_tickets() gives them, 8-4-4-4-12 digits in "
                        "lower-case hexadecimal",
                        text);
}

/* With the lock: the end of ${errand}, whose text goes to ${error}. */
static hf_status await(struct hf_errand *errand, struct hf_waiter *waiter,
                       struct hf_tickets **tickets, struct hf_error *error)
{
    hf_status status = hf_monitor_wait(&errand->lock->client->monitor, waiter);

    if (!waiter->done) {
        errand->waiter = NULL; /* it goes on, and end() gives it up */
        return hf_error_set(error, status,
                            "no descriptors to wait with; raise the limit on "
                            "open files");
    }
    *error = errand->outcome;
    if (tickets != NULL) {
        *tickets = errand->tickets;
        errand->tickets = NULL;
    }
    hf_errand_dereference(errand);
    return status;
}

/* That others are there sends who still has his ticket on to his next step. */
static bool is_failure(const struct hf_errand_order *order, hf_status status)
{
    return status != HF_OK && !(order->keeps && status == HF_EBUSY);
}

hf_status hf_errand_run(struct hf_lock *lock, const char *call,
                        struct hf_errand_order order, const char *id,
                        struct hf_tickets **tickets)
{
    struct hf_client *client = lock->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_error error = {.status = HF_OK};
    struct hf_errand *errand;
    hf_status status;

    if (tickets != NULL)
        *tickets = NULL;
    if ((status = hf_lock_may_block(lock, call, &error)) == HF_OK)
        status = hf_monitor_enter(&client->monitor);
    if (status != HF_OK)
        return status;
    status = parse_id(id, &order, &error);
    if (status == HF_OK)
        status = check_which(order.which, &error);
    if (status == HF_OK)
        status =
            hf_errand_begin(lock, &order, &waiter, no_done, &errand, &error);
    if (status == HF_OK)
        status = await(errand, &waiter, tickets, &error);
    if (is_failure(&order, status))
        hf_lock_fail(lock, call, &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_errand_start(struct hf_lock *lock, const char *call,
                          struct hf_errand_order order, const char *id,
                          struct hf_done done, struct hf_op **op)
{
    struct hf_client *client = lock->client;
    struct hf_error error = {.status = HF_OK};
    struct hf_errand *errand;
    hf_status status = hf_monitor_enter(&client->monitor);

    if (op != NULL)
        *op = NULL;
    if (status != HF_OK)
        goto drop;
    status = parse_id(id, &order, &error);
    if (status == HF_OK)
        status = check_which(order.which, &error);
    if (status == HF_OK && order.kind == HF_REQUEST_LIST && done.fn == NULL)
        status = hf_error_set(&error, HF_EINVAL,
                              "the callback is NULL, and the list would be "
                              "lost with it; pass a function");
    if (status == HF_OK)
        status = hf_errand_begin(lock, &order, NULL, done, &errand, &error);
    if (status == HF_OK && op != NULL)
        *op = hf_errand_op(errand);
    if (status != HF_OK)
        hf_lock_fail(lock, call, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        return HF_OK;
drop:
    if (done.drop != NULL)
        done.drop(done.arg);
    return status;
}
