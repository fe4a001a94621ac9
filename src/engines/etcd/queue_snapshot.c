/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/queue_snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/admission.h"
#include "engines/etcd/own_ticket.h"

/* ----------------------------------------------------------------- entry -- */

/* Return the role of a key whose name is that of a ticket of ours.  If its
 * value is not one of ours, somebody has put the key by hand.  It then blocks
 * the tickets behind it, as it does for other programs. */
static enum hf_etcd_engine_role ticket_role(const struct hf_etcd_key_value *kv,
                                            struct hf_etcd_engine_entry *entry)
{
    struct hf_etcd_engine_ticket_value *value = &entry->value;

    if (value->kind == HF_TICKET_BARRIER)
        return HF_ETCD_ROLE_NONE;
    if (value->kind == 0 || value->kind == HF_TICKET_PARTICIPANT ||
        value->kind == HF_TICKET_READY) {
        value->kind = HF_TICKET_EXCLUSIVE;
        value->id = hf_etcd_engine_foreign_id(
            entry->suffix, entry->suffix_bytes, kv->create_revision);
    }
    return HF_ETCD_ROLE_TICKET;
}

/* Return the role of a key whose name is that of a participant. */
static enum hf_etcd_engine_role
participant_role(const struct hf_etcd_key_value *kv,
                 struct hf_etcd_engine_entry *entry)
{
    struct hf_etcd_engine_ticket_value *value = &entry->value;

    if (value->kind != HF_TICKET_PARTICIPANT) {
        value->kind = HF_TICKET_PARTICIPANT;
        value->id = hf_etcd_engine_foreign_id(
            entry->suffix, entry->suffix_bytes, kv->create_revision);
    }
    return HF_ETCD_ROLE_PARTICIPANT;
}

/* Set ${value} for a ticket of an election or of another program, whose whole
 * value is its text. */
static void take_text(const struct hf_etcd_key_value *kv,
                      enum hf_ticket_kind kind, struct hf_ticket_id id,
                      struct hf_etcd_engine_ticket_value *value)
{
    *value = (struct hf_etcd_engine_ticket_value){
        .kind = kind,
        .id = id,
        .weight = 1,
        .text = kv->value.bytes,
        .text_bytes = kv->value.count,
    };
}

/* Return the role of a key with any other name.  With a lease it is a ticket of
 * another program.  Without a lease it may be the flag of a barrier: ours, or
 * that of Go's recipe, which has no value. */
static enum hf_etcd_engine_role foreign_role(const struct hf_etcd_key_value *kv,
                                             struct hf_etcd_engine_entry *entry)
{
    if (kv->lease == 0)
        return kv->value.count == 0 || entry->value.kind == HF_TICKET_BARRIER
                   ? HF_ETCD_ROLE_NONE
                   : HF_ETCD_ROLE_UNKNOWN;
    take_text(kv, HF_TICKET_EXCLUSIVE,
              hf_etcd_engine_foreign_id(entry->suffix, entry->suffix_bytes,
                                        kv->create_revision),
              &entry->value);
    return HF_ETCD_ROLE_TICKET;
}

static enum hf_etcd_engine_role role_of(const struct hf_etcd_key_value *kv,
                                        struct hf_etcd_engine_entry *entry)
{
    static const struct hf_ticket_id no_id;

    switch (entry->name.form) {
    case HF_ETCD_KEY_TICKET:
        return ticket_role(kv, entry);
    case HF_ETCD_KEY_PARTICIPANT:
        return participant_role(kv, entry);
    case HF_ETCD_KEY_ELECTION:
        take_text(kv, HF_TICKET_ELECTION, entry->name.id, &entry->value);
        return HF_ETCD_ROLE_TICKET;
    case HF_ETCD_KEY_READY:
        take_text(kv, HF_TICKET_READY, no_id, &entry->value);
        return HF_ETCD_ROLE_PARTICIPANT;
    case HF_ETCD_KEY_FOREIGN:
        return foreign_role(kv, entry);
    case HF_ETCD_KEY_DEEPER:
    case HF_ETCD_KEY_SESSION:
        break;
    }
    return HF_ETCD_ROLE_NONE;
}

bool hf_etcd_engine_entry_read(const struct hf_etcd_engine_queue *queue,
                               const struct hf_etcd_key_value *kv,
                               struct hf_etcd_engine_entry *entry)
{
    const char *key = kv->key.bytes;
    const struct hf_etcd_engine_own_ticket *own;

    if (kv->key.count <= queue->prefix_bytes ||
        memcmp(key, queue->prefix, queue->prefix_bytes) != 0)
        return false;
    *entry = (struct hf_etcd_engine_entry){
        .suffix = key + queue->prefix_bytes,
        .suffix_bytes = kv->key.count - queue->prefix_bytes,
        .lease = kv->lease,
        .create_revision = kv->create_revision,
        .mod_revision = kv->mod_revision,
        .version = kv->version,
        .value = hf_etcd_engine_value_parse(kv->value.bytes, kv->value.count),
    };
    entry->name = hf_etcd_engine_key_name_parse(queue->name, entry->suffix,
                                                entry->suffix_bytes);
    entry->role = role_of(kv, entry);
    if (entry->name.form != HF_ETCD_KEY_TICKET ||
        entry->value.kind != HF_TICKET_EXCLUSIVE)
        return true;
    /* Somebody may have overwritten the value of a ticket of ours.  We know
     * what it was. */
    own = hf_etcd_engine_own_created(queue, entry->create_revision);
    if (own != NULL) {
        entry->value.kind = own->kind;
        entry->value.id = own->id;
        entry->value.weight = own->weight;
    }
    return true;
}

/* ------------------------------------------------------------------ list -- */

/* Append the ${bytes} of ${text} and a NUL to .text of ${list}, and return
 * their offset. */
static size_t add_text(struct hf_etcd_engine_list *list, const char *text,
                       size_t bytes)
{
    size_t at = list->text_used;

    if (!HF_ARRAY_ROOM(&list->text, &list->text_room, at + bytes + 1)) {
        list->failed = true;
        return 0;
    }
    if (bytes > 0)
        memcpy(list->text + at, text, bytes);
    list->text[at + bytes] = '\0';
    list->text_used += bytes + 1;
    return at;
}

/* Add the name of a key that is no ticket, to show it to people. */
static void add_unknown(struct hf_etcd_engine_list *list,
                        const struct hf_etcd_engine_entry *entry)
{
    char name[HF_PAYLOAD_BYTES];
    size_t bytes =
        hf_etcd_engine_payload_copy(name, entry->suffix, entry->suffix_bytes);

    if (!HF_ARRAY_ROOM(&list->unknown, &list->unknown_room,
                       list->unknown_count + 1)) {
        list->failed = true;
        return;
    }
    list->unknown[list->unknown_count++] = add_text(list, name, bytes);
}

/* Return the place of a ticket, which is also its token.  Each generation of a
 * double barrier puts the flag READY again, so its place is the revision of its
 * last put. */
static uint64_t order_of(const struct hf_etcd_engine_entry *entry)
{
    return entry->value.kind == HF_TICKET_READY
               ? (uint64_t)entry->mod_revision
               : (uint64_t)entry->create_revision;
}

void hf_etcd_engine_list_add(struct hf_etcd_engine_list *list,
                             const struct hf_etcd_engine_entry *entry,
                             uint64_t token_floor)
{
    const struct hf_etcd_engine_ticket_value *value = &entry->value;
    char payload[HF_PAYLOAD_BYTES];
    struct hf_etcd_engine_listed *listed;
    size_t bytes;

    if (entry->role == HF_ETCD_ROLE_UNKNOWN) {
        add_unknown(list, entry);
        return;
    }
    assert(entry->role != HF_ETCD_ROLE_NONE && value->kind != 0);
    if (!HF_ARRAY_ROOM(&list->listed, &list->room, list->count + 1)) {
        list->failed = true;
        return;
    }
    listed = &list->listed[list->count++];
    *listed = (struct hf_etcd_engine_listed){
        .ticket = {.id = value->id,
                   .kind = value->kind,
                   .sequence = order_of(entry),
                   .token = order_of(entry) + token_floor,
                   .weight = value->weight,
                   .session = (uint64_t)entry->lease},
        .create_revision = entry->create_revision,
        .mod_revision = entry->mod_revision,
        .foreign = entry->name.form == HF_ETCD_KEY_FOREIGN,
    };
    listed->ticket.dialect = listed->foreign ? "etcd" : "holdfast";
    listed->suffix = add_text(list, entry->suffix, entry->suffix_bytes);
    bytes = hf_etcd_engine_payload_copy(payload, value->text,
                                        value->evicted ? 0 : value->text_bytes);
    listed->text = add_text(list, payload, bytes);
}

/* The order of tickets in the queue, for qsort(). */
static int compare_listed(const void *a, const void *b)
{
    const struct hf_etcd_engine_listed *first = a, *second = b;

    return hf_ticket_compare(&first->ticket, &second->ticket);
}

/* Sort the tickets, and remove those that two ranges have shown: they are
 * neighbours then. */
static void sort(struct hf_etcd_engine_list *list)
{
    size_t kept = 0;

    if (list->count > 1)
        qsort(list->listed, list->count, sizeof *list->listed, compare_listed);
    for (size_t i = 0; i < list->count; i++) {
        const struct hf_etcd_engine_listed *listed = &list->listed[i];

        if (kept > 0 && hf_ticket_id_equal(&list->listed[kept - 1].ticket.id,
                                           &listed->ticket.id))
            continue;
        list->listed[kept++] = *listed;
    }
    list->count = kept;
}

bool hf_etcd_engine_list_snapshot(struct hf_etcd_engine_list *list,
                                  size_t more_ahead,
                                  struct hf_snapshot *snapshot)
{
    if (list->failed ||
        !HF_ARRAY_ROOM(&list->tickets, &list->tickets_room, list->count + 1))
        return false;
    sort(list);
    for (size_t i = 0; i < list->count; i++) {
        list->tickets[i] = list->listed[i].ticket;
        list->tickets[i].payload = list->text + list->listed[i].text;
    }
    *snapshot = (struct hf_snapshot){list->tickets, list->count, more_ahead};
    return true;
}

const struct hf_etcd_engine_listed *
hf_etcd_engine_list_find(const struct hf_etcd_engine_list *list,
                         const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (hf_ticket_id_equal(&list->listed[i].ticket.id, id))
            return &list->listed[i];
    return NULL;
}

size_t hf_etcd_engine_list_concerning(const struct hf_etcd_engine_list *list,
                                      const struct hf_ticket_id *mine,
                                      enum hf_ticket_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct hf_ticket *ticket = &list->listed[i].ticket;

        count += !hf_ticket_id_equal(&ticket->id, mine) &&
                 hf_admission_concerns(mine, kind, &ticket->id, ticket->kind);
    }
    return count;
}

const char *const *hf_etcd_engine_list_unknown(struct hf_etcd_engine_list *list)
{
    if (list->unknown_count == 0 ||
        !HF_ARRAY_ROOM(&list->unknown_names, &list->unknown_names_room,
                       list->unknown_count))
        return NULL;
    for (size_t i = 0; i < list->unknown_count; i++)
        list->unknown_names[i] = list->text + list->unknown[i];
    return list->unknown_names;
}

void hf_etcd_engine_list_free(struct hf_etcd_engine_list *list)
{
    hf_free(list->listed);
    hf_free(list->tickets);
    hf_free(list->text);
    hf_free(list->unknown);
    hf_free(list->unknown_names);
    *list = (struct hf_etcd_engine_list){0};
}
