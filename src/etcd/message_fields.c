/* SPDX-License-Identifier: Apache-2.0 */
/* A list is walked from the beginning of the message that contains it.  The
 * other fields are skipped, of which a message has few. */
#include "etcd/message_fields.h"

bool hf_etcd_read_message(struct hf_etcd_bytes message,
                          hf_etcd_read_field *read, void *to)
{
    struct hf_etcd_reader reader = hf_etcd_reader_of(message);
    struct hf_etcd_field field;

    while (hf_etcd_reader_next(&reader, &field))
        read(&reader, &field, to);
    return !reader.failed;
}

void hf_etcd_read_nested(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field,
                         hf_etcd_read_field *read, void *to)
{
    struct hf_etcd_bytes message = hf_etcd_field_bytes(reader, field);

    if (!reader->failed && !hf_etcd_read_message(message, read, to))
        reader->failed = true;
}

void hf_etcd_list_count(struct hf_etcd_list *list,
                        const struct hf_etcd_field *field)
{
    list->number = field->number;
    list->count++;
}

void hf_etcd_list_begin(struct hf_etcd_list *list, struct hf_etcd_bytes message)
{
    static const struct hf_etcd_bytes none = {NULL, 0};

    list->rest = hf_etcd_reader_of(list->count > 0 ? message : none);
}

bool hf_etcd_list_next(struct hf_etcd_list *list, struct hf_etcd_bytes *bytes)
{
    struct hf_etcd_field field;

    while (hf_etcd_reader_next(&list->rest, &field)) {
        if (field.number == list->number) {
            *bytes = field.bytes;
            return true;
        }
    }
    return false;
}

bool hf_etcd_next_text(struct hf_etcd_list *list, struct hf_etcd_bytes *text)
{
    return hf_etcd_list_next(list, text);
}

/* ---------------------------------------------------------------- header -- */

void hf_etcd_header_field(struct hf_etcd_reader *reader,
                          const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_header *header = to;

    switch (field->number) {
    case 1:
        header->cluster_id = hf_etcd_field_unsigned(reader, field);
        break;
    case 2:
        header->member_id = hf_etcd_field_unsigned(reader, field);
        break;
    case 3:
        header->revision = hf_etcd_field_signed(reader, field);
        break;
    case 4:
        header->raft_term = hf_etcd_field_unsigned(reader, field);
        break;
    default:
        break;
    }
}

static void answer_field(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field, void *to)
{
    if (field->number == 1)
        hf_etcd_read_nested(reader, field, hf_etcd_header_field, to);
}

bool hf_etcd_read_header(struct hf_etcd_bytes message,
                         struct hf_etcd_header *header)
{
    *header = (struct hf_etcd_header){0};
    return hf_etcd_read_message(message, answer_field, header);
}
