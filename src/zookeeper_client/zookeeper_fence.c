/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fencing within ZooKeeper: a check, for a multi of the user, that the ticket
 * of a grant still exists.
 *
 * A fencing token protects a store that compares tokens.  If the data are in
 * the same ensemble as the lock, the servers can check the ticket itself: its
 * node has a unique name and is deleted with its session, and while it exists
 * no conflicting ticket is admitted.
 */
#include <string.h>

#include "base/error.h"
#include "client/grant.h"
#include "zookeeper_client/zookeeper_handle.h"

/* ${path} without the chroot of ${zookeeper}; NULL: ${path} is not below that
 * chroot. */
static const char *below(const struct hf_zookeeper *zookeeper, const char *path)
{
    size_t bytes = strlen(zookeeper->context.chroot);

    return strncmp(path, zookeeper->context.chroot, bytes) == 0 &&
                   path[bytes] == '/'
               ? path + bytes
               : NULL;
}

/* The path of the ticket of ${grant}, valid as long as the grant; NULL, and why
 * in ${error}, if there is none.  With the lock of the client of ${grant}. */
static const char *ticket_path(const struct hf_zookeeper *zookeeper,
                               struct hf_grant *grant, struct hf_error *error)
{
    const char *path = hf_grant_ticket_path(grant, grant->lock, error);
    const char *known;

    if (path == NULL)
        return NULL;
    if ((known = below(zookeeper, path)) == NULL) {
        (void)hf_error_set(error, HF_EINVAL,
                           "the ticket %.200s is not below %.120s; expected a "
                           "handle that was opened with the path of the "
                           "client of the grant, or with one above it",
                           path, zookeeper->context.chroot);
        return NULL;
    }
    if ((known = hf_grant_keep_text(grant, known)) == NULL)
        (void)hf_error_set(error, HF_ENOMEM, "out of memory");
    return known;
}

hf_status hf_zookeeper_op_check_grant(struct hf_zookeeper *zookeeper,
                                      struct hf_grant *grant,
                                      struct hf_zookeeper_op *op)
{
    struct hf_monitor *monitor = &grant->client->monitor;
    hf_status status = hf_monitor_enter(monitor, "hf_zookeeper_op_check_grant");
    struct hf_error error = {.status = HF_OK};

    *op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CHECK,
                                   .version = HF_ZOOKEEPER_ANY_VERSION};
    if (status != HF_OK)
        return status;
    op->path = ticket_path(zookeeper, grant, &error);
    hf_monitor_leave(monitor);
    if (error.status != HF_OK)
        return hf_fail("hf_zookeeper_op_check_grant", &error);
    return HF_OK;
}
