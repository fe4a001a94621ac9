/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/eviction.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/evicted_by.h"
#include "engines/etcd/key_name.h"
#include "etcd/call.h"
#include "etcd/message.h"

#define ID_BYTES (HF_TICKET_ID_TEXT_BYTES - 1)

/* Room for ID, a blank, the text and a NUL. */
#define VALUE_BYTES (HF_TICKET_ID_TEXT_BYTES + 1 + HF_EVICTED_BY_BYTES)

/* ----------------------------------------------------------------- write -- */

void hf_etcd_engine_eviction_write(const struct hf_etcd_engine *engine,
                                   struct hf_etcd_buffer *buffer, int64_t lease,
                                   const struct hf_ticket_id *id,
                                   const char *evicted_by)
{
    char key[HF_ETCD_KEY_BYTES], value[VALUE_BYTES];
    char id_text[HF_TICKET_ID_TEXT_BYTES];
    struct hf_etcd_put put = {.lease = lease};

    assert(lease != 0 && strlen(evicted_by) <= HF_EVICTED_BY_BYTES);
    hf_ticket_id_format(id, id_text);
    put.key = (struct hf_etcd_bytes){
        key,
        hf_etcd_engine_eviction_key(engine->config.session.prefix, lease, key)};
    put.value = (struct hf_etcd_bytes){
        value,
        (size_t)snprintf(value, sizeof value, "%s %s", id_text, evicted_by)};
    hf_etcd_txn_put(buffer, HF_ETCD_SUCCESS, &put);
}

/* ------------------------------------------------------------------ read -- */

/* Allocated for one call, and freed at its end.  The end always comes: the
 * session ends its calls when the connection ends, and when it is freed. */
struct reading {
    struct hf_etcd_engine *engine;
    struct hf_etcd_call call;
    struct hf_ticket_id id;
    char queue[]; /* its name */
};

/* Log what ${value} says, if its ID is that of the candidate. */
static void log_eviction(const struct reading *reading,
                         struct hf_etcd_bytes value)
{
    const struct hf_engine_host *host = &reading->engine->host;
    const char *text = value.bytes;
    char id_text[HF_TICKET_ID_TEXT_BYTES], why[HF_EVICTED_WHY_BYTES];

    hf_ticket_id_format(&reading->id, id_text);
    if (value.count <= ID_BYTES + 1 || memcmp(text, id_text, ID_BYTES) != 0 ||
        text[ID_BYTES] != ' ' ||
        hf_evicted_by_explain(text + ID_BYTES + 1, value.count - ID_BYTES - 1,
                              why) == NULL)
        return;
    host->log(host->host, HF_LOG_WARNING, "the candidate for \"%.200s\": %s",
              reading->queue, why);
}

static void key_read(struct hf_etcd_call *call,
                     const struct hf_etcd_result *result)
{
    struct reading *reading = call->user;
    struct hf_etcd_range_answer answer;
    struct hf_etcd_key_value kv;

    if (result->end == HF_ETCD_DONE &&
        hf_etcd_read_range(result->answer, &answer) &&
        hf_etcd_next_kv(&answer.kvs, &kv))
        log_eviction(reading, kv.value);
    hf_free(reading);
}

/* The read is linearizable.  A serializable read might find no key, because a
 * server sends the events of a transaction before its own state shows that
 * transaction. */
void hf_etcd_engine_eviction_read(struct hf_etcd_engine *engine,
                                  const struct hf_etcd_engine_own_ticket *own)
{
    size_t name_bytes = strlen(own->queue->name) + 1;
    struct hf_etcd_range range = {0};
    struct hf_etcd_buffer buffer = {0};
    char key[HF_ETCD_KEY_BYTES];
    struct reading *reading;

    assert(own->kind == HF_TICKET_ELECTION);
    if (!hf_etcd_session_is_usable(&engine->session))
        return;
    reading = hf_alloc(sizeof *reading + name_bytes);
    if (reading == NULL)
        return;
    reading->engine = engine;
    reading->id = own->id;
    memcpy(reading->queue, own->queue->name, name_bytes);
    reading->call.ended = key_read;
    reading->call.user = reading;
    range.key = (struct hf_etcd_bytes){
        key, hf_etcd_engine_eviction_key(engine->config.session.prefix,
                                         engine->session.lease, key)};
    hf_etcd_write_range(&buffer, &range);
    if (!hf_etcd_call_start(&engine->session, &reading->call, HF_ETCD_RANGE,
                            &buffer))
        hf_free(reading);
}
