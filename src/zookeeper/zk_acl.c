/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/zk_acl.h"

#include "base/error.h"

const char *const hf_zk_acl_choices[] = {"open", "creator", NULL};

const struct hf_zookeeper_acl hf_zk_acl_everybody = {HF_ZOOKEEPER_PERM_ALL,
                                                     "world", "anyone"};
/* "auth" stands for all identities that the session has proven. */
const struct hf_zookeeper_acl hf_zk_acl_creator = {HF_ZOOKEEPER_PERM_ALL,
                                                   "auth", ""};

hf_status hf_zk_acl_choose(struct hf_zk_session_config *config,
                           enum hf_zk_acl_option option, struct hf_error *error)
{
    bool has_credentials =
        config->auth[0] != '\0' || config->sasl.mechanism != HF_ZK_SASL_NONE;

    if (option == HF_ZK_ACL_CREATOR && !has_credentials)
        return hf_error_set(error, HF_EURL,
                            "acl=creator makes nodes that need the "
                            "credentials, and there are none; expected "
                            "USER:PASSWORD@ in the URL, auth_file= or a line "
                            "for these servers in HOLDFAST_AUTH_FILE");
    config->private_nodes = option != HF_ZK_ACL_OPEN && has_credentials;
    return HF_OK;
}
