/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a registration: a write and an EXISTS behind it, and when to try
 * again.
 *
 * A step has ended when both of its operations have ended.  If a server has
 * answered the EXISTS (or the write, if the step has no EXISTS), the next step
 * may begin at once.  Otherwise the connection or the handle may be ending, and
 * the operations of a new step would fail in the same way.  So the next step
 * then waits for a timer or a connection.
 */
#include <assert.h>

#include "base/error.h"
#include "zookeeper_client/zookeeper_registration.h"

/* The pause after a failed step: it grows from the first of these to the
 * second. */
#define RETRY_MS 50
#define RETRY_MAX_MS 10000

/* --------------------------------------------------------------- its end -- */

/* Count down .under_way: an operation has ended, or the step has begun all of
 * its operations.  The last one ends the step. */
static void one_ended(struct hf_zookeeper_registration *r)
{
    assert(r->step.under_way > 0);
    if (--r->step.under_way == 0)
        r->step_ended(r);
    hf_registration_dereference(r);
}

/* Set ${end} to how an operation ended. */
static void note_end(struct hf_error *end, hf_status status,
                     const struct hf_zookeeper_result *result)
{
    *end = (struct hf_error){.status = HF_OK};
    if (status != HF_OK)
        (void)hf_error_set(end, status, "%s", result->text);
}

static void write_ended(void *arg, hf_status status,
                        struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_registration *r = arg;

    r->step.write_operation = NULL;
    note_end(&r->step.write, status, result);
    hf_zookeeper_result_free(result);
    one_ended(r);
}

static void exists_ended(void *arg, hf_status status,
                         struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_registration *r = arg;

    r->step.exists_operation = NULL;
    note_end(&r->step.exists, status, result);
    r->step.stat = result->stat;
    hf_zookeeper_result_free(result);
    one_ended(r);
}

/* ----------------------------------------------------------------- begin -- */

/* The write of a step of ${kind}. */
static struct hf_zookeeper_op
write_of(const struct hf_zookeeper_registration *r,
         enum hf_registration_step_kind kind)
{
    struct hf_zookeeper_op op = {.path = r->path};

    switch (kind) {
    case HF_REGISTRATION_CREATE:
        op.kind = HF_ZOOKEEPER_CREATE;
        op.mode = HF_ZOOKEEPER_EPHEMERAL;
        op.acls = r->acls;
        op.acl_count = r->acl_count;
        break;
    case HF_REGISTRATION_PARENT:
        op.kind = HF_ZOOKEEPER_CREATE;
        op.mode = r->parent_mode;
        op.path = r->parent;
        return op;
    case HF_REGISTRATION_SET:
        op.kind = HF_ZOOKEEPER_SET;
        op.version = r->stat.version;
        break;
    case HF_REGISTRATION_DELETE:
        op.kind = HF_ZOOKEEPER_DELETE;
        op.version = r->stat.version;
        return op;
    default:
        op.kind = HF_ZOOKEEPER_SYNC;
        return op;
    }
    op.data = r->data;
    op.bytes = r->bytes;
    return op;
}

/* How long ${op} may wait for a connection.  A SET or a DELETE uses the version
 * that an earlier EXISTS has shown, so it must not wait: meanwhile somebody
 * else may create a node there that has the same version. */
static uint64_t wait_ms_of(const struct hf_zookeeper_op *op)
{
    return op->kind == HF_ZOOKEEPER_SET || op->kind == HF_ZOOKEEPER_DELETE
               ? 0
               : HF_FOREVER;
}

/* Begin ${op} as an operation of the step.  If it is refused, ${error} says
 * why. */
static void begin_operation(struct hf_zookeeper_registration *r,
                            const struct hf_zookeeper_op *op,
                            void (*ended)(void *arg, hf_status status,
                                          struct hf_zookeeper_result *result),
                            struct hf_zookeeper_operation **operation,
                            struct hf_error *error)
{
    const struct hf_zookeeper_on_end on_end = {ended, r};
    struct hf_error refused;

    r->step.under_way++;
    hf_registration_reference(r);
    if (hf_zookeeper_operation_begin(r->zookeeper, op, wait_ms_of(op), on_end,
                                     operation, &refused) == HF_OK)
        return;
    *error = refused;
    r->step.under_way--;
    hf_registration_dereference(r);
}

/* .under_way begins with 1, so that the step does not end before all of its
 * operations were begun, because each may end at once. */
void hf_registration_begin(struct hf_zookeeper_registration *r,
                           enum hf_registration_step_kind kind)
{
    const struct hf_zookeeper_op exists = {
        .kind = HF_ZOOKEEPER_EXISTS, .path = r->path, .watch = r->watch};
    struct hf_zookeeper_op write;

    assert(r->step.under_way == 0);
    assert(r->state == HF_REGISTRATION_CREATING ||
           r->state == HF_REGISTRATION_CHECKING ||
           r->state == HF_REGISTRATION_REMOVING);
    hf_zookeeper_timer_stop(&r->retry_timer);
    r->step = (struct hf_registration_step){
        .kind = kind, .under_way = 1, .data_number = r->data_number};
    hf_registration_reference(r);
    if (kind != HF_REGISTRATION_CHECK) {
        write = write_of(r, kind);
        begin_operation(r, &write, write_ended, &r->step.write_operation,
                        &r->step.write);
    }
    if (kind != HF_REGISTRATION_PARENT && kind != HF_REGISTRATION_DELETE)
        begin_operation(r, &exists, exists_ended, &r->step.exists_operation,
                        &r->step.exists);
    one_ended(r);
}

/* If there is no connection when the timer runs out, nothing is done; the
 * registration goes on with the next connection. */
void hf_registration_retry(struct hf_zookeeper_registration *r)
{
    static const struct hf_retry_policy policy = {
        RETRY_MS, RETRY_MAX_MS, HF_RETRY_UNLIMITED, HF_FOREVER};
    struct hf_zookeeper *z = r->zookeeper;
    uint64_t at_ms = hf_retry_next(&policy, &r->retry, hf_now_ms(),
                                   &z->session->config->random);

    assert(r->state == HF_REGISTRATION_CREATING ||
           r->state == HF_REGISTRATION_CHECKING ||
           r->state == HF_REGISTRATION_REMOVING);
    if (!hf_zookeeper_is_closing(z))
        hf_zookeeper_timer_set(z, &r->retry_timer, at_ms);
}

/* ---------------------------------------------------------------- cancel -- */

static bool is_unsent(const struct hf_zookeeper_operation *operation)
{
    return operation != NULL && operation->zk_op.state == HF_ZK_OP_WAITING;
}

/* If the write was sent, the EXISTS behind it is not cancelled, because it has
 * to show the result of the write. */
void hf_registration_cancel_unsent(struct hf_zookeeper_registration *r)
{
    struct hf_registration_step *step = &r->step;

    if (is_unsent(step->write_operation))
        hf_zookeeper_operation_cancel(step->write_operation);
    if (step->write_operation == NULL && is_unsent(step->exists_operation))
        hf_zookeeper_operation_cancel(step->exists_operation);
}

bool hf_registration_sees_own(const struct hf_zookeeper_registration *r)
{
    int64_t id = r->zookeeper->session->id;

    return r->step.exists.status == HF_OK && id != 0 &&
           r->step.stat.ephemeral_owner == id;
}
