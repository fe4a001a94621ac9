/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All progress happens in advance(): it gives an event to the machine, and
 * carries out the step that the machine answers with.  An operation that ends
 * while it is being begun calls advance() again, so nothing may touch a retry
 * after its operation was begun.
 */
#include "zookeeper_client/zookeeper_retry.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "zookeeper_retry/retry_removal.h"

/* The pause of a retry with .goes_on after its operation could not be begun,
 * for lack of memory or because of a limit. */
#define NO_MEMORY_PAUSE_MS 100

static void advance(struct hf_zookeeper_retry *retry,
                    struct hf_zk_retry_event *event);
static void woken(void *arg);

static struct hf_zookeeper_retry *of_user_op(struct hf_user_op *op)
{
    return container_of(op, struct hf_zookeeper_retry, user_op.op);
}

hf_status hf_zookeeper_retry_random(struct hf_random *random,
                                    struct hf_error *error)
{
    if (getrandom(random->s, sizeof random->s, 0) != (ssize_t)sizeof random->s)
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            hf_errno_text(errno));
    random->s[0] |= 1; /* xoshiro must not start with all zeros */
    return HF_OK;
}

/* ------------------------------------------------------------------ life -- */

/* Add ${retry} to the list of the handle. */
static void link_to_handle(struct hf_zookeeper_retry *retry)
{
    struct hf_zookeeper_retries *retries = &retry->user_op.zookeeper->retries;

    retry->link = &retries->first;
    retry->next = retries->first;
    if (retry->next != NULL)
        retry->next->link = &retry->next;
    retries->first = retry;
}

static void unlink_from_handle(struct hf_zookeeper_retry *retry)
{
    *retry->link = retry->next;
    if (retry->next != NULL)
        retry->next->link = retry->link;
    retry->link = NULL;
}

/* Count ${retry} as one that may go on without a user who waits; HF_ELIMIT if
 * there are too many. */
static hf_status count_in_background(struct hf_zookeeper_retry *retry,
                                     struct hf_error *error)
{
    size_t *count = &retry->user_op.zookeeper->retries.background_count;

    assert(!retry->in_background);
    if (*count >= HF_ZOOKEEPER_BACKGROUND_MAX)
        return hf_error_set(error, HF_ELIMIT,
                            "%d removals and guaranteed deletes go on; "
                            "expected fewer, wait until the servers are "
                            "reached again",
                            HF_ZOOKEEPER_BACKGROUND_MAX);
    ++*count;
    retry->in_background = true;
    return HF_OK;
}

/* ${retry} has ended, or was not begun: free its machine and everything else
 * that only a running retry needs.  The user's reference may still keep it. */
static void retire(struct hf_zookeeper_retry *retry)
{
    struct hf_zookeeper_retry *removal = retry->removal;

    if (retry->link != NULL)
        unlink_from_handle(retry);
    hf_zookeeper_timer_stop(&retry->timer);
    assert(retry->waits_for != HF_ZOOKEEPER_RETRY_ANSWER);
    retry->waits_for = HF_ZOOKEEPER_RETRY_NOTHING;
    if (retry->in_background)
        retry->user_op.zookeeper->retries.background_count--;
    retry->in_background = false;
    if (retry->machine != NULL)
        retry->ops->free(retry->machine);
    retry->machine = NULL;
    retry->removal = NULL;
    if (removal == NULL)
        return;
    retire(removal);
    hf_user_op_dereference(&removal->user_op.op);
}

void hf_zookeeper_retry_destroy(struct hf_user_op *op)
{
    struct hf_zookeeper_retry *retry = of_user_op(op);
    struct hf_zookeeper *zookeeper = retry->user_op.zookeeper;

    hf_zookeeper_result_free(retry->user_op.result);
    hf_zookeeper_result_free(retry->timed_out);
    hf_free(retry);
    hf_zookeeper_dereference(zookeeper);
}

/* Give ${result} to the user, if there is one who was not notified of the end
 * yet. */
static void end_for_user(struct hf_zookeeper_retry *retry,
                         struct hf_zookeeper_result *result)
{
    if (retry->has_user)
        hf_zookeeper_user_op_end(&retry->user_op, result->status, result);
    else
        hf_zookeeper_result_free(result);
    retry->has_user = false;
}

/* If a retry that nobody waits for any more has failed, warn of the node that
 * stays. */
static void report(const struct hf_zookeeper_retry *retry,
                   const struct hf_zookeeper_result *result)
{
    if (result == NULL || result->status == HF_OK ||
        result->status == HF_ECLOSED || retry->stop != HF_OK)
        return;
    hf_log_write(&retry->user_op.zookeeper->monitor->log, HF_LOG_WARNING,
                 "a node that was to be deleted in the background stays: %s",
                 result->text);
}

/* The machine has come to its end. */
static void finish(struct hf_zookeeper_retry *retry,
                   struct hf_zookeeper_result *result)
{
    if (!retry->has_user)
        report(retry, result);
    retire(retry);
    end_for_user(retry, result);
    hf_user_op_dereference(&retry->user_op.op);
}

/* ------------------------------------------------------------------ time -- */

/* When the timer must end the wait of the user.  An operation in flight has the
 * user's deadline and ends by itself.  So while one is in flight, only a retry
 * with .goes_on, whose operation may take longer, needs the timer. */
static uint64_t user_deadline_ms(const struct hf_zookeeper_retry *retry)
{
    bool answers = retry->waits_for == HF_ZOOKEEPER_RETRY_ANSWER;

    return retry->has_user && (retry->goes_on || !answers)
               ? retry->deadline_at_ms
               : HF_FOREVER;
}

/* Set the timer to the end of the pause, or to the user's deadline if that is
 * earlier. */
static void arm(struct hf_zookeeper_retry *retry)
{
    uint64_t at_ms = user_deadline_ms(retry);

    if (retry->waits_for == HF_ZOOKEEPER_RETRY_PAUSE)
        at_ms = hf_min_ms(at_ms, retry->resume_at_ms);
    hf_zookeeper_timer_set(retry->user_op.zookeeper, &retry->timer, at_ms);
}

static void begin_pause(struct hf_zookeeper_retry *retry, uint64_t pause_ms)
{
    assert(retry->waits_for == HF_ZOOKEEPER_RETRY_NOTHING);
    retry->waits_for = HF_ZOOKEEPER_RETRY_PAUSE;
    retry->resume_at_ms = hf_after_ms(hf_now_ms(), pause_ms);
    arm(retry);
    hf_zookeeper_changed(retry->user_op.zookeeper);
}

/* Why ${retry} must stop instead of carrying out ${step}; HF_OK: it goes on. */
static hf_status why_stop(const struct hf_zookeeper_retry *retry,
                          const struct hf_zk_retry_step *step)
{
    if (retry->stop != HF_OK)
        return retry->stop;
    if (hf_zookeeper_is_closing(retry->user_op.zookeeper))
        return HF_ECLOSED;
    if (retry->goes_on)
        return HF_OK;
    if (retry->only_try && step->kind == HF_ZK_RETRY_PAUSE)
        return HF_EUNREACHABLE;
    return hf_now_ms() >= retry->deadline_at_ms ? HF_ETIMEDOUT : HF_OK;
}

static const char *stop_text(hf_status status)
{
    switch (status) {
    case HF_ETIMEDOUT:
        return "the time for it was over";
    case HF_ECANCELLED:
        return "it was cancelled";
    case HF_ECLOSED:
        return "the handle was closed";
    default:
        return "it has to be tried again later, and was not to wait";
    }
}

/* Initialise ${retry}, which is zeroed, with ${references} references. */
static void init(struct hf_zookeeper_retry *retry,
                 struct hf_zookeeper *zookeeper,
                 const struct hf_user_op_ops *ops, unsigned references)
{
    hf_zookeeper_reference(zookeeper);
    hf_zookeeper_user_op_init(&retry->user_op, zookeeper, ops, references);
    retry->timer.fn = woken;
    retry->timer.arg = retry;
}

/* ------------------------------------------------------------- removals -- */

/* Allocate a removal, with one reference, for the node that the next operation
 * may leave.  So the removal cannot fail later for lack of memory. */
static hf_status reserve(struct hf_zookeeper_retry *retry, size_t path_bytes,
                         struct hf_error *error)
{
    struct hf_zookeeper *zookeeper = retry->user_op.zookeeper;
    struct hf_zookeeper_retry *removal;

    if (retry->removal != NULL)
        return HF_OK;
    if ((removal = hf_alloc(sizeof *removal)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    init(removal, zookeeper, &hf_zookeeper_retry_user_ops, 1);
    removal->ops = &hf_zk_retry_removal_ops;
    removal->goes_on = true;
    removal->deadline_at_ms = HF_FOREVER;
    retry->removal = removal;
    removal->machine = hf_zk_retry_removal_new(path_bytes);
    if (removal->machine == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    return count_in_background(removal, error);
}

/* Begin the removal that is ready. */
static void begin_removal(struct hf_zookeeper_retry *retry,
                          const struct hf_zk_retry_remains *remains)
{
    struct hf_zk_retry_event event = {.kind = HF_ZK_RETRY_BEGIN};
    struct hf_zookeeper_retry *removal = retry->removal;

    assert(removal != NULL);
    retry->removal = NULL;
    hf_zk_retry_removal_set(removal->machine, remains);
    link_to_handle(removal);
    advance(removal, &event);
}

/* ---------------------------------------------------------------- steps -- */

/* The end of the operation of a retry. */
static void operation_ended(void *arg, hf_status status,
                            struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_retry *retry = arg;
    struct hf_zk_retry_event event = {
        .kind = HF_ZK_RETRY_ANSWERED, .status = status, .result = result};

    assert(retry->waits_for == HF_ZOOKEEPER_RETRY_ANSWER);
    retry->waits_for = HF_ZOOKEEPER_RETRY_NOTHING;
    retry->operation = NULL;
    advance(retry, &event);
}

/* How long the next operation of ${retry} may take: as long as the user waits.
 * A guaranteed delete then goes on with another operation. */
static uint64_t wait_ms(const struct hf_zookeeper_retry *retry)
{
    if (retry->only_try && !retry->goes_on)
        return 0;
    if (!retry->has_user || retry->deadline_at_ms == HF_FOREVER)
        return HF_FOREVER;
    return hf_max_ms(1, hf_before_ms(retry->deadline_at_ms, hf_now_ms()));
}

/* Begin the operation of ${step}.  If this returns HF_OK, ${retry} may have
 * ended and may be freed. */
static hf_status begin_operation(struct hf_zookeeper_retry *retry,
                                 struct hf_zk_retry_step *step,
                                 struct hf_error *error)
{
    const struct hf_zookeeper_on_end on_end = {operation_ended, retry};
    hf_status status = HF_OK;

    if (step->reserve_bytes > 0)
        status = reserve(retry, step->reserve_bytes, error);
    if (status != HF_OK)
        return status;
    hf_zookeeper_timer_stop(&retry->timer);
    if (retry->goes_on)
        arm(retry); /* because the user may stop waiting before the operation
                       ends */
    step->op.priority = retry->priority;
    retry->waits_for = HF_ZOOKEEPER_RETRY_ANSWER;
    status = hf_zookeeper_operation_begin(retry->user_op.zookeeper, &step->op,
                                          wait_ms(retry), on_end,
                                          &retry->operation, error);
    if (status != HF_OK)
        retry->waits_for = HF_ZOOKEEPER_RETRY_NOTHING;
    return status;
}

/* Fill in the fields of ${event} about the session, the time, and whether a
 * user waits. */
static void complete_event(const struct hf_zookeeper_retry *retry,
                           struct hf_zk_retry_event *event)
{
    const struct hf_zookeeper *zookeeper = retry->user_op.zookeeper;

    event->now_ms = hf_now_ms();
    event->user_waits =
        retry->has_user && event->now_ms < retry->deadline_at_ms;
    event->session = zookeeper->retries.session;
    event->previous = zookeeper->retries.previous;
    event->timeout_ms = zookeeper->retries.timeout_ms;
    event->zxid = zookeeper->begun ? zookeeper->session->zxid : 0;
}

/* Carry out ${step}.  HF_OK, or why that is not possible, with a text in
 * ${error}. */
static hf_status carry_out(struct hf_zookeeper_retry *retry,
                           struct hf_zk_retry_step *step,
                           struct hf_error *error)
{
    hf_status status = why_stop(retry, step);

    if (status != HF_OK)
        return hf_error_set(error, status, "%s", stop_text(status));
    switch (step->kind) {
    case HF_ZK_RETRY_DO:
        status = begin_operation(retry, step, error);
        if (status == HF_OK || !retry->goes_on || status == HF_ECLOSED)
            return status;
        begin_pause(retry, NO_MEMORY_PAUSE_MS);
        return HF_OK;
    case HF_ZK_RETRY_PAUSE:
        begin_pause(retry, step->pause_ms);
        return HF_OK;
    default:
        retry->waits_for = HF_ZOOKEEPER_RETRY_REPLY;
        arm(retry);
        hf_user_op_ask(&retry->user_op.op, &retry->ask_callback);
        return HF_OK;
    }
}

static void advance(struct hf_zookeeper_retry *retry,
                    struct hf_zk_retry_event *event)
{
    struct hf_zk_retry_step step;
    struct hf_error error;

    for (;;) {
        step = (struct hf_zk_retry_step){.kind = HF_ZK_RETRY_END};
        complete_event(retry, event);
        retry->ops->next(retry->machine, event, &step);
        if (step.remains.path != NULL)
            begin_removal(retry, &step.remains);
        if (step.kind == HF_ZK_RETRY_END) {
            finish(retry, step.result);
            return;
        }
        if (carry_out(retry, &step, &error) == HF_OK)
            return;
        *event = (struct hf_zk_retry_event){.kind = HF_ZK_RETRY_STOPPED,
                                            .status = error.status,
                                            .text = error.text};
    }
}

/* Stop ${retry}, which has no operation under way, because of ${status}. */
static void stop(struct hf_zookeeper_retry *retry, hf_status status)
{
    struct hf_zk_retry_event event = {.kind = HF_ZK_RETRY_STOPPED,
                                      .status = status,
                                      .text = stop_text(status)};

    retry->stop = status;
    retry->waits_for = HF_ZOOKEEPER_RETRY_NOTHING;
    advance(retry, &event);
}

/* ------------------------------------------------------------- interface -- */

/* An operation in flight is cancelled, and advance() goes on when it has
 * ended. */
void hf_zookeeper_retry_cancel(struct hf_user_op *op)
{
    struct hf_zookeeper_retry *retry = of_user_op(op);

    if (retry->machine == NULL)
        return;
    if (retry->waits_for != HF_ZOOKEEPER_RETRY_ANSWER) {
        stop(retry, HF_ECANCELLED);
        return;
    }
    retry->stop = HF_ECANCELLED;
    hf_zookeeper_operation_cancel(retry->operation);
}

const struct hf_user_op_ops hf_zookeeper_retry_user_ops = {
    .cancel = hf_zookeeper_retry_cancel,
    .take = hf_zookeeper_user_op_take,
    .destroy = hf_zookeeper_retry_destroy,
};

void hf_zookeeper_retry_reply(struct hf_zookeeper_retry *retry,
                              hf_status status)
{
    struct hf_zk_retry_event event = {.kind = HF_ZK_RETRY_REPLIED,
                                      .status = status};

    if (retry->waits_for != HF_ZOOKEEPER_RETRY_REPLY)
        return;
    retry->waits_for = HF_ZOOKEEPER_RETRY_NOTHING;
    advance(retry, &event);
}

/* Allocate what is needed before anything is sent. */
static hf_status prepare(struct hf_zookeeper_retry *retry,
                         struct hf_error *error)
{
    if (retry->machine == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if (!retry->goes_on)
        return HF_OK;
    if ((retry->timed_out = hf_zk_op_reserve()) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    return count_in_background(retry, error);
}

/* The user's time is over: set the text of .timed_out. */
static void say_why(struct hf_zookeeper_retry *retry)
{
    const char *error = hf_zookeeper_connection_error(retry->user_op.zookeeper);

    hf_zk_op_end(
        retry->timed_out, HF_ETIMEDOUT,
        "the time for it was over; it goes on in the background%s%.300s",
        error[0] != '\0' ? ", when there is a connection: " : "", error);
}

/* The .fn of the timer: the pause is over, or the user's time. */
static void woken(void *arg)
{
    struct hf_zookeeper_retry *retry = arg;
    struct hf_zk_retry_event event = {.kind = HF_ZK_RETRY_RESUMED};

    if (user_deadline_ms(retry) > hf_now_ms()) {
        assert(retry->waits_for == HF_ZOOKEEPER_RETRY_PAUSE);
        retry->waits_for = HF_ZOOKEEPER_RETRY_NOTHING;
        advance(retry, &event);
    } else if (!retry->goes_on) {
        stop(retry, HF_ETIMEDOUT);
    } else {
        say_why(retry);
        end_for_user(retry, retry->timed_out);
        retry->timed_out = NULL;
        arm(retry);
    }
}

/* ${retry} has two references: one until it ends, and one for the caller. */
bool hf_zookeeper_retry_begin(struct hf_zookeeper *zookeeper,
                              struct hf_zookeeper_retry *retry,
                              const struct hf_zookeeper_retry_plan *plan,
                              uint64_t wait_ms,
                              const struct hf_zookeeper_completion *completion,
                              struct hf_error *error)
{
    struct hf_zk_retry_event event = {.kind = HF_ZK_RETRY_BEGIN};

    init(retry, zookeeper, plan->user_ops, 2);
    hf_zookeeper_user_op_begin(&retry->user_op, completion);
    retry->ops = plan->ops;
    retry->machine = plan->machine;
    retry->priority = plan->priority;
    retry->goes_on = plan->goes_on;
    retry->has_user = true;
    retry->only_try = wait_ms == 0;
    retry->deadline_at_ms = retry->only_try && !retry->goes_on
                                ? HF_FOREVER
                                : hf_deadline_ms(hf_now_ms(), wait_ms);
    if (prepare(retry, error) != HF_OK) {
        retire(retry);
        retry->user_op.op.references = 1;
        hf_user_op_dereference(&retry->user_op.op);
        return false;
    }
    link_to_handle(retry);
    advance(retry, &event);
    return true;
}

/* -------------------------------------------------------- of the handle -- */

void hf_zookeeper_retries_up(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_retries *retries = &zookeeper->retries;
    int64_t session = zookeeper->session->id;

    retries->timeout_ms = zookeeper->session->timeout_ms;
    if (session == retries->session)
        return;
    retries->previous = retries->session;
    retries->session = session;
}

/* The first retry without an operation in flight.  A retry with an operation in
 * flight ends when the operation ends. */
static struct hf_zookeeper_retry *
next_idle(const struct hf_zookeeper_retries *retries)
{
    struct hf_zookeeper_retry *retry = retries->first;

    while (retry != NULL && retry->waits_for == HF_ZOOKEEPER_RETRY_ANSWER)
        retry = retry->next;
    return retry;
}

void hf_zookeeper_retries_close(struct hf_zookeeper *zookeeper)
{
    struct hf_zookeeper_retry *retry;

    while ((retry = next_idle(&zookeeper->retries)) != NULL)
        stop(retry, HF_ECLOSED);
}
