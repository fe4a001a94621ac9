/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read answers share.  A message is read by a function that
 * reads one of its fields; a repeated field becomes a list. */
#ifndef HF_ETCD_MESSAGE_FIELDS_H
#define HF_ETCD_MESSAGE_FIELDS_H

#include "etcd/message.h"

/* Reads one field of a message into ${to}.  Ignores a field that it does not
 * know. */
typedef void hf_etcd_read_field(struct hf_etcd_reader *reader,
                                const struct hf_etcd_field *field, void *to);

/* Read all fields of ${message} into ${to}, which must be zeroed.  Returns
 * false if ${message} is malformed. */
bool hf_etcd_read_message(struct hf_etcd_bytes message,
                          hf_etcd_read_field *read, void *to);

/* Read the nested message ${field} into ${to}.  If it is malformed, ${reader}
 * fails. */
void hf_etcd_read_nested(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field,
                         hf_etcd_read_field *read, void *to);

/* Reads a field of a ResponseHeader. */
hf_etcd_read_field hf_etcd_header_field;

/* Count ${field} as one more message of ${list}. */
void hf_etcd_list_count(struct hf_etcd_list *list,
                        const struct hf_etcd_field *field);

/* Let the walk through ${list} begin at the start of ${message}, all of which
 * was read. */
void hf_etcd_list_begin(struct hf_etcd_list *list,
                        struct hf_etcd_bytes message);

/* Set ${bytes} to the next message of ${list}.  Returns false at the end. */
bool hf_etcd_list_next(struct hf_etcd_list *list, struct hf_etcd_bytes *bytes);

#endif
