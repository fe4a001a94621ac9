/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the user that examine the service, and the course of one. */
#include "client/examination.h"

#include <assert.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/client.h"
#include "core/finding_list.h"
#include "core/operation.h"
#include "operation/user_op.h"

struct hf_findings {
    struct hf_finding_list list;
};

/* All fields under the client's lock. */
struct examination {
    struct hf_user_op user_op;
    struct hf_operation operation;
    struct hf_client *client;
    bool ended;
    struct hf_findings *findings; /* until the user gets them */
    struct hf_error outcome;
};

/* --------------------------------------------------------- its findings -- */

size_t hf_findings_count(const struct hf_findings *findings)
{
    return findings->list.count;
}

const struct hf_finding *hf_findings_at(const struct hf_findings *findings,
                                        size_t index)
{
    return index < findings->list.count ? &findings->list.items[index] : NULL;
}

void hf_findings_free(struct hf_findings *findings)
{
    if (findings == NULL)
        return;
    hf_finding_list_free(&findings->list);
    hf_free(findings);
}

/* A copy of ${list}; NULL for lack of memory. */
static struct hf_findings *copy_findings(const struct hf_finding_list *list)
{
    struct hf_findings *findings = hf_alloc(sizeof *findings);

    if (findings != NULL && !hf_finding_list_copy(list, &findings->list)) {
        hf_free(findings);
        return NULL;
    }
    return findings;
}

/* ----------------------------------------------------------- its course -- */

static struct examination *of_operation(struct hf_operation *operation)
{
    return container_of(operation, struct examination, operation);
}

static struct examination *of_user_op(struct hf_user_op *user_op)
{
    return container_of(user_op, struct examination, user_op);
}

/* The .destroy of an examination. */
static void destroy_examination(struct hf_user_op *user_op)
{
    struct examination *examination = of_user_op(user_op);

    hf_findings_free(examination->findings);
    hf_monitor_dereference(&examination->client->monitor);
    hf_free(examination);
}

/* The .take of an examination. */
static void take_findings(struct hf_user_op *user_op, struct hf_result *result,
                          struct hf_error *why)
{
    struct examination *examination = of_user_op(user_op);

    *why = examination->outcome;
    result->findings = examination->findings;
    examination->findings = NULL;
}

/* A user gets no handle of an examination, so there is no .cancel. */
static const struct hf_user_op_ops op_ops = {
    .take = take_findings,
    .destroy = destroy_examination,
};

/* Without memory .findings stays NULL, which answered() reports. */
void hf_examination_save(const struct hf_event *event)
{
    struct examination *examination;

    assert(event->kind == HF_EVENT_EXAMINED);
    examination = of_operation(event->as.answer.request->operation);
    if (!examination->ended)
        examination->findings = copy_findings(event->as.answer.findings);
}

/* The core has answered: end the user's operation. */
static void answered(struct examination *examination)
{
    const struct hf_operation *operation = &examination->operation;

    assert(!examination->ended);
    examination->ended = true;
    examination->outcome = (struct hf_error){.status = HF_OK};
    if (operation->status != HF_OK)
        hf_error_set(&examination->outcome, operation->status, "%s",
                     operation->text);
    else if (examination->findings == NULL)
        hf_error_set(&examination->outcome, HF_ENOMEM, "out of memory");
    hf_user_op_end(&examination->user_op, examination->outcome.status);
}

void hf_examination_handle_effect(const struct hf_effect *effect)
{
    struct examination *examination = of_operation(effect->operation);

    if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        answered(examination);
        return;
    }
    examination->client->pending--;
    hf_user_op_dereference(&examination->user_op);
}

/* Have the core begin the examination. */
static void start_operation(struct examination *examination, uint64_t wait_ms)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};
    struct hf_operation *operation = &examination->operation;

    operation->kind = HF_REQUEST_EXAMINE;
    operation->queue = "";
    operation->deadline_at_ms = hf_deadline_ms(hf_now_ms(), wait_ms);
    operation->only_try = wait_ms == 0;
    examination->user_op.references++; /* of the core */
    examination->client->pending++;
    event.as.operation = operation;
    hf_client_step(examination->client, &event);
}

/* ---------------------------------------------------------------- calls -- */

/* A call of the user that examines the service. */
struct examine_call {
    struct hf_user_call call;
    struct hf_client *client;
    uint64_t wait_ms;
};

static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    const struct examine_call *examine_call =
        container_of(call, struct examine_call, call);
    struct examination *examination;

    if (completion->waiter == NULL &&
        hf_done_check(&completion->done, "findings", error) != HF_OK)
        return NULL;
    if (call->monitor->state != HF_MONITOR_OPEN) {
        (void)hf_monitor_explain_closed(call->monitor, "client", error);
        return NULL;
    }
    if (completion->done.fn != NULL &&
        hf_monitor_ensure_poller(call->monitor, error) != HF_OK)
        return NULL;
    if ((examination = hf_alloc(sizeof *examination)) == NULL) {
        hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    examination->client = examine_call->client;
    hf_user_op_init(&examination->user_op, &op_ops, call->monitor, 1);
    hf_user_op_begin(&examination->user_op, completion);
    hf_monitor_reference(call->monitor);
    start_operation(examination, examine_call->wait_ms);
    return &examination->user_op;
}

static struct examine_call make_call(struct hf_client *client,
                                     const char *api_name, uint64_t wait_ms)
{
    return (struct examine_call){
        .call = {.api_name = api_name,
                 .monitor = &client->monitor,
                 .begin = begin_call},
        .client = client,
        .wait_ms = wait_ms,
    };
}

hf_status hf_client_examine(struct hf_client *client, uint64_t wait_ms,
                            struct hf_findings **findings)
{
    struct examine_call call = make_call(client, "hf_client_examine", wait_ms);
    struct hf_result result;
    hf_status status = hf_user_op_run(&call.call, &result);

    *findings = result.findings;
    return status;
}

hf_status hf_client_examine_start(struct hf_client *client, uint64_t wait_ms,
                                  struct hf_done done)
{
    struct examine_call call =
        make_call(client, "hf_client_examine_start", wait_ms);

    return hf_user_op_start(&call.call, done, NULL);
}
