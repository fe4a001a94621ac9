/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

/* Error texts quote what the world gave us (paths, answers, names), and are
 * printed to terminals: whatever is no character or a control character
 * becomes '?'.  Where the end of the buffer split a character, the text ends
 * before it. */
static void make_printable(char *text, bool was_cut)
{
    size_t bytes = strlen(text);
    uint32_t code;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length == 0 && was_cut && bytes - at < 4) {
            text[at] = '\0';
            return;
        }
        if (length == 0) {
            length = 1;
            text[at] = '?';
        } else if (hf_utf8_control(code)) {
            memset(text + at, '?', length);
        }
    }
}

hf_status hf_error_set(struct hf_error *error, hf_status status,
                       const char *format, ...)
{
    /* Not straight into ${error}: an argument may be its present text. */
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;
    int wanted;

    assert(status != HF_OK);
    if (error == NULL)
        return status;
    va_start(args, format);
    wanted = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(wanted >= 0);
    make_printable(text, (size_t)wanted >= sizeof(text));
    error->status = status;
    memcpy(error->text, text, strlen(text) + 1);
    return status;
}

void hf_error_prefix(struct hf_error *error, const char *context)
{
    if (error != NULL && error->status != HF_OK)
        (void)hf_error_set(error, error->status, "%s: %s", context,
                           error->text);
}
