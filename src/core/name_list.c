/* SPDX-License-Identifier: Apache-2.0 */
/* The names are in one block of memory that grows, so a name is kept as an
 * offset until no more are added. */
#include "core/name_list.h"

#include <string.h>

#include "base/memory.h"

#define FIRST_ROOM 64
#define FIRST_BYTES 4096

/* Make room for one more queue. */
static bool make_room(struct hf_name_list *list)
{
    size_t room = list->room == 0 ? FIRST_ROOM : 2 * list->room;
    void *memory;

    if (list->count < list->room)
        return true;
    memory = hf_realloc(list->queues, room * sizeof *list->queues);
    if (memory == NULL)
        return false;
    list->queues = memory;
    memory = hf_realloc(list->offsets, room * sizeof *list->offsets);
    if (memory == NULL)
        return false;
    list->offsets = memory;
    list->room = room;
    return true;
}

/* Make room for a name of ${bytes} and its NUL. */
static bool make_text_room(struct hf_name_list *list, size_t bytes)
{
    size_t size = list->size == 0 ? FIRST_BYTES : list->size;
    char *text;

    while (size - list->used <= bytes)
        size *= 2;
    if (size == list->size)
        return true;
    text = hf_realloc(list->text, size);
    if (text == NULL)
        return false;
    list->text = text;
    list->size = size;
    return true;
}

void hf_name_list_add(struct hf_name_list *list, const char *queue,
                      size_t bytes, bool participants)
{
    if (!make_room(list) || !make_text_room(list, bytes)) {
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
