/* SPDX-License-Identifier: Apache-2.0 */
/* The options that only locks have. */
#include "engines/zookeeper/zk_config.h"

#include "base/url_options.h"

#define TICK_MIN_MS 10
#define TICK_MAX_MS 60000

/* The values of the options, before they are spread over the configuration. */
struct values {
    struct hf_zk_url_options shared; /* first, see hf_zk_url_parse() */
    uint64_t timeout_floor_ms;
    uint64_t tick_ms;
    uint64_t clock_drift;
    uint64_t token_floor;
    int layout; /* an index of dialects[] */
    int proof;  /* enum hf_zk_proof_mode */
};

static const char *const layouts[] = {"curator", "kazoo", "writelock", NULL};
static const enum hf_zk_engine_dialect dialects[] = {HF_ZK_CURATOR, HF_ZK_KAZOO,
                                                     HF_ZK_WRITELOCK};
/* In the order of enum hf_zk_proof_mode. */
static const char *const proofs[] = {"eager", "lazy", "strict", NULL};

static const struct hf_url_option_row rows[] = {
    HF_ZK_URL_OPTIONS(struct values, shared),
    {.key = "timeout_floor",
     .read = hf_url_read_duration,
     .offset = offsetof(struct values, timeout_floor_ms),
     .min = HF_ZK_TIMEOUT_MIN_MS,
     .max = HF_ZK_TIMEOUT_MAX_MS,
     .help = "the least session timeout that any server grants"},
    {.key = "tick",
     .read = hf_url_read_duration,
     .offset = offsetof(struct values, tick_ms),
     .min = TICK_MIN_MS,
     .max = TICK_MAX_MS,
     .help = "the tickTime of the servers"},
    HF_CLOCK_DRIFT_OPTION(struct values, clock_drift),
    {.key = "proof",
     .read = hf_url_read_choice,
     .offset = offsetof(struct values, proof),
     .choices = proofs,
     .help = "when the session is proven alive"},
    /* A czxid is an int64, so the sum of both cannot overflow. */
    {.key = "token_floor",
     .read = hf_url_read_number,
     .offset = offsetof(struct values, token_floor),
     .max = INT64_MAX,
     .help = "a number to add to every token"},
    {.key = "layout",
     .read = hf_url_read_choice,
     .offset = offsetof(struct values, layout),
     .choices = layouts,
     .help = "the library whose nodes ours look like"},
    HF_PEM_OPTIONS(struct values, shared.files),
};

hf_status hf_zk_engine_config_parse(struct hf_zk_engine_config *config,
                                    const struct hf_url *url,
                                    struct hf_error *error)
{
    struct values values = {.proof = HF_ZK_PROOF_EAGER,
                            .clock_drift = HF_CLOCK_DRIFT};
    hf_status status;

    *config = (struct hf_zk_engine_config){0};
    status = hf_zk_url_parse(&config->url, url, rows,
                             sizeof rows / sizeof rows[0], &values, error);
    if (status != HF_OK)
        return status;
    config->url.session.timeout_floor_ms = values.timeout_floor_ms;
    config->url.session.tick_ms = values.tick_ms;
    config->url.session.clock_drift = values.clock_drift;
    config->url.session.proof = (enum hf_zk_proof_mode)values.proof;
    config->token_floor = values.token_floor;
    config->layout = dialects[values.layout];
    return HF_OK;
}
