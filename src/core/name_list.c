/* SPDX-License-Identifier: Apache-2.0 */
/* The names are in one block of memory that grows, so a name is kept as an
 * offset until no more are added. */
#include "core/name_list.h"

#include <string.h>

#include "base/memory.h"

void hf_name_list_add(struct hf_name_list *list, const char *queue,
                      size_t bytes, bool participants)
{
    size_t count = list->count + 1;

    if (!HF_ARRAY_ROOM(&list->queues, &list->room, count) ||
        !HF_ARRAY_ROOM(&list->offsets, &list->offsets_room, count) ||
        !HF_ARRAY_ROOM(&list->text, &list->size, list->used + bytes + 1)) {
        list->failed = true;
        return;
    }
    list->queues[list->count].participants = participants;
    list->offsets[list->count++] = list->used;
    memcpy(list->text + list->used, queue, bytes);
    list->text[list->used + bytes] = '\0';
    list->used += bytes + 1;
}

void hf_name_list_answer(struct hf_name_list *list,
                         struct hf_names_answer *answer)
{
    for (size_t i = 0; i < list->count; i++)
        list->queues[i].queue = list->text + list->offsets[i];
    answer->queues = list->queues;
    answer->count = list->count;
}

void hf_name_list_free(struct hf_name_list *list)
{
    hf_free(list->queues);
    hf_free(list->offsets);
    hf_free(list->text);
    *list = (struct hf_name_list){0};
}

bool hf_name_is_below(const char *name, const char *prefix)
{
    size_t bytes = strlen(prefix);

    return bytes == 0 || (strncmp(name, prefix, bytes) == 0 &&
                          (name[bytes] == '\0' || name[bytes] == '/'));
}
