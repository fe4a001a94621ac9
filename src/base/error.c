/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/secret.h"
#include "base/utf8.h"

hf_status hf_error_set(struct hf_error *error, hf_status status,
                       const char *format, ...)
{
    /* Not directly into ${error}: an argument may be its present text. */
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
    /* It contains text of others (paths, answers, names) and is printed to
     * terminals.  A path or a name may be a URL that was mistyped. */
    hf_utf8_make_printable(text, (size_t)wanted >= sizeof(text));
    hf_secret_hide(text);
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
