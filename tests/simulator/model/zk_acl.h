/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access lists of nodes in the ZooKeeper model, and who a connection is
 * (fixupACL() and checkACL() of ZooKeeper).
 *
 * An identity of the scheme digest is USER:HASH in ZooKeeper.  Here the hash is
 * the password, because a client never looks into an identity.
 */
#ifndef HF_TESTS_SIMULATOR_MODEL_ZK_ACL_H
#define HF_TESTS_SIMULATOR_MODEL_ZK_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/model/sim.h"
#include "zookeeper/jute.h"

/* Permissions, which are bits. */
#define ZK_PERM_READ 1
#define ZK_PERM_WRITE 2
#define ZK_PERM_CREATE 4
#define ZK_PERM_DELETE 8
#define ZK_PERM_ADMIN 16
#define ZK_PERM_ALL 31

#define ZK_IDENTITIES_MAX 4

/* An entry of an access list, and those behind it.  NULL as a list: everybody
 * may do everything.  All of it lives as long as the run. */
struct zk_acl {
    int32_t permissions;
    const char *scheme; /* "world" or "digest" */
    const char *id;
    const struct zk_acl *next;
};

/* The credentials that a connection had sent before a request, which decide
 * what the request may do.  They live as long as the run. */
struct zk_identities {
    const char *digests[ZK_IDENTITIES_MAX];
    unsigned count;
};

/* Add the identity of the credential ${text}, unless it is there. */
void zk_identities_add(struct zk_identities *who, const char *text);

/* Does ${acl} give ${who} one of ${permissions}?  As in ZooKeeper, one of
 * several is enough.  ${who} NULL: the servers themselves, who may do
 * everything. */
bool zk_acl_permits(const struct zk_acl *acl, int32_t permissions,
                    const struct zk_identities *who);

/* Read the list of a request of ${who} into ${acl}.  0, or the error that the
 * request fails with. */
int32_t zk_acl_read(struct hf_sim *sim, struct hf_jute_reader *body,
                    const struct zk_identities *who, const struct zk_acl **acl);

/* Write the list of a node as ${who} is shown it: without hashes, unless it may
 * change the list. */
void zk_acl_put(struct hf_jute_writer *out, const struct zk_acl *acl,
                const struct zk_identities *who);

#endif
