/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of access lists as people and zkCli.sh write them:
 * "world:anyone:cdrwa". */
#ifndef HF_ZOOKEEPER_TOOL_ACL_TEXT_H
#define HF_ZOOKEEPER_TOOL_ACL_TEXT_H

#include <holdfast/zookeeper.h>

/* Read ${text} into ${acl}, whose texts are in ${text} then.  The scheme ends
 * at the first ':', and the id at the last one.  HF_EINVAL. */
hf_status hf_tool_parse_acl(char *text, struct hf_zookeeper_acl *acl,
                            struct hf_error *error);

#endif
