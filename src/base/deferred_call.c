/* SPDX-License-Identifier: Apache-2.0 */
#include "base/deferred_call.h"

#include <stddef.h>

void hf_deferred_calls_init(struct hf_deferred_calls *calls)
{
    calls->first = NULL;
    calls->end = &calls->first;
}

void hf_deferred_call_add(struct hf_deferred_calls *calls,
                          struct hf_deferred_call *call)
{
    if (call->queued)
        return;
    call->queued = true;
    call->next = NULL;
    *calls->end = call;
    calls->end = &call->next;
}

void hf_deferred_calls_run(struct hf_deferred_calls *calls,
                           struct hf_core *core)
{
    struct hf_deferred_call *call;

    while ((call = calls->first) != NULL) {
        calls->first = call->next;
        if (calls->first == NULL)
            calls->end = &calls->first;
        call->queued = false;
        call->run(core, call);
    }
}
