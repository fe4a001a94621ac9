/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_NAMES: the keys below a prefix in the order of their names, one
 * page at a time; the cursor is the last key of the page.  Each page shows the
 * keys as they are when it is read, so a key that exists all the time is in
 * exactly one page.  Values are not read, because the name of a key says
 * whether it is a ticket. */
#include <string.h>

#include "core/name_list.h"
#include "engines/etcd/etcd_request.h"

struct naming {
    struct hf_etcd_engine_request base;
    struct hf_name_list queues;
    /* The last name begins in .text of .queues at this offset minus 1; 0: there
     * is none.  [0] is for names with tickets, [1] for names with participants.
     */
    size_t last[2];
    const char *cursor; /* points into the answer */
    size_t cursor_bytes;
    uint64_t looked_at;
};

static void cleanup(struct hf_etcd_engine_request *req)
{
    hf_name_list_free(&((struct naming *)req)->queues);
}

/* Add ${queue}, unless it is the last name already.  That finds most
 * repetitions, because the keys of one queue follow one another. */
static void add_name(struct naming *naming, const char *queue, size_t bytes,
                     bool participants)
{
    size_t *last = &naming->last[participants];
    struct hf_name_list *list = &naming->queues;

    if (*last > 0 && strcmp(list->text + *last - 1, queue) == 0)
        return;
    *last = list->used + 1;
    hf_name_list_add(list, queue, bytes, participants);
    if (list->failed)
        *last = 0;
}

/* Add the name that is the first ${at} bytes of ${path}, if the key ${path}, of
 * ${bytes}, is a ticket of that queue.  A key of another form is a ticket of
 * another program if it has a lease. */
static void name_queue(struct naming *naming, const char *path, size_t at,
                       size_t bytes, bool has_lease)
{
    char queue[HF_NAME_BYTES + sizeof HF_QUEUE_LEASES];
    enum hf_etcd_engine_key_form form;

    if (at == 0 || at >= sizeof queue)
        return;
    memcpy(queue, path, at);
    queue[at] = '\0';
    form = hf_etcd_engine_key_name_parse(queue, path + at + 1, bytes - at - 1)
               .form;
    if (form == HF_ETCD_KEY_TICKET || form == HF_ETCD_KEY_ELECTION ||
        (form == HF_ETCD_KEY_FOREIGN && has_lease))
        add_name(naming, queue, at, false);
    else if (form == HF_ETCD_KEY_PARTICIPANT)
        add_name(naming, queue, at, true);
}

/* Return the offset of the last '/' before ${at}; 0 if there is none. */
static size_t slash_before(const char *path, size_t at)
{
    while (at > 0 && path[at - 1] != '/')
        at--;
    return at > 0 ? at - 1 : 0;
}

/* Add the queue that a key belongs to.  The ticket is what is behind the last
 * '/'; for a ticket of Go's RWMutex, what is behind the last but one. */
static void name_queues(struct naming *naming, const char *path, size_t bytes,
                        bool has_lease)
{
    size_t at = slash_before(path, bytes);

    if (memchr(path, '\0', bytes) != NULL)
        return;
    name_queue(naming, path, at, bytes, has_lease);
    name_queue(naming, path, slash_before(path, at), bytes, has_lease);
}

/* Add the queues of the keys of a page.  Returns false if a key is not below
 * the prefix. */
static bool take_keys(struct naming *naming, struct hf_etcd_list *kvs)
{
    const char *prefix = naming->base.engine->config.session.prefix;
    size_t before = strlen(prefix);
    struct hf_etcd_key_value kv;

    while (hf_etcd_next_kv(kvs, &kv)) {
        const char *key = kv.key.bytes;

        if (kv.key.count < before || memcmp(key, prefix, before) != 0)
            return false;
        naming->looked_at++;
        naming->cursor = key;
        naming->cursor_bytes = kv.key.count;
        name_queues(naming, key + before, kv.key.count - before, kv.lease != 0);
    }
    return true;
}

/* A page was read: answer the request. */
static void answered(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct naming *naming = (struct naming *)req;
    struct hf_event event = {.kind = HF_EVENT_NAMED};
    struct hf_names_answer names = {0};
    struct hf_etcd_range_answer range;

    if (result->end != HF_ETCD_DONE) {
        hf_etcd_engine_request_fail_call(req, result, "list keys below");
        return;
    }
    if (!hf_etcd_read_range(result->answer, &range) ||
        !take_keys(naming, &range.kvs) ||
        (range.more && naming->looked_at == 0)) {
        hf_etcd_engine_request_fail_answer(req);
        return;
    }
    if (naming->queues.failed) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    hf_name_list_answer(&naming->queues, &names);
    names.looked_at = naming->looked_at;
    if (range.more) {
        names.cursor = naming->cursor;
        names.cursor_bytes = naming->cursor_bytes;
    }
    event.as.answer.names = &names;
    hf_etcd_engine_request_answer(req, &event);
}

/* Write where the page begins, and return its length: the first key of the
 * prefix, or the one behind the cursor.  A cursor that is longer than any key
 * of a lock is cut, and keys that begin with the rest of it are skipped. */
static size_t first_key(const struct hf_etcd_engine *engine,
                        const struct hf_request *request,
                        char key[HF_ETCD_KEY_BYTES])
{
    const struct hf_names_request *names = request->names;
    const char *prefix = engine->config.session.prefix;

    if (names->cursor_bytes >= HF_ETCD_KEY_BYTES)
        return hf_etcd_prefix_end(
                   (struct hf_etcd_bytes){names->cursor, HF_ETCD_KEY_BYTES},
                   key)
            .count;
    if (names->cursor_bytes > 0) {
        memcpy(key, names->cursor, names->cursor_bytes);
        key[names->cursor_bytes] = '\0';
        return names->cursor_bytes + 1;
    }
    if (request->queue[0] != '\0')
        return hf_etcd_engine_queue_prefix(prefix, request->queue, key);
    memcpy(key, prefix, strlen(prefix) + 1);
    return prefix[0] != '\0' ? strlen(prefix) : 1; /* a zero byte: the first
                                                      key of all */
}

void hf_etcd_engine_name_queues(struct hf_etcd_engine *engine,
                                struct hf_request *request)
{
    struct naming *naming =
        hf_etcd_engine_request_new(engine, request, sizeof *naming);
    struct hf_etcd_buffer buffer = {0};
    char first[HF_ETCD_KEY_BYTES], all[HF_ETCD_KEY_BYTES],
        end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_bytes prefix = {all, 0};
    struct hf_etcd_range range = {.limit = HF_NAMES_PAGE, .keys_only = true};

    if (naming == NULL)
        return;
    naming->base.cleanup = cleanup;
    range.key =
        (struct hf_etcd_bytes){first, first_key(engine, request, first)};
    prefix.count = strlen(engine->config.session.prefix);
    memcpy(all, engine->config.session.prefix, prefix.count);
    if (request->queue[0] != '\0')
        prefix.count = hf_etcd_engine_queue_prefix(
            engine->config.session.prefix, request->queue, all);
    range.range_end = hf_etcd_prefix_end(prefix, end);
    hf_etcd_write_range(&buffer, &range);
    hf_etcd_engine_request_call(&naming->base, HF_ETCD_RANGE, &buffer,
                                answered);
}
