/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read answers have for each other: a message is read by a
 * function for one of its fields, and its repeated fields become lists. */
#ifndef HF_ETCD_MESSAGE_FIELDS_H
#define HF_ETCD_MESSAGE_FIELDS_H

#include "etcd/message.h"

/* Reads one field of a message into ${to}; a field that it does not know is
 * left alone. */
typedef void hf_etcd_read_field(struct hf_etcd_reader *reader,
                                const struct hf_etcd_field *field, void *to);

/* Read all fields of ${message} into ${to}, which was zeroed. */
bool hf_etcd_read_message(struct hf_etcd_bytes message,
                          hf_etcd_read_field *read, void *to);

/* Read the nested message ${field}; if that fails, ${reader} fails too. */
void hf_etcd_read_nested(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field,
                         hf_etcd_read_field *read, void *to);

/* Reads a field of a ResponseHeader. */
hf_etcd_read_field hf_etcd_header_field;

/* ${field} is one more message of ${list}. */
void hf_etcd_list_count(struct hf_etcd_list *list,
                        const struct hf_etcd_field *field);

/* All of ${message} was read: the walk through ${list} begins at its start. */
void hf_etcd_list_begin(struct hf_etcd_list *list,
                        struct hf_etcd_bytes message);

/* The next message of ${list}; false at its end. */
bool hf_etcd_list_next(struct hf_etcd_list *list, struct hf_etcd_bytes *bytes);

#endif
