/* SPDX-License-Identifier: Apache-2.0 */
/* What the machines share. */
#include "zookeeper_retry/retry_step.h"

#include <string.h>

#include "base/retry.h"

#define PAUSE_FIRST_MS 10
#define PAUSE_LAST_MS 1000

/* HF_ENOMEM, HF_EPROTOCOL and HF_ELIMIT mean that an answer came but could not
 * be stored or understood.  HF_EUNREACHABLE with an .error is the answer of a
 * server, and the next attempt may reach another server.  HF_EUNREACHABLE
 * without an .error means that the client has given up. */
enum hf_zk_retry_answer
hf_zk_retry_answer(const struct hf_zookeeper_result *result)
{
    switch (result->status) {
    case HF_EUNSURE:
    case HF_ENOMEM:
    case HF_EPROTOCOL:
    case HF_ELIMIT:
        return HF_ZK_RETRY_UNSURE;
    case HF_ELOST:
        return HF_ZK_RETRY_AGAIN;
    case HF_EUNREACHABLE:
        return result->error != 0 ? HF_ZK_RETRY_AGAIN : HF_ZK_RETRY_KNOWN;
    default:
        return HF_ZK_RETRY_KNOWN;
    }
}

/* A pause is at least 1 ms, so that no operation is begun while the queue is
 * ending all operations that wait. */
void hf_zk_retry_pause(struct hf_zk_retry_attempts *attempts,
                       struct hf_zk_retry_step *step)
{
    step->kind = HF_ZK_RETRY_PAUSE;
    step->pause_ms = hf_retry_delay_ms(PAUSE_FIRST_MS, PAUSE_LAST_MS,
                                       attempts->count, &attempts->random);
    attempts->count++;
}

void hf_zk_retry_end(struct hf_zk_retry_step *step,
                     struct hf_zookeeper_result *result)
{
    step->kind = HF_ZK_RETRY_END;
    step->result = result;
}

void hf_zk_retry_do(struct hf_zk_retry_step *step,
                    enum hf_zookeeper_op_kind kind, const char *path)
{
    step->kind = HF_ZK_RETRY_DO;
    step->op = (struct hf_zookeeper_op){.kind = kind, .path = path};
}

bool hf_zk_retry_same_data(const struct hf_zookeeper_result *result,
                           const void *data, size_t bytes)
{
    return result->bytes == bytes &&
           (bytes == 0 || memcmp(result->data, data, bytes) == 0);
}
