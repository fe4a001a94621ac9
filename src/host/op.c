/* SPDX-License-Identifier: Apache-2.0 */
#include "host/op.h"

#include <stddef.h>

#include "host/departure.h"
#include "host/election_wait.h"
#include "host/errand.h"
#include "host/grant.h"

/* What ${handle} is embedded in, which is a struct ${type}. */
#define CARRIER(handle, type)                                                  \
    ((struct type *)(void *)((char *)(handle)-offsetof(struct type, op)))

static struct hf_client *client_of(struct hf_op *op)
{
    switch (op->kind) {
    case HF_OP_GRANT:
        return CARRIER(op, hf_grant)->client;
    case HF_OP_ERRAND:
        return CARRIER(op, hf_errand)->lock->client;
    case HF_OP_DEPARTURE:
        return CARRIER(op, hf_departure)->client;
    case HF_OP_ELECTION_WAIT:
        break;
    }
    return CARRIER(op, hf_election_wait)->client;
}

void hf_op_end_wait(struct hf_op *op)
{
    switch (op->kind) {
    case HF_OP_GRANT:
        hf_grant_cancel(CARRIER(op, hf_grant));
        break;
    case HF_OP_ERRAND:
        hf_errand_cancel(CARRIER(op, hf_errand));
        break;
    case HF_OP_DEPARTURE:
        hf_departure_cancel(CARRIER(op, hf_departure));
        break;
    case HF_OP_ELECTION_WAIT:
        hf_election_wait_cancel(CARRIER(op, hf_election_wait));
        break;
    }
}

void hf_op_cancel(struct hf_op *op)
{
    struct hf_client *client = client_of(op);

    if (hf_monitor_enter(&client->monitor) != HF_OK)
        return;
    hf_op_end_wait(op);
    hf_monitor_leave(&client->monitor);
}

static void dereference(struct hf_op *op)
{
    switch (op->kind) {
    case HF_OP_GRANT:
        hf_grant_dereference(CARRIER(op, hf_grant));
        break;
    case HF_OP_ERRAND:
        hf_errand_dereference(CARRIER(op, hf_errand));
        break;
    case HF_OP_DEPARTURE:
        hf_departure_dereference(CARRIER(op, hf_departure));
        break;
    case HF_OP_ELECTION_WAIT:
        hf_election_wait_dereference(CARRIER(op, hf_election_wait));
        break;
    }
}

void hf_op_free(struct hf_op *op)
{
    struct hf_client *client;

    if (op == NULL)
        return;
    client = client_of(op);
    if (hf_monitor_enter(&client->monitor) != HF_OK)
        return;
    /* Ours, until the lock is given up. */
    hf_monitor_reference(&client->monitor);
    dereference(op);
    hf_monitor_leave(&client->monitor);
    hf_monitor_release(&client->monitor);
}
