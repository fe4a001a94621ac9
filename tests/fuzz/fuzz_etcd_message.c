/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of an etcd server.  The first byte chooses the message, the rest is
 * its bytes, in memory of exactly that size.  Whatever they are, no reader
 * reads behind them, and a message that is accepted can be walked through: its
 * lists have as many elements as they say.
 */
#include <string.h>

#include "etcd/message.h"
#include "fuzz.h"

/* Read all of ${bytes}, so that AddressSanitizer sees what is not there. */
static void look_at(struct hf_etcd_bytes bytes)
{
    static volatile unsigned char seen;

    for (size_t i = 0; i < bytes.count; i++)
        seen = ((const unsigned char *)bytes.bytes)[i];
    (void)seen;
}

static void walk_kvs(struct hf_etcd_list *list)
{
    struct hf_etcd_key_value kv;
    size_t count = 0;

    for (; hf_etcd_next_kv(list, &kv); count++) {
        look_at(kv.key);
        look_at(kv.value);
    }
    MUST(count == list->count);
}

static void walk_texts(struct hf_etcd_list *list)
{
    struct hf_etcd_bytes text;
    size_t count = 0;

    while (hf_etcd_next_text(list, &text))
        count++;
    MUST(count == list->count);
}

static void read_txn(struct hf_etcd_bytes message)
{
    struct hf_etcd_txn_answer answer;
    struct hf_etcd_response response;
    size_t count = 0;

    if (!hf_etcd_read_txn(message, &answer))
        return;
    for (; hf_etcd_next_response(&answer.responses, &response); count++) {
        MUST(response.kind >= HF_ETCD_RANGE_RESPONSE &&
             response.kind <= HF_ETCD_DELETE_RESPONSE);
        walk_kvs(&response.range.kvs);
        walk_kvs(&response.deleted.prev_kvs);
    }
    MUST(count == answer.responses.count);
}

static void read_watch(struct hf_etcd_bytes message)
{
    struct hf_etcd_watch_answer answer;
    struct hf_etcd_event event;
    size_t count = 0;

    if (!hf_etcd_read_watch(message, &answer))
        return;
    while (hf_etcd_next_event(&answer.events, &event))
        count++;
    MUST(count == answer.events.count);
}

static void read_members(struct hf_etcd_bytes message)
{
    struct hf_etcd_member_list_answer answer;
    struct hf_etcd_member member;
    size_t count = 0;

    if (!hf_etcd_read_member_list(message, &answer))
        return;
    for (; hf_etcd_next_member(&answer.members, &member); count++) {
        walk_texts(&member.client_urls);
        walk_texts(&member.peer_urls);
    }
    MUST(count == answer.members.count);
}

static void read_alarms(struct hf_etcd_bytes message)
{
    struct hf_etcd_alarm_answer answer;
    struct hf_etcd_alarm alarm;
    size_t count = 0;

    if (!hf_etcd_read_alarms(message, &answer))
        return;
    while (hf_etcd_next_alarm(&answer.alarms, &alarm))
        count++;
    MUST(count == answer.alarms.count);
}

static void read_any(unsigned choice, struct hf_etcd_bytes message)
{
    struct hf_etcd_time_to_live_answer left;
    struct hf_etcd_delete_answer deleted;
    struct hf_etcd_status_answer status;
    struct hf_etcd_range_answer range;
    struct hf_etcd_lease_answer lease;
    struct hf_etcd_header header;
    struct hf_etcd_bytes token;

    switch (choice % 10) {
    case 0:
        read_txn(message);
        break;
    case 1:
        read_watch(message);
        break;
    case 2:
        read_members(message);
        break;
    case 3:
        read_alarms(message);
        break;
    case 4:
        if (hf_etcd_read_range(message, &range))
            walk_kvs(&range.kvs);
        break;
    case 5:
        if (hf_etcd_read_delete(message, &deleted))
            walk_kvs(&deleted.prev_kvs);
        break;
    case 6:
        if (hf_etcd_read_time_to_live(message, &left))
            walk_texts(&left.keys);
        break;
    case 7:
        if (hf_etcd_read_status(message, &status))
            walk_texts(&status.errors);
        break;
    case 8:
        (void)hf_etcd_read_lease(message, &lease);
        break;
    default:
        (void)hf_etcd_read_authenticate(message, &token);
        break;
    }
    (void)hf_etcd_read_header(message, &header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    unsigned char *copy;

    if (bytes < 1)
        return 0;
    copy = malloc(bytes > 1 ? bytes - 1 : 1);
    MUST(copy != NULL);
    memcpy(copy, data + 1, bytes - 1);
    read_any(data[0], (struct hf_etcd_bytes){copy, bytes - 1});
    free(copy);
    return 0;
}
