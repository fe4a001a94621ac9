/* SPDX-License-Identifier: Apache-2.0 */
#include "core/text.h"

#include <stddef.h>
#include <string.h>

#include "core/memory.h"

const char *hf_text_of(const struct hf_text *text)
{
    return text == NULL ? "" : text->text;
}

void hf_text_drop(struct hf_texts *texts, struct hf_text **kept)
{
    struct hf_text *text = *kept;

    *kept = NULL;
    if (text == NULL || --text->references > 0)
        return;
    if (texts->last == text)
        texts->last = NULL;
    hf_free(text);
}

static struct hf_text *make(struct hf_texts *texts, const char *words)
{
    size_t bytes = strlen(words) + 1;
    struct hf_text *text = hf_alloc(sizeof(*text) + bytes);

    if (text == NULL)
        return NULL;
    memcpy(text->text, words, bytes);
    texts->last = text;
    return text;
}

bool hf_text_keep(struct hf_texts *texts, struct hf_text **kept,
                  const char *words)
{
    bool words_are_none = words[0] == '\0';
    struct hf_text *text = texts->last;

    if (strcmp(hf_text_of(*kept), words) == 0)
        return true;
    if (words_are_none)
        text = NULL;
    else if (text == NULL || strcmp(text->text, words) != 0)
        text = make(texts, words);
    if (text != NULL)
        text->references++;
    hf_text_drop(texts, kept);
    *kept = text;
    return text != NULL || words_are_none;
}
