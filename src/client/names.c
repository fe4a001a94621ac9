/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a page.  The engine may answer from inside a request, so run()
 * is not entered again while it runs, and looks again at what is to be done
 * after each request.
 */
#include "client/names.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/names_page.h"
#include "client/queue_op.h"
#include "core/lock_name.h"
#include "core/operation.h"

/* Lists under way at a time: as many as fill a connection. */
#define WINDOW 32

/* One request to the engine for names.  It may outlive its page, because the
 * engine may answer after the deadline. */
struct hf_names_op {
    struct hf_operation operation;
    struct hf_names *names;
    struct hf_names_request request;
    bool saved; /* the answer was copied into the walk */
    char cursor[];
};

/* A name that is being listed. */
struct item {
    struct hf_names *names;
    size_t index; /* in .queues */
    char sort;    /* what it is listed as, see struct hf_names_queue */
    char name[HF_NAMES_NAME_BYTES];
};

static void run(struct hf_names *names);

static struct hf_names *of_user_op(struct hf_user_op *user_op)
{
    return container_of(user_op, struct hf_names, user_op);
}

/* The .destroy of a walk. */
static void destroy_names(struct hf_user_op *user_op)
{
    struct hf_names *names = of_user_op(user_op);

    hf_names_page_free(names->page);
    hf_names_seen_free(&names->seen);
    hf_free(names->queues);
    hf_free(names->text);
    hf_free(names->cursor);
    hf_monitor_dereference(&names->client->monitor);
    hf_free(names);
}

static void reference(struct hf_names *names)
{
    names->user_op.references++;
}

static void dereference(struct hf_names *names)
{
    hf_user_op_dereference(&names->user_op);
}

/* The page fails, unless it has failed already. */
static void fail(struct hf_names *names, hf_status status, const char *text)
{
    if (names->outcome.status == HF_OK)
        hf_error_set(&names->outcome, status, "%s", text);
}

static void fail_memory(struct hf_names *names)
{
    fail(names, HF_ENOMEM, "out of memory");
}

/* Undo the page, so that the next call begins it again. */
static void rewind_page(struct hf_names *names)
{
    hf_names_page_free(names->page);
    names->page = NULL;
    names->next = names->first;
    names->unreadable = names->unreadable_before;
}

/* ------------------------------------------------ what the engine names -- */

static struct hf_names_op *of_operation(struct hf_operation *operation)
{
    return container_of(operation, struct hf_names_op, operation);
}

/* Ask the engine for the next queues. */
static void ask_engine(struct hf_names *names)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};
    struct hf_names_op *op = hf_alloc(sizeof *op + names->cursor_bytes + 1);

    if (op == NULL) {
        fail_memory(names);
        return;
    }
    op->names = names;
    if (names->cursor_bytes > 0)
        memcpy(op->cursor, names->cursor, names->cursor_bytes);
    op->request =
        (struct hf_names_request){op->cursor, names->cursor_bytes, names->all};
    op->operation.kind = HF_REQUEST_NAMES;
    op->operation.queue = names->prefix;
    op->operation.names = &op->request;
    op->operation.deadline_at_ms = names->deadline_at_ms;
    op->operation.only_try = names->only_try;
    names->op = op;
    reference(names);
    names->client->pending++;
    event.as.operation = &op->operation;
    hf_client_step(names->client, &event);
}

/* Replace the queues of the last answer by those of ${answer}.  False for lack
 * of memory: nothing has changed. */
static bool copy_answer(struct hf_names *names,
                        const struct hf_names_answer *answer)
{
    struct hf_names_queue *queues =
        hf_alloc((answer->count + 1) * sizeof *queues);
    char *cursor = hf_alloc(answer->cursor_bytes + 1);
    size_t bytes = 1;
    char *text, *at;

    for (size_t i = 0; i < answer->count; i++)
        bytes += strlen(answer->queues[i].queue) + 1;
    text = at = hf_alloc(bytes);
    if (queues == NULL || cursor == NULL || text == NULL) {
        hf_free(queues);
        hf_free(cursor);
        hf_free(text);
        return false;
    }
    for (size_t i = 0; i < answer->count; i++) {
        queues[i].queue = at;
        queues[i].participants = answer->queues[i].participants;
        at = stpcpy(at, answer->queues[i].queue) + 1;
    }
    if (answer->cursor_bytes > 0)
        memcpy(cursor, answer->cursor, answer->cursor_bytes);
    hf_free(names->queues);
    hf_free(names->text);
    hf_free(names->cursor);
    names->queues = queues;
    names->text = text;
    names->cursor = cursor;
    return true;
}

void hf_names_save(const struct hf_event *event)
{
    const struct hf_names_answer *answer = event->as.answer.names;
    struct hf_names_op *op;
    struct hf_names *names;

    assert(event->kind == HF_EVENT_NAMED);
    op = of_operation(event->as.answer.request->operation);
    names = op->names;
    if (names->op != op || !copy_answer(names, answer))
        return;
    op->saved = true;
    names->cursor_bytes = answer->cursor_bytes;
    names->named_all = answer->cursor_bytes == 0;
    names->queue_count = answer->count;
    names->first = names->next = 0;
    names->end =
        answer->count < HF_NAMES_VIEWS ? answer->count : HF_NAMES_VIEWS;
    names->looked_at += answer->looked_at;
    names->unreadable += answer->unreadable;
    names->unreadable_before = names->unreadable;
}

/* The core has answered ${op}.  If the page has given ${op} up, it goes on
 * without the answer. */
static void op_answered(struct hf_names_op *op)
{
    struct hf_names *names = op->names;

    if (names->op != op)
        return;
    if (op->operation.status != HF_OK)
        fail(names, op->operation.status, op->operation.text);
    else if (!op->saved)
        fail_memory(names);
    else if (!names->named_all &&
             !hf_names_seen_goes_on(&names->seen, names->cursor,
                                    names->cursor_bytes))
        fail(names, HF_EPROTOCOL,
             "the server names locks without end, or comes back again and "
             "again to those that it has named; see what answers there");
    names->op = NULL;
}

void hf_names_handle_effect(const struct hf_effect *effect)
{
    struct hf_names_op *op = of_operation(effect->operation);
    struct hf_names *names = op->names;

    if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        op_answered(op);
        run(names);
        return;
    }
    names->client->pending--;
    hf_free(op);
    dereference(names);
}

/* ------------------------------------------------------------- one name -- */

/* Is ${queue} to be listed?  If so, its name counts as seen.  False also for
 * lack of memory: the page has then failed, and ${queue} is not .checked. */
static bool is_wanted(struct hf_names *names, struct hf_names_queue *queue)
{
    char name[HF_NAMES_NAME_BYTES];
    bool added = false;

    if (queue->checked)
        return !queue->skipped;
    if (hf_names_find(queue, names->prefix, name) &&
        !hf_names_seen_add(&names->seen, queue->sort, name, &added)) {
        fail_memory(names);
        return false;
    }
    queue->checked = true;
    queue->skipped = !added;
    return added;
}

static void end_item(struct item *item)
{
    item->names->listing--;
    hf_free(item);
}

static void item_listed(void *arg, const struct hf_result *result);

/* A lock with the name of ${item}, of the kind that .sort says; NULL: out of
 * memory. */
static struct hf_lock *make_lock(const struct item *item)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    if (item->sort == 's')
        opts.kind = HF_KIND_SEMAPHORE;
    lock = hf_lock_new(item->names->client, item->name, &opts);
    if (lock != NULL && item->sort == 'p')
        lock->kind = HF_TICKET_PARTICIPANT;
    return lock;
}

/* List the name of ${item}.  The list may have ended when this returns, and
 * ${item} be freed. */
static void list_item(struct item *item)
{
    const struct hf_completion completion = {.done = {item_listed, item, NULL},
                                             .is_step = true};
    struct hf_names *names = item->names;
    uint64_t now_ms = hf_now_ms();
    struct hf_queue_op_args args = {
        .kind = HF_REQUEST_LIST,
        .which = HF_TICKETS_ALL,
        .only_try = names->only_try,
        .wait_ms = HF_FOREVER,
        .flag_kind = item->sort == 'p' ? HF_TICKET_PARTICIPANT : 0,
    };
    struct hf_lock *lock = make_lock(item);
    struct hf_queue_op *queue_op;
    struct hf_error error;

    if (names->deadline_at_ms != HF_FOREVER)
        args.wait_ms =
            names->deadline_at_ms > now_ms ? names->deadline_at_ms - now_ms : 0;
    if (lock == NULL) {
        fail_memory(names);
        end_item(item);
        return;
    }
    if (hf_queue_op_begin(lock, &args, &completion, &queue_op, &error) ==
        HF_OK) {
        hf_user_op_dereference(&queue_op->user_op);
    } else {
        fail(names, error.status, error.text);
        end_item(item);
    }
    hf_lock_dereference(lock);
}

/* Was ${item} listed as a semaphore because of its queue NAME/locks, and is no
 * permit out?  Then it is more likely the queue of a lock called NAME/locks. */
static bool is_lock_after_all(const struct item *item,
                              const struct hf_tickets *tickets)
{
    const struct hf_names_queue *queue = &item->names->queues[item->index];
    const struct hf_ticket_view *first =
        tickets != NULL ? hf_tickets_at(tickets, 0) : NULL;

    return item->sort == 's' &&
           hf_names_bytes_before(queue->queue, HF_QUEUE_LOCKS) > 0 &&
           (first == NULL || !first->holds);
}

/* Does ${status} concern this name alone? */
static bool is_of_name(hf_status status)
{
    return status == HF_EDENIED || status == HF_EKIND || status == HF_ELIMIT ||
           status == HF_EUNSUPPORTED;
}

/* A name was listed.  With the lock. */
static void item_listed(void *arg, const struct hf_result *result)
{
    struct item *item = arg;
    struct hf_names *names = item->names;

    reference(names);
    if (is_of_name(result->status)) {
        names->unreadable++;
    } else if (result->status != HF_OK) {
        fail(names, result->status, result->text);
    } else if (is_lock_after_all(item, result->tickets)) {
        item->sort = 'l';
        hf_names_format(&names->queues[item->index], 'l', item->name);
        list_item(item);
        item = NULL;
    } else if (!hf_names_page_add(names->page, item->name, result->tickets)) {
        fail_memory(names);
    }
    hf_tickets_free(result->tickets);
    if (item != NULL)
        end_item(item);
    run(names);
    dereference(names);
}

/* --------------------------------------------------------------- a page -- */

/* The .take of a page: the page, or NULL if there are no more. */
static void take_page(struct hf_user_op *user_op, struct hf_result *result,
                      struct hf_error *why)
{
    struct hf_names *names = of_user_op(user_op);

    *why = names->outcome;
    assert(names->state == HF_NAMES_ENDED);
    result->names = names->page;
    names->page = NULL;
    names->state = HF_NAMES_IDLE;
}

/* A user gets no handle of a page, so there is no .cancel. */
const struct hf_user_op_ops hf_names_op_ops = {
    .take = take_page,
    .destroy = destroy_names,
};

/* The page is complete, or has failed.  If nobody waits for it any more, its
 * names come with the next page. */
static void end_page(struct hf_names *names)
{
    const struct hf_completion *completion = &names->user_op.completion;

    assert(names->state == HF_NAMES_WAITING);
    names->state = HF_NAMES_ENDED;
    names->op = NULL; /* an answer that still comes is ignored */
    if (names->outcome.status != HF_OK) {
        rewind_page(names);
    } else if (names->page != NULL) {
        names->page->looked_at = names->looked_at;
        names->page->unreadable = names->unreadable;
    }
    if (completion->waiter == NULL && completion->done.fn == NULL) {
        rewind_page(names);
        names->state = HF_NAMES_IDLE;
    }
    hf_user_op_end(&names->user_op, names->outcome.status);
}

/* Take the next queue, and list it if it is wanted. */
static void list_next(struct hf_names *names)
{
    struct hf_names_queue *queue = &names->queues[names->next];
    struct item *item;

    if (!is_wanted(names, queue)) {
        names->next += queue->checked;
        return;
    }
    if ((item = hf_alloc(sizeof *item)) == NULL) {
        fail_memory(names);
        return;
    }
    item->names = names;
    item->index = names->next++;
    item->sort = queue->sort;
    hf_names_format(queue, item->sort, item->name);
    names->listing++;
    list_item(item);
}

/* Is there no list under way, and none to begin? */
static bool is_complete(const struct hf_names *names)
{
    return names->listing == 0 && names->op == NULL &&
           (names->outcome.status != HF_OK || names->next == names->end);
}

/* Do what can be done for the page now; end it when it is complete. */
static void run(struct hf_names *names)
{
    if (names->state != HF_NAMES_WAITING)
        return;
    names->state = HF_NAMES_RUNNING;
    reference(names);
    while (names->outcome.status == HF_OK && names->op == NULL &&
           names->next < names->end && names->listing < WINDOW)
        list_next(names);
    names->state = HF_NAMES_WAITING;
    if (is_complete(names))
        end_page(names);
    dereference(names);
}

/* Set where the page ends, in the queues that are left.  If none is left, ask
 * the engine for more, or end with no page if it has named all. */
static void begin_page(struct hf_names *names)
{
    size_t left = names->queue_count - names->next;

    names->first = names->next;
    names->end = names->next + (left < HF_NAMES_VIEWS ? left : HF_NAMES_VIEWS);
    names->unreadable_before = names->unreadable;
    if (left == 0 && names->named_all) {
        hf_names_page_free(names->page);
        names->page = NULL; /* there are no more */
    } else if (left == 0) {
        ask_engine(names);
    }
    names->state = HF_NAMES_WAITING;
}

hf_status hf_names_begin(struct hf_names *names, uint64_t wait_ms,
                         const struct hf_completion *completion,
                         struct hf_error *error)
{
    struct hf_monitor *monitor = &names->client->monitor;
    hf_status status;

    if (names->state != HF_NAMES_IDLE)
        return hf_error_set(error, HF_ESTATE,
                            "a page is under way; expected one call at a time");
    if (monitor->state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(monitor, "client", error);
    if (completion->done.fn != NULL &&
        (status = hf_monitor_ensure_poller(monitor, error)) != HF_OK)
        return status;
    if ((names->page = hf_alloc(sizeof *names->page)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    names->state = HF_NAMES_RUNNING;
    names->outcome = (struct hf_error){.status = HF_OK};
    names->deadline_at_ms = hf_deadline_ms(hf_now_ms(), wait_ms);
    names->only_try = wait_ms == 0;
    hf_user_op_begin(&names->user_op, completion);
    reference(names); /* the caller's */
    begin_page(names);
    run(names);
    return HF_OK;
}
