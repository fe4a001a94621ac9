/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of children of a lock's node: how each dialect writes a ticket.
 *
 *     Curator     _c_UUID-lock-SEQ   _c_UUID-__READ__SEQ   _c_UUID-__WRIT__SEQ
 *                 _c_UUID-lease-SEQ  _c_UUID-latch-SEQ
 *                 (and the same without _c_UUID-, where protection is off)
 *     go-zk       _c_HEX-lock-SEQ
 *     kazoo       HEX__lock__SEQ     HEX__rlock__SEQ
 *     WriteLock   x-SESSION-SEQ      x-HEX-SEQ, as we write it
 *
 * All dialects are read.  One of them is the layout, which we write.  kazoo's
 * __lock__ may be a mutex, a write ticket or an election's ticket.  Our tickets
 * have their id in the name in every layout, because the id is how a ticket is
 * found again when its create got no answer; WriteLock's session id would not
 * do.
 *
 * Permits of a semaphore have names of their own in kazoo's layout, which we
 * write with layout=kazoo:
 *
 *     NAME            the semaphore; its data is the number of permits
 *     NAME/HEX        a permit: ephemeral, without a number
 *     NAME-__lock__   the entry mutex, an ordinary lock of kazoo's
 *
 * kazoo counts the children and ignores their names.  Our names show which
 * permits belong to one ticket: they differ only in the six bits that every
 * UUID of version 4 has alike, which here count the permits of the ticket.  The
 * first permit has the ticket's id as its name.
 *
 * A list does not show which permit came first, and nobody has to know: only
 * the holder of the entry mutex adds permits.  When we are the holder, we add
 * them in one transaction with a check that our ticket in the entry mutex still
 * exists.
 *
 * UUID has 36 characters, HEX has 32.  SEQ is the parent's child counter, which
 * the server appends as "%010d": see docs/engine-zookeeper.md.
 */
#ifndef HF_ENGINES_ZOOKEEPER_NODE_NAME_H
#define HF_ENGINES_ZOOKEEPER_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ticket.h"

/* The longest prefix that we write, with its NUL, and the longest name that a
 * server makes of it. */
#define HF_ZK_PREFIX_BYTES 64
#define HF_ZK_NODE_BYTES (HF_ZK_PREFIX_BYTES + 11)

/* Sequence numbers in [0, HF_ZK_SEQUENCE_END) order tickets.  Near 2^31 the
 * server's counter sticks and then turns negative.  The margin is for creates
 * in flight. */
#define HF_ZK_SEQUENCE_END ((INT64_C(1) << 31) - (INT64_C(1) << 20))

/* The programs whose names are known. */
enum hf_zk_engine_dialect {
    HF_ZK_CURATOR,
    HF_ZK_GO, /* read only, no layout */
    HF_ZK_KAZOO,
    HF_ZK_WRITELOCK,
};
#define HF_ZK_DIALECTS 4

/* A parsed name. */
struct hf_zk_engine_node {
    enum hf_zk_engine_dialect dialect;
    enum hf_ticket_kind kind;
    /* From the name, or a digest of the name if it contains no id. */
    struct hf_ticket_id id;
    int32_t sequence; /* number of the node; of a permit see
                         hf_zk_engine_permit_parse() */
};

/* Parse the ${bytes} of ${name}.  False if it is a ticket in no dialect. */
bool hf_zk_engine_node_parse(const char *name, size_t bytes,
                             struct hf_zk_engine_node *node);

/* As hf_zk_engine_node_parse(), for a participant of a double barrier, whose
 * name is just its id. */
bool hf_zk_engine_participant_parse(const char *name, size_t bytes,
                                    struct hf_zk_engine_node *node);

/* Write an id as 32 hexadecimal digits.  hf_zk_engine_node_parse_hex() parses
 * such a text; false if it is anything else. */
void hf_zk_engine_node_format_hex(const struct hf_ticket_id *id,
                                  char text[HF_ZK_NODE_BYTES]);
bool hf_zk_engine_node_parse_hex(const char *text, size_t bytes,
                                 struct hf_ticket_id *id);

/* Write the name of a node up to the sequence.  False if ${layout} has no
 * names for tickets of that kind. */
bool hf_zk_engine_node_prefix(enum hf_zk_engine_dialect layout,
                              const struct hf_ticket_id *id,
                              enum hf_ticket_kind kind,
                              char prefix[HF_ZK_PREFIX_BYTES]);

/* A name for people, such as "curator" or "go-zookeeper"; static. */
const char *hf_zk_engine_dialect_name(enum hf_zk_engine_dialect dialect);

/* The name as in a URL, such as "curator"; static. */
const char *hf_zk_engine_layout_name(enum hf_zk_engine_dialect layout);

/* Do programs that use ${dialect} with their default settings see tickets in
 * ${layout}? */
bool hf_zk_engine_dialect_sees(enum hf_zk_engine_dialect dialect,
                               enum hf_zk_engine_dialect layout);

/* Write the full name that a server makes of ${prefix} and ${sequence}. */
void hf_zk_engine_node_format_name(const char *prefix, int32_t sequence,
                                   char name[HF_ZK_NODE_BYTES]);

/* How many bytes ${sequence} takes in a name. */
size_t hf_zk_engine_node_sequence_bytes(int32_t sequence);

/* ${sequence} as an order: a negative number comes after all others, because
 * the counter has wrapped. */
uint64_t hf_zk_engine_node_order(int32_t sequence);

/* The part of a name that it has in common with all names of the same form:
 * everything except the id and the number. */
struct hf_zk_engine_pattern {
    const char *name;
    size_t bytes;
    size_t id_at;     /* the id begins here */
    size_t kind_at;   /* the text for the kind begins here */
    size_t digits_at; /* the number begins here */
};

/* Make the pattern of ${name}, which was parsed to ${node} and must outlive
 * the pattern.  False if it is not in the form that we write. */
bool hf_zk_engine_pattern_of(const struct hf_zk_engine_node *node,
                             const char *name,
                             struct hf_zk_engine_pattern *pattern);

/* If true, ${name} is either no ticket, or has the same form and a greater
 * number, so that it is behind the ticket of the pattern.  If false, the name
 * must be parsed to know.  This function takes a tenth of the time of
 * parsing. */
bool hf_zk_engine_pattern_precedes(const struct hf_zk_engine_pattern *pattern,
                                   const char *name, size_t bytes);

/* hf_zk_engine_permit_name() writes the name of the ${nth} permit of a ticket.
 * hf_zk_engine_permit_parse() parses such a name and sets .sequence of ${node}
 * to ${nth}. */
void hf_zk_engine_permit_name(const struct hf_ticket_id *id, uint32_t nth,
                              char name[HF_ZK_NODE_BYTES]);
bool hf_zk_engine_permit_parse(const char *name, size_t bytes,
                               struct hf_zk_engine_node *node);

/* True if hf_zk_engine_permit_parse() made ${node}. */
bool hf_zk_engine_node_is_permit(const struct hf_zk_engine_node *node);

#endif
