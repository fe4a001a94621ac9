/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shared_text.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"

const char *hf_shared_text_get(const struct hf_shared_text *text)
{
    return text == NULL ? "" : text->text;
}

void hf_shared_text_clear(struct hf_shared_texts *pool,
                          struct hf_shared_text **slot)
{
    struct hf_shared_text *text = *slot;

    *slot = NULL;
    if (text == NULL || --text->references > 0)
        return;
    if (pool->last == text)
        pool->last = NULL;
    hf_free(text);
}

/* Allocate a text, with no reference yet, and make it ${pool}->last. */
static struct hf_shared_text *new_text(struct hf_shared_texts *pool,
                                       const char *string)
{
    size_t bytes = strlen(string) + 1;
    struct hf_shared_text *text = hf_alloc(sizeof(*text) + bytes);

    if (text == NULL)
        return NULL;
    memcpy(text->text, string, bytes);
    pool->last = text;
    return text;
}

bool hf_shared_text_set(struct hf_shared_texts *pool,
                        struct hf_shared_text **slot, const char *string)
{
    bool is_empty = string[0] == '\0';
    struct hf_shared_text *text = pool->last;

    if (strcmp(hf_shared_text_get(*slot), string) == 0)
        return true;
    if (is_empty)
        text = NULL;
    else if (text == NULL || strcmp(text->text, string) != 0)
        text = new_text(pool, string);
    if (text != NULL)
        text->references++;
    hf_shared_text_clear(pool, slot);
    *slot = text;
    return text != NULL || is_empty;
}
