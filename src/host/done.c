/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting the end of an operation to its user.
 */
#include "host/done.h"

void hf_done_call(struct hf_monitor *monitor, const struct hf_done *done,
                  const struct hf_result *result)
{
    hf_monitor_unlock(monitor);
    if (done->fn != NULL)
        done->fn(done->arg, result);
    if (done->drop != NULL)
        done->drop(done->arg);
    hf_monitor_lock(monitor);
}
