/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about calls and kinds that every store asks. */
#include "engines/leased/store.h"

#include <string.h>

#include "base/utf8.h"

bool hf_store_call_writes(const struct hf_store_call *call)
{
    return !(call->kind == HF_STORE_EXISTS || call->kind == HF_STORE_NAMES ||
             call->kind == HF_STORE_EXAMINE ||
             (call->kind == HF_STORE_LIST && !call->watches_queue));
}

bool hf_store_call_may_be_partial(const struct hf_store_call *call)
{
    bool lists = call->kind == HF_STORE_ENQUEUE || call->kind == HF_STORE_LIST;
    enum hf_ticket_kind kind = call->ticket_kind;

    return lists && !call->detailed && !call->watches_queue &&
           call->quorum == NULL &&
           ((kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_WRITE) ||
            kind == HF_TICKET_ELECTION);
}

bool hf_store_is_double_barrier_kind(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_PARTICIPANT || kind == HF_TICKET_READY;
}

bool hf_store_is_stored_kind(uint64_t kind)
{
    return kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_READY &&
           kind != HF_TICKET_EXCLUSIVE;
}

const char *hf_store_payload(const char *text, size_t bytes)
{
    bool fits = bytes < HF_PAYLOAD_BYTES && strlen(text) == bytes;

    return fits && hf_utf8_valid(text, bytes) ? text : "";
}
