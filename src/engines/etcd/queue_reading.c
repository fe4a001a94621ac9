/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/queue_reading.h"

#include <assert.h>

#include "base/hash.h"
#include "base/quote.h"
#include "core/admission.h"

/* ----------------------------------------------------------------- pages -- */

/* Return a range of at most ${limit} keys of the queue in the order of their
 * creation. */
static struct hf_etcd_range page(const struct hf_etcd_engine_request *req,
                                 enum hf_etcd_sort_order order, int64_t limit,
                                 char end[HF_ETCD_KEY_BYTES])
{
    struct hf_etcd_range range = hf_etcd_engine_queue_range(req->queue, end);

    range.order = order;
    range.target = HF_ETCD_BY_CREATE_REVISION;
    range.limit = limit;
    return range;
}

/* Does ${entry} have the role that this reading looks for? */
static bool is_wanted(const struct hf_etcd_engine_request *req,
                      const struct hf_etcd_engine_entry *entry)
{
    enum hf_etcd_engine_role wanted = req->reading.role;

    switch (entry->role) {
    case HF_ETCD_ROLE_TICKET:
    case HF_ETCD_ROLE_PARTICIPANT:
        return entry->role == wanted || wanted == HF_ETCD_ROLE_ANY;
    case HF_ETCD_ROLE_UNKNOWN:
        return req->request->detailed && wanted == HF_ETCD_ROLE_TICKET;
    case HF_ETCD_ROLE_NONE:
    case HF_ETCD_ROLE_ANY:
        break;
    }
    return false;
}

/* Log the name of a key below the queue that is no ticket, once for each queue:
 * the whole ring of digests is searched. */
static void report_unknown(struct hf_etcd_engine_request *req,
                           const struct hf_etcd_engine_entry *entry)
{
    struct hf_etcd_engine *engine = req->engine;
    struct hf_etcd_engine_reports *reports = &engine->reports;
    uint32_t digest = hf_hash_text(req->queue->prefix);

    for (size_t i = 0; i < HF_ETCD_REPORTS_MAX && i < reports->count; i++)
        if (reports->digests[i] == digest)
            return;
    reports->digests[reports->count++ % HF_ETCD_REPORTS_MAX] = digest;
    engine->host.log(engine->host.host, HF_LOG_WARNING,
                     "below \"%.200s\" is a key without a lease that is no "
                     "ticket and is ignored: %s; programs of Go and etcdctl "
                     "wait for it; expected only keys of locks there",
                     req->queue->prefix,
                     hf_quote(entry->suffix, entry->suffix_bytes).text);
}

/* Does a key that was created at ${created} follow the last key of ${cursor}?
 * Several keys may have the same create revision. */
static bool is_in_order(const struct hf_etcd_engine_cursor *cursor, bool up,
                        int64_t created)
{
    return cursor->last == 0 ||
           (up ? created >= cursor->last : created <= cursor->last);
}

/* Add the keys of one page, in ascending order (${up}) or in descending order.
 * Returns false if the page makes no sense or does not go on where the page
 * before it has ended. */
static bool take_page(struct hf_etcd_engine_request *req,
                      struct hf_etcd_range_answer *answer, bool up)
{
    struct hf_etcd_engine_reading *reading = &req->reading;
    struct hf_etcd_engine_cursor *cursor = up ? &reading->up : &reading->down;
    struct hf_etcd_engine_entry entry;
    struct hf_etcd_key_value kv;
    int64_t last = cursor->last;

    while (hf_etcd_next_kv(&answer->kvs, &kv)) {
        if (!hf_etcd_engine_entry_read(req->queue, &kv, &entry) ||
            !is_in_order(cursor, up, entry.create_revision))
            return false;
        cursor->last = entry.create_revision;
        /* In ascending order only the first ticket is needed. */
        if (up && reading->extent != HF_ETCD_READ_ALL && reading->first)
            break;
        reading->keys++;
        if (entry.role == HF_ETCD_ROLE_UNKNOWN)
            report_unknown(req, &entry);
        if (!is_wanted(req, &entry))
            continue;
        reading->first |= up;
        hf_etcd_engine_list_add(&req->list, &entry,
                                req->engine->config.token_floor);
    }
    cursor->state = answer->more ? HF_ETCD_CURSOR_MORE : HF_ETCD_CURSOR_END;
    reading->total = (size_t)answer->count;
    if (answer->more && cursor->same && cursor->last == last)
        return false;
    /* If all keys of this page were created at the revision at which the page
     * before it ended, the next page begins behind that revision. */
    cursor->same = cursor->last == last;
    return !answer->more || answer->kvs.count > 0;
}

/* ----------------------------------------------------------- first pages -- */

/* Begin to read.  What was read before is forgotten. */
static void begin_reading(struct hf_etcd_engine_request *req,
                          enum hf_etcd_engine_extent extent,
                          enum hf_etcd_engine_role role)
{
    hf_etcd_engine_list_free(&req->list);
    req->reading =
        (struct hf_etcd_engine_reading){.extent = extent, .role = role};
}

void hf_etcd_engine_read_all(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             struct hf_etcd_buffer *buffer)
{
    char end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range =
        page(req, HF_ETCD_ASCENDING, HF_ETCD_LIST_PAGE, end);

    begin_reading(req, HF_ETCD_READ_ALL, role);
    hf_etcd_txn_range(buffer, HF_ETCD_SUCCESS, &range);
}

void hf_etcd_engine_read_nearest(struct hf_etcd_engine_request *req,
                                 const struct hf_ticket_id *mine,
                                 enum hf_ticket_kind kind, int64_t created,
                                 struct hf_etcd_buffer *buffer)
{
    char end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range = page(
        req, HF_ETCD_DESCENDING,
        kind == HF_TICKET_READ ? HF_ETCD_READER_PAGE : HF_ETCD_NEAREST_PAGE,
        end);

    begin_reading(req, HF_ETCD_READ_NEAREST, HF_ETCD_ROLE_TICKET);
    req->reading.mine = *mine;
    req->reading.kind = kind;
    range.max_create_revision = created;
    hf_etcd_txn_range(buffer, HF_ETCD_SUCCESS, &range);
    /* A second key shows whether there are other keys between these two ranges.
     */
    range = page(req, HF_ETCD_ASCENDING, created > 0 ? 2 : 1, end);
    hf_etcd_txn_range(buffer, HF_ETCD_SUCCESS, &range);
}

/* Nothing is read in descending order. */
void hf_etcd_engine_read_first(struct hf_etcd_engine_request *req,
                               struct hf_etcd_buffer *buffer)
{
    char end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range = page(req, HF_ETCD_ASCENDING, 1, end);

    begin_reading(req, HF_ETCD_READ_FIRST, HF_ETCD_ROLE_TICKET);
    hf_etcd_txn_range(buffer, HF_ETCD_SUCCESS, &range);
}

/* Read the next response, which must be a range, as a page. */
static bool take_response(struct hf_etcd_engine_request *req,
                          struct hf_etcd_list *responses, bool up)
{
    struct hf_etcd_response response;

    return hf_etcd_next_response(responses, &response) &&
           response.kind == HF_ETCD_RANGE_RESPONSE &&
           take_page(req, &response.range, up);
}

bool hf_etcd_engine_take_pages(struct hf_etcd_engine_request *req,
                               struct hf_etcd_list *responses, int64_t revision)
{
    req->reading.revision = revision;
    return (req->reading.extent != HF_ETCD_READ_NEAREST ||
            take_response(req, responses, false)) &&
           take_response(req, responses, true);
}

/* ---------------------------------------------------------------- others -- */

/* Must older keys be read, because some of them may block our ticket? */
static bool needs_down(const struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_reading *reading = &req->reading;

    return reading->extent == HF_ETCD_READ_NEAREST &&
           reading->down.state == HF_ETCD_CURSOR_MORE &&
           hf_etcd_engine_list_concerning(&req->list, &reading->mine,
                                          reading->kind) <
               HF_ADMISSION_NEAREST + (reading->first ? 1 : 0);
}

/* Must more keys be read in ascending order: all of them, or the first ticket?
 * If all keys were read in descending order, the first ticket is known. */
static bool needs_up(const struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_engine_reading *reading = &req->reading;

    if (reading->up.state != HF_ETCD_CURSOR_MORE)
        return false;
    return reading->extent == HF_ETCD_READ_ALL ||
           (!reading->first && reading->down.state != HF_ETCD_CURSOR_END);
}

static void read_page(struct hf_etcd_engine_request *req);

/* A page was read: add its keys and go on. */
static void page_read(struct hf_etcd_engine_request *req,
                      const struct hf_etcd_result *result)
{
    struct hf_etcd_range_answer answer;

    if (result->end != HF_ETCD_DONE) {
        hf_etcd_engine_request_fail_call(req, result, "list");
        return;
    }
    if (!hf_etcd_read_range(result->answer, &answer)) {
        hf_etcd_engine_request_fail_answer(req);
        return;
    }
    if (req->reading.revision == 0)
        req->reading.revision = answer.header.revision;
    if (!take_page(req, &answer, req->reading.reads_up))
        hf_etcd_engine_request_fail_answer(req);
    else
        read_page(req);
}

/* Read the next page if one is needed; otherwise call .then. */
static void read_page(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_reading *reading = &req->reading;
    struct hf_etcd_buffer buffer = {0};
    char end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range;

    if (req->list.failed) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    if (reading->keys > HF_ETCD_KEYS_MAX) {
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_FATAL, HF_ELIMIT,
            "there are more than %d keys below \"%.200s\"; expected fewer",
            HF_ETCD_KEYS_MAX, req->queue->prefix);
        return;
    }
    if (needs_down(req)) {
        reading->reads_up = false;
        range = page(req, HF_ETCD_DESCENDING, HF_ETCD_LIST_PAGE, end);
        range.max_create_revision =
            reading->down.last - (reading->down.same ? 1 : 0);
    } else if (needs_up(req)) {
        reading->reads_up = true;
        range = page(req, HF_ETCD_ASCENDING, HF_ETCD_LIST_PAGE, end);
        range.min_create_revision =
            reading->up.last + (reading->up.same ? 1 : 0);
    } else {
        reading->then(req);
        return;
    }
    range.revision = reading->revision;
    hf_etcd_write_range(&buffer, &range);
    hf_etcd_engine_request_call(req, HF_ETCD_RANGE, &buffer, page_read);
}

void hf_etcd_engine_read_on(struct hf_etcd_engine_request *req,
                            hf_etcd_engine_begin *then)
{
    req->reading.then = then;
    read_page(req);
}

void hf_etcd_engine_read_now(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             hf_etcd_engine_begin *then)
{
    begin_reading(req, HF_ETCD_READ_ALL, role);
    req->reading.up.state = HF_ETCD_CURSOR_MORE;
    hf_etcd_engine_read_on(req, then);
}

size_t hf_etcd_engine_hidden(const struct hf_etcd_engine_request *req,
                             size_t most)
{
    const struct hf_etcd_engine_reading *reading = &req->reading;
    size_t hidden =
        reading->total > reading->keys ? reading->total - reading->keys : 0;
    size_t shown = req->list.count;

    if (reading->extent != HF_ETCD_READ_NEAREST ||
        reading->down.state == HF_ETCD_CURSOR_END ||
        reading->up.last >= reading->down.last)
        return 0;
    if (most == SIZE_MAX)
        return hidden;
    /* .total counts the keys behind ours, too.  The number of tickets ahead
     * never rises, so ${most} is a better bound. */
    if (most + 1 < shown + hidden)
        hidden = most + 1 > shown ? most + 1 - shown : 1;
    return hidden;
}
