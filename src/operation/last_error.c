/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last error of a handle.  A program has many handles and most of them fail
 * alike, so the texts are shared.
 */
#include "operation/last_error.h"

#include "base/error.h"

void hf_last_error_set(struct hf_shared_texts *texts,
                       struct hf_last_error *last_error, const char *call,
                       const struct hf_error *error)
{
    last_error->status = error->status;
    last_error->call = call;
    (void)hf_shared_text_set(texts, &last_error->text, error->text);
}

/* The text of the call is put before the text of the failure only here, so that
 * it is not kept with each. */
void hf_last_error_copy(const struct hf_last_error *last_error,
                        struct hf_error *error)
{
    error->status = last_error->status;
    error->text[0] = '\0';
    if (last_error->status == HF_OK)
        return;
    hf_error_set(error, last_error->status, "%s",
                 last_error->text != NULL ? last_error->text->text
                                          : hf_status_text(last_error->status));
    if (last_error->call != NULL)
        hf_error_prefix(error, last_error->call);
}

void hf_last_error_free(struct hf_shared_texts *texts,
                        struct hf_last_error *last_error)
{
    hf_shared_text_clear(texts, &last_error->text);
}
