/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/queue_change.h"

#include "engines/etcd/key_name.h"
#include "engines/etcd/own_ticket.h"
#include "engines/etcd/ticket_value.h"

struct hf_etcd_engine_shown
hf_etcd_engine_shown_by(const struct hf_etcd_engine_list *list,
                        bool participants)
{
    struct hf_etcd_engine_shown shown = {.participants = participants};

    for (size_t i = 0; i < list->count && !shown.has_writers; i++)
        shown.has_writers = list->listed[i].ticket.kind == HF_TICKET_WRITE;
    return shown;
}

/* Is ${event}, of a key of ours, only a new value of a ticket that the list has
 * shown?  If the list has write tickets, a read ticket may have been one of
 * them. */
static bool is_same_ticket(const struct hf_etcd_engine_shown *shown,
                           const struct hf_etcd_event *event)
{
    const struct hf_etcd_key_value *kv = &event->kv;

    if (event->deleted || kv->create_revision == kv->mod_revision)
        return false;
    return !shown->has_writers ||
           hf_etcd_engine_value_parse(kv->value.bytes, kv->value.count).kind !=
               HF_TICKET_READ;
}

/* A key of another program is a ticket while it has a lease, and a put may
 * attach or detach it.  READY is put again by each generation. */
bool hf_etcd_engine_is_change(const struct hf_etcd_engine_queue *queue,
                              const struct hf_etcd_engine_shown *shown,
                              const struct hf_etcd_event *event)
{
    struct hf_etcd_bytes key = event->kv.key;
    const char *text = key.bytes;

    if (key.count <= queue->prefix_bytes)
        return false;
    switch (hf_etcd_engine_key_name_parse(queue->name,
                                          text + queue->prefix_bytes,
                                          key.count - queue->prefix_bytes)
                .form) {
    case HF_ETCD_KEY_TICKET:
    case HF_ETCD_KEY_ELECTION:
        return !shown->participants && !is_same_ticket(shown, event);
    case HF_ETCD_KEY_FOREIGN:
        return !shown->participants;
    case HF_ETCD_KEY_PARTICIPANT:
        return shown->participants && !is_same_ticket(shown, event);
    case HF_ETCD_KEY_READY:
        return shown->participants;
    case HF_ETCD_KEY_DEEPER:
    case HF_ETCD_KEY_SESSION:
        break;
    }
    return false;
}
