/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The access list of a node: what it lets this session do, as far as that can
 * be known here.
 *
 * An entry is for us if it is for world:anyone, or of the scheme digest and for
 * the user of our credentials.  Only the server knows whether an entry of
 * another scheme (ip, sasl, x509) is for us.  So a right is granted, possible,
 * or missing.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ACCESS_LIST_H
#define HF_ENGINES_ZOOKEEPER_ACCESS_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "zookeeper/jute.h"

/* The rights that locks need, with the values of HF_ZOOKEEPER_PERM_...  in
 * holdfast/zookeeper.h. */
#define HF_ZK_PERM_READ 1
#define HF_ZK_PERM_CREATE 4
#define HF_ZK_PERM_DELETE 8

/* What an access list says, each a sum of permissions. */
struct hf_zk_engine_access {
    int32_t anyone;   /* to world:anyone */
    int32_t granted;  /* to this session, including .anyone */
    int32_t possible; /* by entries that may be for us, as only the server
                         knows */
};

/* Read an access list, as getACL answers it, from ${body}.  ${auth} has our
 * credentials, "USER:PASSWORD", or is "". */
struct hf_zk_engine_access hf_zk_engine_access_read(struct hf_jute_reader *body,
                                                    const char *auth);

/* Is ${permission} neither granted nor possible? */
bool hf_zk_engine_access_lacks(const struct hf_zk_engine_access *access,
                               int32_t permission);

#endif
