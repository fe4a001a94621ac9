/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of children below a lock's node: how each dialect writes a ticket.
 *
 *   Curator     _c_UUID-lock-SEQ   _c_UUID-__READ__SEQ   _c_UUID-__WRIT__SEQ
 *               _c_UUID-lease-SEQ  _c_UUID-latch-SEQ
 *               (and the same without _c_UUID-, where protection is off)
 *   go-zk       _c_HEX-lock-SEQ
 *   kazoo       HEX__lock__SEQ     HEX__rlock__SEQ
 *   WriteLock   x-SESSION-SEQ      x-HEX-SEQ, as we write it
 *
 * All are read; one of them is the layout, in which we write.  Kazoo's __lock__
 * is a mutex, a write ticket or an election's.  A ticket of ours has its id in
 * its name in every layout, since that is how it is found when its create got
 * no answer; WriteLock's session would not do.
 *
 * kazoo's permits have names of their own: see permit.h.
 *
 * UUID has 36 characters, HEX 32.  SEQ is the parent's child counter as the
 * server appends it, "%010d": see docs/engine-zookeeper.md.
 */
#ifndef HF_ENGINES_ZOOKEEPER_NODE_NAME_H
#define HF_ENGINES_ZOOKEEPER_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ticket.h"

/* The longest prefix we write, with its NUL; and the longest name the server
 * makes of it. */
#define HF_ZK_PREFIX_BYTES 64
#define HF_ZK_NODE_BYTES (HF_ZK_PREFIX_BYTES + 11)

/* Sequences that order tickets are in [0, HF_ZK_SEQUENCE_END): at the far end
 * the server's counter sticks and then turns negative.  The margin is what may
 * be under way at once. */
#define HF_ZK_SEQUENCE_END ((INT64_C(1) << 31) - (INT64_C(1) << 20))

enum hf_zk_dialect {
    HF_ZK_CURATOR,
    HF_ZK_GO, /* no layout */
    HF_ZK_KAZOO,
    HF_ZK_WRITELOCK,
};
#define HF_ZK_DIALECTS 4

struct hf_zk_node {
    enum hf_zk_dialect dialect;
    enum hf_ticket_kind kind;
    /* What the name says; where it says nothing that we can take for an id, a
     * digest of the name. */
    struct hf_ticket_id id;
    int32_t sequence;
};

/* Take ${bytes} of ${name} apart; false if it is no ticket of any dialect. */
bool hf_zk_node_parse(const char *name, size_t bytes, struct hf_zk_node *node);

/* The same of a participant of a double barrier, whose name is its id and no
 * more.
 */
bool hf_zk_participant_parse(const char *name, size_t bytes,
                             struct hf_zk_node *node);

/* An id as 32 hexadecimal digits, and read from ${bytes} that are that and no
 * more. */
void hf_zk_node_hex(const struct hf_ticket_id *id, char text[HF_ZK_NODE_BYTES]);
bool hf_zk_node_parse_hex(const char *text, size_t bytes,
                          struct hf_ticket_id *id);

/* Write what comes before the sequence; false if ${layout} has no names for
 * tickets of that kind. */
bool hf_zk_node_prefix(enum hf_zk_dialect layout, const struct hf_ticket_id *id,
                       enum hf_ticket_kind kind,
                       char prefix[HF_ZK_PREFIX_BYTES]);

/* "curator", "go-zookeeper" and so on: static. */
const char *hf_zk_dialect_name(enum hf_zk_dialect dialect);

/* As it is written in a URL: "curator". */
const char *hf_zk_layout_name(enum hf_zk_dialect layout);

/* Do programs that name their tickets in ${dialect}, set up as they come, see
 * ours in ${layout}? */
bool hf_zk_dialect_sees(enum hf_zk_dialect dialect, enum hf_zk_dialect layout);

/* The name that a server makes of a prefix. */
void hf_zk_node_number(const char *prefix, int32_t sequence,
                       char name[HF_ZK_NODE_BYTES]);

/* So many bytes ${sequence} takes in a name. */
size_t hf_zk_node_digits(int32_t sequence);

/* ${sequence} as hf_ticket.sequence: what turned negative came last. */
uint64_t hf_zk_node_order(int32_t sequence);

/* What a name has in common with those that are written like it: all but the
 * id and the number. */
struct hf_zk_pattern {
    const char *name;
    size_t bytes;
    size_t id_at;     /* so many bytes stand before the id, ... */
    size_t kind_at;   /* ... from here up to the number it says the kind, ... */
    size_t digits_at; /* ... and here the number begins */
};

/* That of ${name}, which must outlive it, of a ticket that is ${node}; false
 * if it is not written as we write. */
bool hf_zk_pattern_of(const struct hf_zk_node *node, const char *name,
                      struct hf_zk_pattern *pattern);

/* Is ${name} written like it, with a greater number?  Then it comes behind.
 * Where it is not, only its parts tell.  Costs a tenth of taking it apart. */
bool hf_zk_pattern_before(const struct hf_zk_pattern *pattern, const char *name,
                          size_t bytes);

#endif
