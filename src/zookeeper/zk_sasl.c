/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/zk_sasl.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

void hf_zk_sasl_begin(struct hf_zk_sasl *sasl)
{
    assert(sasl->state == HF_ZK_SASL_OFF);
    sasl->state = HF_ZK_SASL_STEP_DUE;
}

void hf_zk_sasl_end(struct hf_zk_sasl *sasl)
{
    hf_free(sasl->token);
    *sasl = (struct hf_zk_sasl){.state = HF_ZK_SASL_OFF};
}

bool hf_zk_sasl_keep(struct hf_zk_sasl *sasl, const void *token, size_t count)
{
    uint8_t *copy = hf_alloc(count);

    if (copy == NULL)
        return false;
    hf_free(sasl->token);
    sasl->token = memcpy(copy, token, count);
    sasl->count = count;
    return true;
}
