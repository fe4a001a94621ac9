/* SPDX-License-Identifier: Apache-2.0 */
/* The servers are asked in the order of the list, from the one after the
 * current server until the current server would be next. */
#include "zookeeper/zk_rw_probe.h"

#include <string.h>

#include "base/time_math.h"

static void pause_probe(struct hf_zk_rw_probe *probe, uint64_t now_ms)
{
    probe->state = HF_ZK_RW_PROBE_PAUSING;
    probe->at_ms = hf_after_ms(now_ms, probe->pause_ms);
    probe->pause_ms =
        hf_min_ms(2 * probe->pause_ms, HF_ZK_RW_PROBE_PAUSE_MAX_MS);
}

/* Ask the server after ${before}.  If that is the current server, all others
 * were asked: pause instead. */
static void ask_behind(struct hf_zk_rw_probe *probe, size_t before,
                       uint64_t now_ms)
{
    size_t server = (before + 1) % probe->server_count;

    if (server == probe->current) {
        pause_probe(probe, now_ms);
        return;
    }
    probe->state = HF_ZK_RW_PROBE_ASKING;
    probe->server = server;
    probe->number++;
    probe->at_ms = hf_after_ms(now_ms, HF_ZK_RW_PROBE_ATTEMPT_MS);
    probe->answer_bytes = 0;
}

void hf_zk_rw_probe_begin(struct hf_zk_rw_probe *probe, size_t server_count,
                          size_t current, uint64_t now_ms)
{
    probe->state = HF_ZK_RW_PROBE_ENDED;
    probe->server_count = server_count;
    probe->current = current;
    probe->pause_ms = HF_ZK_RW_PROBE_PAUSE_MS;
    if (server_count > 1)
        pause_probe(probe, now_ms);
}

void hf_zk_rw_probe_end(struct hf_zk_rw_probe *probe)
{
    probe->state = HF_ZK_RW_PROBE_ENDED;
}

bool hf_zk_rw_probe_received(struct hf_zk_rw_probe *probe, const void *bytes,
                             size_t count, uint64_t now_ms)
{
    size_t left = HF_ZK_RW_PROBE_ANSWER_BYTES - probe->answer_bytes;
    size_t taken = count < left ? count : left;

    memcpy(probe->answer + probe->answer_bytes, bytes, taken);
    probe->answer_bytes += taken;
    if (probe->answer_bytes < HF_ZK_RW_PROBE_ANSWER_BYTES)
        return false;
    if (memcmp(probe->answer, "rw", HF_ZK_RW_PROBE_ANSWER_BYTES) == 0) {
        probe->state = HF_ZK_RW_PROBE_FOUND;
        return true;
    }
    hf_zk_rw_probe_failed(probe, now_ms);
    return false;
}

void hf_zk_rw_probe_failed(struct hf_zk_rw_probe *probe, uint64_t now_ms)
{
    ask_behind(probe, probe->server, now_ms);
}

void hf_zk_rw_probe_tick(struct hf_zk_rw_probe *probe, uint64_t now_ms)
{
    if (now_ms < hf_zk_rw_probe_wake_at_ms(probe))
        return;
    if (probe->state == HF_ZK_RW_PROBE_PAUSING)
        ask_behind(probe, probe->current, now_ms);
    else
        hf_zk_rw_probe_failed(probe, now_ms);
}

uint64_t hf_zk_rw_probe_wake_at_ms(const struct hf_zk_rw_probe *probe)
{
    switch (probe->state) {
    case HF_ZK_RW_PROBE_PAUSING:
    case HF_ZK_RW_PROBE_ASKING:
        return probe->at_ms;
    default:
        return HF_FOREVER;
    }
}
