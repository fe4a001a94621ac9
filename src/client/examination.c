/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the user that examine the service, and the course of one. */
#include "client/examination.h"

#include <assert.h>
#include <stddef.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/client.h"
#include "core/finding_list.h"
#include "core/operation.h"
#include "monitor/callback_queue.h"
#include "operation/done.h"

struct hf_findings {
    struct hf_finding_list list;
};

/* All fields under the client's lock. */
struct examination {
    struct hf_operation operation;
    struct hf_client *client;
    unsigned references; /* see examination.h */
    bool ended;
    struct hf_findings *findings; /* until the user gets them */
    struct hf_error outcome;
    struct hf_waiter *waiter; /* the call that waits, or NULL */
    struct hf_done done;
    struct hf_callback done_callback;
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
    return (struct examination *)((char *)operation -
                                  offsetof(struct examination, operation));
}

/* Drop a reference; the last one frees it. */
static void dereference(struct examination *examination)
{
    assert(examination->references > 0);
    if (--examination->references > 0)
        return;
    hf_findings_free(examination->findings);
    hf_monitor_dereference(&examination->client->monitor);
    hf_free(examination);
}

/* The .run of the callback: report the end. */
static void run_done(void *arg)
{
    struct examination *examination = arg;
    struct hf_done done = examination->done;
    struct hf_result result = {.status = examination->outcome.status,
                               .text = examination->outcome.text,
                               .findings = examination->findings};

    examination->findings = NULL;
    hf_done_call(&examination->client->monitor, &done, &result);
    dereference(examination);
}

/* A failure for lack of memory is found when the core reports the answer. */
void hf_examination_save(const struct hf_event *event)
{
    struct examination *examination;

    if (event->kind != HF_EVENT_EXAMINED)
        return;
    examination = of_operation(event->as.answer.request->operation);
    if (!examination->ended)
        examination->findings = copy_findings(event->as.answer.findings);
}

/* The core has answered: so is the user. */
static void answered(struct examination *examination)
{
    const struct hf_operation *operation = &examination->operation;
    struct hf_monitor *monitor = &examination->client->monitor;

    assert(!examination->ended);
    examination->ended = true;
    examination->outcome = (struct hf_error){.status = HF_OK};
    if (operation->status != HF_OK)
        hf_error_set(&examination->outcome, operation->status, "%s",
                     operation->text);
    else if (examination->findings == NULL)
        hf_error_set(&examination->outcome, HF_ENOMEM, "out of memory");
    if (examination->waiter != NULL)
        hf_waiter_answer(monitor, examination->waiter,
                         examination->outcome.status);
    else if (examination->done.fn != NULL)
        hf_monitor_queue(monitor, &examination->done_callback);
    else
        dereference(examination); /* the call that waited has given up */
}

void hf_examination_handle_effect(const struct hf_effect *effect)
{
    struct examination *examination = of_operation(effect->operation);

    if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        answered(examination);
        return;
    }
    examination->client->pending--;
    dereference(examination);
}

/* Have the core begin it. */
static void start_operation(struct examination *examination, uint64_t wait_ms)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};
    struct hf_operation *operation = &examination->operation;

    operation->kind = HF_REQUEST_EXAMINE;
    operation->queue = "";
    operation->deadline_at_ms = hf_deadline_ms(hf_now_ms(), wait_ms);
    operation->only_try = wait_ms == 0;
    examination->references++;
    examination->client->pending++;
    event.as.operation = operation;
    hf_client_step(examination->client, &event);
}

/* Begin an examination, whose end ${waiter} or ${done} gets.  Sets ${begun}
 * before anything can end.  With the lock. */
static hf_status begin(struct hf_client *client, uint64_t wait_ms,
                       struct hf_waiter *waiter, struct hf_done done,
                       struct examination **begun, struct hf_error *error)
{
    struct hf_monitor *monitor = &client->monitor;
    struct examination *examination;
    hf_status status;

    if (monitor->closing)
        return hf_monitor_explain_closed(monitor, "client", error);
    if (done.fn != NULL &&
        (status = hf_monitor_ensure_poller(monitor, error)) != HF_OK)
        return status;
    if ((examination = hf_alloc(sizeof *examination)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    examination->client = client;
    examination->references = 1;
    examination->waiter = waiter;
    examination->done = done;
    examination->done_callback =
        (struct hf_callback){.run = run_done, .arg = examination};
    hf_monitor_reference(monitor);
    *begun = examination;
    start_operation(examination, wait_ms);
    return HF_OK;
}

/* ---------------------------------------------------------------- calls -- */

/* Wait for the end of ${examination}, and drop its reference.  With the lock.
 */
static hf_status await(struct examination *examination,
                       struct hf_waiter *waiter, struct hf_findings **findings,
                       struct hf_error *error)
{
    hf_status status =
        hf_monitor_wait(&examination->client->monitor, waiter, error);

    if (!waiter->done) {
        examination->waiter = NULL; /* its end drops the reference */
        return status;
    }
    *error = examination->outcome;
    *findings = examination->findings;
    examination->findings = NULL;
    dereference(examination);
    return status;
}

hf_status hf_client_examine(struct hf_client *client, uint64_t wait_ms,
                            struct hf_findings **findings)
{
    static const struct hf_done no_done;
    static const char call[] = "hf_client_examine";
    struct hf_waiter waiter = {.done = false};
    struct hf_error error = {.status = HF_OK};
    hf_status may_block = hf_monitor_may_block(&client->monitor, &error);
    struct examination *examination = NULL;
    hf_status status;

    *findings = NULL;
    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK)
        return status;
    status = may_block;
    if (status == HF_OK)
        status = begin(client, wait_ms, &waiter, no_done, &examination, &error);
    if (status == HF_OK)
        status = await(examination, &waiter, findings, &error);
    if (status != HF_OK)
        (void)hf_client_fail(client, call, &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_client_examine_start(struct hf_client *client, uint64_t wait_ms,
                                  struct hf_done done)
{
    static const char call[] = "hf_client_examine_start";
    struct hf_error error = {.status = HF_OK};
    struct examination *unused;
    hf_status status = hf_monitor_enter(&client->monitor);

    if (status != HF_OK)
        goto drop;
    if (done.fn == NULL)
        status = hf_error_set(&error, HF_EINVAL,
                              "the callback is NULL, and the findings would be "
                              "lost with it; pass a function");
    if (status == HF_OK)
        status = begin(client, wait_ms, NULL, done, &unused, &error);
    if (status != HF_OK)
        (void)hf_client_fail(client, call, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        return HF_OK;
drop:
    if (done.drop != NULL)
        done.drop(done.arg);
    return status;
}
