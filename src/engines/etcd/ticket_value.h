/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of keys.
 *
 *     KIND ID\nTEXT            a ticket, with the text of its owner for people
 *     lease ID PERMITS\nTEXT   permits of a semaphore
 *     evicted KIND ...\nTEXT   a ticket that is being removed by force: TEXT
 *                              says by whom and why, and its owner reads it
 *     barrier ID, ready ID     a flag
 *
 * The value of an election's ticket is only the text of the candidate, because
 * other programs show it as the leader.  Its kind and id are in the name of the
 * key, and who evicts it is written elsewhere (eviction.h).
 *
 * A request to release is not written into a value.  The client that asks puts
 * the key again with the value that it has, and the owner notices a put that it
 * has not made.  So the owner's value is never overwritten, and an election's
 * ticket can be asked for like any other.
 */
#ifndef HF_ENGINES_ETCD_TICKET_VALUE_H
#define HF_ENGINES_ETCD_TICKET_VALUE_H

#include <holdfast/tickets.h>

#include "core/ticket.h"

/* Room for the longest value of ours and a NUL. */
#define HF_ETCD_VALUE_BYTES                                                    \
    (sizeof("evicted participant  64\n") + HF_TICKET_ID_TEXT_BYTES +           \
     HF_PAYLOAD_BYTES)

/* A value that was read. */
struct hf_etcd_engine_ticket_value {
    enum hf_ticket_kind kind; /* 0: not a value of ours */
    struct hf_ticket_id id;
    uint32_t weight;
    bool evicted;     /* .text says by whom */
    const char *text; /* points into the value */
    size_t text_bytes;
};

/* Write the value of a ticket or a flag, and return its length.  ${text} may be
 * as long as a payload. */
size_t hf_etcd_engine_value_format(enum hf_ticket_kind kind,
                                   const struct hf_ticket_id *id,
                                   uint32_t weight, const char *text,
                                   char value[HF_ETCD_VALUE_BYTES]);

/* The same for a ticket that ${evicted_by} evicts.  Not for tickets of
 * elections. */
size_t hf_etcd_engine_value_format_evicted(enum hf_ticket_kind kind,
                                           const struct hf_ticket_id *id,
                                           uint32_t weight,
                                           const char *evicted_by,
                                           char value[HF_ETCD_VALUE_BYTES]);

/* Read a value, which may contain anything. */
struct hf_etcd_engine_ticket_value hf_etcd_engine_value_parse(const char *value,
                                                              size_t bytes);

/* Copy the text of a value to ${payload}, and return its length.  A payload is
 * valid UTF-8 without a NUL; any other text is quoted. */
size_t hf_etcd_engine_payload_copy(char payload[HF_PAYLOAD_BYTES],
                                   const char *text, size_t bytes);

#endif
