/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/server_version.h"

#include <stdio.h>

bool hf_etcd_version_checks_leader(const char *version)
{
    unsigned major, minor, patch;

    if (sscanf(version, "%3u.%3u.%5u", &major, &minor, &patch) != 3)
        return true;
    if (major != 3)
        return major > 3;
    switch (minor) {
    case 4:
        return patch >= 31;
    case 5:
        return patch >= 13;
    default:
        return minor > 5;
    }
}
