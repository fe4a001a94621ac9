/* SPDX-License-Identifier: Apache-2.0 */
/* See variables_text.h. */
#include "cli/variables_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

/* Make room for ${bytes} more.  False if there is none. */
static bool make_room(struct hf_variables_text *text, size_t bytes)
{
    if (!text->failed)
        text->failed =
            !HF_ARRAY_ROOM(&text->text, &text->room, text->bytes + bytes);
    return !text->failed;
}

void hf_variables_text_add(struct hf_variables_text *text, const char *format,
                           ...)
{
    va_list args;
    int bytes;

    va_start(args, format);
    bytes = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text->failed = text->failed || bytes < 0;
    /* With room for the NUL that vsnprintf() writes. */
    if (!make_room(text, (size_t)bytes + 1))
        return;
    va_start(args, format);
    (void)vsnprintf(text->text + text->bytes, (size_t)bytes + 1, format, args);
    va_end(args);
    text->bytes += (size_t)bytes;
}

void hf_variables_text_end(struct hf_variables_text *text)
{
    if (make_room(text, 1))
        text->text[text->bytes++] = '\0';
}
