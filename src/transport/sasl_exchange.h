/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SASL exchange of one connection.  Its steps run on threads, because a
 * step may wait for minutes for another server (Kerberos).  The result of a
 * step is reported on the loop.
 *
 * All functions are called with the client's lock held, by the thread that
 * calls into the library or runs the loop.  The lock is not held while a step
 * runs.
 */
#ifndef HF_TRANSPORT_SASL_EXCHANGE_H
#define HF_TRANSPORT_SASL_EXCHANGE_H

#include <uv.h>

#include "transport/sasl.h"

/* The most threads at a time: one for the step that runs, and one for each
 * exchange that was ended during a step.  While this many threads run, no step
 * begins. */
#define HF_SASL_THREADS_MAX 4

/* The result of a step.  The pointers are valid until the callback returns. */
struct hf_sasl_outcome {
    hf_status status;
    const char *why; /* why it failed */
    const void *bytes;
    size_t count;
    bool done;
};

/* Called on the loop, once for each step, unless the exchange was ended. */
typedef void hf_sasl_stepped(void *arg, const struct hf_sasl_outcome *outcome);

/* Has at most one exchange at a time. */
struct hf_sasl_exchanges;

/* Make an object without an exchange on ${loop}.  ${ops} and ${loop} must
 * outlive it.  Returns NULL for lack of memory or descriptors. */
struct hf_sasl_exchanges *hf_sasl_exchanges_new(uv_loop_t *loop,
                                                const struct hf_sasl_ops *ops,
                                                hf_sasl_stepped *stepped,
                                                void *arg);

/* End the exchange, if there is one.  Everything is freed as soon as the loop
 * has closed the handle and the last thread has ended. */
void hf_sasl_exchanges_free(struct hf_sasl_exchanges *exchanges);

/* Begin another exchange; an exchange that is there is ended.  ${settings} are
 * copied.  Returns false for lack of memory. */
bool hf_sasl_exchange_begin(struct hf_sasl_exchanges *exchanges,
                            const struct hf_sasl_settings *settings);

/* Begin the next step with the server's token, which is copied.  There must be
 * an exchange, and no step of it may be under way.  Fails with HF_ENOMEM, or
 * with HF_ELIMIT if no thread can be started; then no result is reported. */
hf_status hf_sasl_exchange_step(struct hf_sasl_exchanges *exchanges,
                                const void *bytes, size_t count);

/* End the exchange, if there is one, without waiting for a step that runs. */
void hf_sasl_exchange_end(struct hf_sasl_exchanges *exchanges);

#endif
