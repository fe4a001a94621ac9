/* SPDX-License-Identifier: Apache-2.0 */
/* The access list (ACL) that a new node gets if its creator names none: a node
 * of a lock, or one that a handle creates without .acls. */
#ifndef HF_ZOOKEEPER_ZK_ACL_H
#define HF_ZOOKEEPER_ZK_ACL_H

#include <holdfast/zookeeper.h>

#include "zookeeper/zk_session.h"

/* The values of acl= in a URL; hf_zk_acl_choices has their names. */
enum hf_zk_acl_option {
    HF_ZK_ACL_OPEN,
    HF_ZK_ACL_CREATOR,
    HF_ZK_ACL_BY_CREDENTIALS, /* acl= is not given: as creator if there are
                                 credentials, otherwise as open */
};
extern const char *const hf_zk_acl_choices[];

/* Set .private_nodes of ${config}, whose credentials are complete.  HF_EURL:
 * HF_ZK_ACL_CREATOR without credentials. */
hf_status hf_zk_acl_choose(struct hf_zk_session_config *config,
                           enum hf_zk_acl_option option,
                           struct hf_error *error);

/* The only entry of the access list of a new node: hf_zk_acl_everybody without
 * .private_nodes, hf_zk_acl_creator with it. */
extern const struct hf_zookeeper_acl hf_zk_acl_everybody;
extern const struct hf_zookeeper_acl hf_zk_acl_creator;

#endif
