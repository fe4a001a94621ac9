/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange of one connection by SASL, whose steps run on threads, because a
 * step may wait for a server of its own for minutes.  The result of a step is
 * reported on the loop.
 *
 * All functions are called with the client's lock held, by the thread that
 * calls in or runs the loop; the lock is not held while a step runs.
 */
#ifndef HF_TRANSPORT_SASL_EXCHANGE_H
#define HF_TRANSPORT_SASL_EXCHANGE_H

#include <uv.h>

#include "transport/sasl.h"

/* The most threads at a time: one for the step that runs, and those of
 * exchanges that were ended during a step.  While this many run, no step
 * begins. */
#define HF_SASL_THREADS_MAX 4

/* The result of a step.  The pointers are valid until the callback returns. */
struct hf_sasl_outcome {
    hf_status status;
    const char *why; /* it failed */
    const void *bytes;
    size_t count;
    bool done;
};

/* Called on the loop, once for each step, unless the exchange was ended. */
typedef void hf_sasl_stepped(void *arg, const struct hf_sasl_outcome *outcome);

/* Holds one exchange at a time. */
struct hf_sasl_exchanges;

/* Make one on ${loop}.  ${ops} and ${loop} must outlive it.  NULL for lack of
 * memory or descriptors. */
struct hf_sasl_exchanges *hf_sasl_exchanges_new(uv_loop_t *loop,
                                                const struct hf_sasl_ops *ops,
                                                hf_sasl_stepped *stepped,
                                                void *arg);

/* End the exchange, and free everything as soon as the loop has closed the
 * handle, and the last thread has ended. */
void hf_sasl_exchanges_free(struct hf_sasl_exchanges *exchanges);

/* Begin another exchange; the one before is ended.  ${settings} are copied.
 * False for lack of memory. */
bool hf_sasl_exchange_begin(struct hf_sasl_exchanges *exchanges,
                            const struct hf_sasl_settings *settings);

/* Begin the next step, with the server's token, which is copied.  There must be
 * an exchange, and no step of it under way.  HF_ENOMEM, or HF_ELIMIT if there
 * is no thread for it; then it is not reported. */
hf_status hf_sasl_exchange_step(struct hf_sasl_exchanges *exchanges,
                                const void *bytes, size_t count);

/* End the exchange, if there is one.  A step that runs is not waited for. */
void hf_sasl_exchange_end(struct hf_sasl_exchanges *exchanges);

#endif
