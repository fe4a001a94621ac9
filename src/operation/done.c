/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting the end of an operation to its user.
 */
#include "operation/done.h"

#include "base/error.h"

void hf_done_call(struct hf_monitor *monitor, const struct hf_done *done,
                  const struct hf_result *result)
{
    hf_monitor_unlock(monitor);
    if (done->fn != NULL) {
        hf_last_error_report(result->status, result->text);
        done->fn(done->arg, result);
    }
    hf_done_drop(done);
    hf_monitor_lock(monitor);
}

void hf_done_drop(const struct hf_done *done)
{
    if (done->drop != NULL)
        done->drop(done->arg);
}

hf_status hf_done_check(const struct hf_done *done, const char *result,
                        struct hf_error *error)
{
    if (done->fn != NULL)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "the callback is NULL, and the %s would be lost with "
                        "it; pass a function",
                        result);
}
