/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_EXAMINE: what each server of the URL says of itself, and then what
 * the client's session sees (examine.h).
 *
 * For each server a session is made that has no lease and knows only this
 * server.  So the server is connected to as for a lock, with TLS and
 * credentials, and is then asked for its status.
 */
#ifndef HF_ENGINES_ETCD_EXAMINE_MEMBERS_H
#define HF_ENGINES_ETCD_EXAMINE_MEMBERS_H

#include <uv.h>

#include "base/engine_host.h"
#include "core/engine.h"
#include "etcd_io/etcd_io.h"

struct hf_etcd_engine;
struct hf_etcd_member_examination;

/* The examinations of a client that are under way.  Embedded in its owner,
 * which sets the first three fields when it has them. */
struct hf_etcd_examiner {
    const struct hf_engine_host *host;
    struct hf_etcd_engine *etcd;
    struct hf_etcd_io *io;                    /* of the client's own session */
    struct hf_etcd_member_examination *first; /* a list, the newest first */
};

/* Begin to carry out ${request}, which is answered later or at once. */
void hf_etcd_examine_members(struct hf_etcd_examiner *examiner,
                             struct hf_request *request);

/* The client's session is about to be closed: answer all requests that wait for
 * a server or for that session. */
void hf_etcd_examiner_end(struct hf_etcd_examiner *examiner);

/* In the child of a fork: close descriptors only. */
void hf_etcd_examiner_after_fork(const struct hf_etcd_examiner *examiner);

#endif
