/* SPDX-License-Identifier: Apache-2.0 */
/* What the version of a server says about it. */
#ifndef HF_ETCD_SERVER_VERSION_H
#define HF_ETCD_SERVER_VERSION_H

#include <stdbool.h>

/* Does a server of ${version}, "3.4.23", check that it is still the leader
 * before it has leases revoked?  Those from 3.4.31 and 3.5.13 on do, with a gap
 * between check and revocation.  False for an older version.  True for a text
 * that is no version, because it may be a newer way to write one. */
bool hf_etcd_version_checks_leader(const char *version);

#endif
