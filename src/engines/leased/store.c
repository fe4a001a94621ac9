/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/store.h"

bool hf_store_call_writes(const struct hf_store_call *call)
{
    return !(call->kind == HF_STORE_PROBE ||
             (call->kind == HF_STORE_LIST && !call->looks));
}

bool hf_store_is_apart(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_MEMBER || kind == HF_TICKET_READY;
}

bool hf_store_keeps(uint64_t kind)
{
    return kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_READY &&
           kind != HF_TICKET_EXCLUSIVE;
}
