/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_EXAMINE: what each server of the URL says of itself, and then what
 * the session sees (examine.h).
 *
 * Each server gets a session of its own, without a lease, that knows this
 * server alone: so it is connected to, with TLS and credentials, as for a lock,
 * and is then asked for its status.
 */
#ifndef HF_ENGINES_ETCD_EXAMINE_MEMBERS_H
#define HF_ENGINES_ETCD_EXAMINE_MEMBERS_H

#include <uv.h>

#include "base/engine_host.h"
#include "core/engine.h"
#include "etcd_io/etcd_io.h"

struct hf_etcd_engine;
struct hf_etcd_member_examination;

/* The examinations of a client.  Embedded in its owner, which sets the first
 * three fields when it has them. */
struct hf_etcd_examiner {
    const struct hf_engine_host *host;
    struct hf_etcd_engine *etcd;
    struct hf_etcd_io *io;                    /* of the client's own session */
    struct hf_etcd_member_examination *first; /* the newest */
};

/* Carry out ${request}. */
void hf_etcd_examine_members(struct hf_etcd_examiner *examiner,
                             struct hf_request *request);

/* The session is about to be closed: answer what still waits for members, or
 * for the session. */
void hf_etcd_examiner_end(struct hf_etcd_examiner *examiner);

/* In the child of a fork: close descriptors only. */
void hf_etcd_examiner_after_fork(const struct hf_etcd_examiner *examiner);

#endif
