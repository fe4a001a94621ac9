/* SPDX-License-Identifier: Apache-2.0 */
/* What can be concluded from the version of a server. */
#ifndef HF_ETCD_SERVER_VERSION_H
#define HF_ETCD_SERVER_VERSION_H

#include <stdbool.h>

/* Does a server of ${version}, such as "3.4.23", check that it is still the
 * leader before it has leases revoked?  Servers from 3.4.31 and 3.5.13 on do,
 * although time may pass between check and revocation.  Returns false for older
 * versions.  Returns true for a text that is no version, because newer servers
 * may write their version in another way. */
bool hf_etcd_version_checks_leader(const char *version);

#endif
