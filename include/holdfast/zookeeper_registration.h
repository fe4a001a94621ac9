/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registrations: an ephemeral node of ZooKeeper that is made again whenever it
 * is gone, in each new session too, until the registration is freed.
 *
 *     struct hf_zookeeper_registration *registration;
 *
 *     if (hf_zookeeper_registration_open(zookeeper, "/workers/w1", "h1:80", 5,
 *                                        NULL, &registration) == HF_OK &&
 *         hf_zookeeper_registration_wait(registration, 5000) == HF_OK)
 *         serve();
 *     (void)hf_zookeeper_registration_close(registration, 1000);
 *
 * What <holdfast/zookeeper.h> says of threads, callbacks and outages holds
 * here, too.  docs/zookeeper.md has an example with a lock.
 */
#ifndef HOLDFAST_ZOOKEEPER_REGISTRATION_H
#define HOLDFAST_ZOOKEEPER_REGISTRATION_H

#include <holdfast/zookeeper.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque: a node that is to be there while this handle is. */
struct hf_zookeeper_registration;

enum hf_zookeeper_registration_event_kind {
    /* The node is there, this session has made it, and it has the data: the
     * first time, or again after UNREGISTERED.  .stat is that of the node. */
    HF_ZOOKEEPER_REGISTERED = 1,
    /* The node that was reported as registered is gone, or will be when the
     * servers notice, and is made again.  HF_ELOST: its session has ended.
     * HF_EGONE: somebody has deleted it. */
    HF_ZOOKEEPER_UNREGISTERED = 2,
    /* The node cannot be made now, and is made as soon as it can be.
     * HF_EEXISTS: there is a node at .path that this session has not made,
     * whose Stat is .stat; it is never deleted, but waited for until it goes.
     * Anything else is tried again, in 10 s at the latest, such as HF_EFULL (a
     * quota), HF_ENOMEM, or HF_EGONE: it is deleted as soon as it is made, time
     * and again.  Reported once for each status in a row. */
    HF_ZOOKEEPER_REGISTRATION_BLOCKED = 3,
    /* The registration has ended without a call, and is tried no more; free
     * it.  HF_EDENIED: this session may not create the node or one above it,
     * read it or set its data, or all servers refuse the credentials.
     * HF_EINVAL: a node above it is ephemeral, or the servers do not accept the
     * access list.  HF_EGONE: a node above the chroot of the URL is not there.
     * What it has made is there until it is freed, or the session ends. */
    HF_ZOOKEEPER_REGISTRATION_FAILED = 4
};

struct hf_zookeeper_registration_event {
    enum hf_zookeeper_registration_event_kind kind;
    hf_status status; /* HF_OK if REGISTERED */
    const char *text; /* why; "" if REGISTERED */
    const char *path; /* of the registration */
    bool has_stat;
    struct hf_zookeeper_stat stat; /* see above */
};

/* Called for the events of a registration, one at a time.  ${event} is valid
 * until it returns; unless its status is HF_OK, hf_last_error() has that and
 * the text here.  REGISTERED and UNREGISTERED alternate; what was over
 * before it could be reported is not reported. */
struct hf_zookeeper_on_registration {
    void (*fn)(void *arg, struct hf_zookeeper_registration *registration,
               const struct hf_zookeeper_registration_event *event);
    void *arg;
    void (*drop)(void *arg);
};

struct hf_zookeeper_registration_opts {
    size_t size; /* set by HF_ZOOKEEPER_REGISTRATION_OPTS_INIT */
    struct hf_zookeeper_on_registration on_event;
    /* The access list of the node.  NULL: acl= of the URL.  It has to permit
     * this session to read the node, and to write it before its data can be set
     * by hf_zookeeper_registration_set(). */
    const struct hf_zookeeper_acl *acls;
    size_t acl_count;
};
#define HF_ZOOKEEPER_REGISTRATION_OPTS_INIT                                    \
    {                                                                          \
        sizeof(struct hf_zookeeper_registration_opts), {NULL, NULL, NULL},     \
            NULL, 0                                                            \
    }

/**
 * hf_zookeeper_registration_opts_init(opts, size):
 * As hf_client_opts_init(), to HF_ZOOKEEPER_REGISTRATION_OPTS_INIT.
 *   Thread    any.
 */
HF_API void
hf_zookeeper_registration_opts_init(struct hf_zookeeper_registration_opts *opts,
                                    size_t size) HF_NONNULL(1);

/**
 * hf_zookeeper_registration_open(zookeeper, path, data, bytes, opts,
 *                                registration):
 * Register ${path}: make an ephemeral node with ${bytes} bytes of ${data}
 * (NULL: null), now and whenever it is gone, also if somebody deletes it.  This
 * is begun but not waited for.
 *
 * Nodes above it that are not there, that of the chroot too, are made as
 * containers, or as persistent nodes where the servers know no containers, with
 * the access list of the URL.  A node at ${path} that this session has made
 * counts as that of the registration, which gives it the data.  Data that
 * somebody else sets stay until the next hf_zookeeper_registration_set() or the
 * next node.
 *
 * The session needs the permission to read the node, because it watches it.
 *   Ownership ${path}, ${data} and ${opts} (NULL: all defaults) are copied,
 *             with their access list.  ${registration} must be freed with
 *             hf_zookeeper_registration_free() or _close(), before or after
 *             ${zookeeper} is closed.
 *   Callback  ${opts}->on_event, from then on: perhaps before this returns and
 *             ${registration} is set.
 *   Fails     HF_EEXISTS if ${zookeeper} has a registration of ${path};
 *             HF_EINVAL HF_EUNSUPPORTED HF_ECLOSED HF_ELIMIT HF_ENOMEM
 *             HF_EFORKED; ${registration} is then NULL.
 */
HF_API hf_status hf_zookeeper_registration_open(
    struct hf_zookeeper *zookeeper, const char *path, const void *data,
    size_t bytes, const struct hf_zookeeper_registration_opts *opts,
    struct hf_zookeeper_registration **registration)
    HF_NONNULL(1, 2, 6) HF_MUST_CHECK;

/**
 * hf_zookeeper_registration_set(registration, data, bytes):
 * Give the node ${bytes} bytes of ${data} (NULL: null), now and whenever it is
 * made again.  hf_zookeeper_registration_wait() waits until it has them.
 * Of several sets that come faster than the servers answer, only the last one
 * is sure to be seen by others.
 *   Ownership ${data} are copied.
 *   Fails     HF_EINVAL if they are too long; HF_ENOMEM HF_ECLOSED HF_EFORKED;
 *             as the registration has FAILED.
 */
HF_API hf_status hf_zookeeper_registration_set(
    struct hf_zookeeper_registration *registration, const void *data,
    size_t bytes) HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_zookeeper_registration_wait(registration, wait_ms),
 * hf_zookeeper_registration_wait_start(registration, wait_ms, done):
 * Wait until the node is there and has the data that were set last.  HF_OK
 * means that this was so at some moment since this call.  A wait survives a
 * lost session.
 *   Time      at most ${wait_ms}, or HF_FOREVER; 0: it only looks.
 *   Callback  ${done}, once.
 *   Fails     HF_ETIMEDOUT, with a text that says what is in the way;
 *             HF_EUNREACHABLE, or the status of a refusal, if the client gives
 *             up to connect meanwhile (retry= of the URL); HF_ECANCELLED if
 *             ${registration} was freed meanwhile; HF_ECLOSED HF_ELIMIT
 *             HF_EREENTRANT HF_EFORKED; as the registration has FAILED; the
 *             call with _start HF_ENOMEM.
 */
HF_API hf_status hf_zookeeper_registration_wait(
    struct hf_zookeeper_registration *registration, uint64_t wait_ms)
    HF_NONNULL(1) HF_MUST_CHECK;
HF_API hf_status hf_zookeeper_registration_wait_start(
    struct hf_zookeeper_registration *registration, uint64_t wait_ms,
    struct hf_done done) HF_NONNULL(1) HF_MUST_CHECK;

/**
 * hf_zookeeper_registration_close(registration, wait_ms):
 * End and free ${registration} (NULL is fine): delete its node, as any node at
 * its path that this session has made, and wait for that.  HF_OK means that
 * there is no such node, and that nothing that was sent can make it again; so
 * in an outage this waits for a connection.  Otherwise the deletion goes on
 * until it has succeeded, the session has ended, or ${path} is registered
 * again.
 *
 * No callback of ${registration} comes after this, and .drop has been called,
 * as hf_zookeeper_watch_free() says.  Close it before a handle that shares its
 * session (hf_client_zookeeper()): if that is closed first, the node stays
 * until the session ends.
 *   Time      at most ${wait_ms}, and until a callback of ${registration} that
 *             runs on another thread has returned.
 *   Fails     HF_EREENTRANT HF_EFORKED: ${registration} is then not closed.
 *             HF_ETIMEDOUT.  HF_EDENIED: the session may not delete the node.
 *             HF_ELOST: the session that has made the node has ended, and the
 *             node goes when the servers notice.  HF_ECLOSED: the handle was
 *             closed first.  HF_ECANCELLED: ${path} was registered again first.
 *             HF_ELIMIT HF_ENOMEM.
 */
HF_API hf_status hf_zookeeper_registration_close(
    struct hf_zookeeper_registration *registration, uint64_t wait_ms);

/**
 * hf_zookeeper_registration_free(registration):
 * End and free ${registration} (NULL is fine), as
 * hf_zookeeper_registration_close() does, without waiting for the deletion,
 * which goes on in the background until hf_zookeeper_close().
 *   Time      until a callback of ${registration} that runs on another thread
 *             has returned.
 */
HF_API void
hf_zookeeper_registration_free(struct hf_zookeeper_registration *registration);

#ifdef __cplusplus
}
#endif

#endif
