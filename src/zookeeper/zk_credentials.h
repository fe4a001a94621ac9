/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials of a session, which are sent on each connection in the order
 * in which they were added.  Servers answer them in that order too, all with
 * the same xid, so the next answer is always the answer to .unanswered. */
#ifndef HF_ZOOKEEPER_ZK_CREDENTIALS_H
#define HF_ZOOKEEPER_ZK_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "zookeeper/zk_wire.h"

/* Called once with ${error}, the first answer of a server to the credential;
 * HF_ZK_DISCONNECTED if the session is closed or freed before. */
typedef void hf_zk_credential_answered(void *user, enum hf_zk_error error);

struct hf_zk_credential {
    struct hf_zk_credential *next;
    const char *scheme; /* such as "digest" */
    const void *bytes;  /* such as "user:password", without a NUL */
    size_t count;
    hf_zk_credential_answered *answered; /* NULL: nobody waits for it */
    void *user;                          /* passed to .answered */
};

/* The list.  A struct of zeros is empty. */
struct hf_zk_credentials {
    struct hf_zk_credential *first;
    struct hf_zk_credential *last;
    struct hf_zk_credential *unanswered; /* the first credential that was sent
                                            on this connection and is not
                                            answered; all behind it were sent,
                                            too */
    struct hf_zk_credential of_url;      /* in the list if the URL has a user */
};

/* Begin the list with ${auth}, "user:password" or "", which must stay valid. */
void hf_zk_credentials_init(struct hf_zk_credentials *credentials,
                            const char *auth);

/* Append a copy of the credential to the list; NULL for lack of memory. */
struct hf_zk_credential *
hf_zk_credentials_add(struct hf_zk_credentials *credentials, const char *scheme,
                      const void *bytes, size_t count);

/* Remove ${credential}, and wipe and free it. */
void hf_zk_credentials_remove(struct hf_zk_credentials *credentials,
                              struct hf_zk_credential *credential);

/* Remove, wipe and free all credentials. */
void hf_zk_credentials_free(struct hf_zk_credentials *credentials);

/* Send all credentials on a new connection. */
void hf_zk_credentials_send_all(struct hf_zk_credentials *credentials,
                                struct hf_zk_wire *wire, uint64_t now_ms);

/* Send ${credential}, which was just added.  All others must have been sent on
 * this connection. */
void hf_zk_credentials_send(struct hf_zk_credentials *credentials,
                            struct hf_zk_credential *credential,
                            struct hf_zk_wire *wire, uint64_t now_ms);

/* Call .answered of ${credential}, unless it was called before. */
void hf_zk_credential_notify(struct hf_zk_credential *credential,
                             enum hf_zk_error error);

/* Call .answered with HF_ZK_DISCONNECTED for each credential that still waits
 * for its first answer. */
void hf_zk_credentials_end(struct hf_zk_credentials *credentials);

#endif
