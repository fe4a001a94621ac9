/* SPDX-License-Identifier: Apache-2.0 */
#include "host/failure.h"

#include "core/error.h"

void hf_failure_keep(struct hf_shared_texts *texts,
                     struct hf_failure_kept *kept, const char *call,
                     const struct hf_error *error)
{
    kept->status = error->status;
    kept->call = call;
    (void)hf_shared_text_set(texts, &kept->text, error->text);
}

void hf_failure_copy(const struct hf_failure_kept *kept, struct hf_error *error)
{
    error->status = kept->status;
    error->text[0] = '\0';
    if (kept->status == HF_OK)
        return;
    hf_error_set(error, kept->status, "%s",
                 kept->text != NULL ? kept->text->text
                                    : hf_status_text(kept->status));
    if (kept->call != NULL)
        hf_error_prefix(error, kept->call);
}

void hf_failure_drop(struct hf_shared_texts *texts,
                     struct hf_failure_kept *kept)
{
    hf_shared_text_clear(texts, &kept->text);
}
