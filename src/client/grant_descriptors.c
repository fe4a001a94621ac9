/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program uses of a grant instead of asking whether it is still ours: a
 * descriptor that becomes readable when the grant is lost, one that keeps its
 * ticket alive and that a child process may inherit, and the path of its
 * ticket.
 */
#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "client/grant.h"
#include "thread/high_descriptor.h"

/* ------------------------------------------------------------- its loss -- */

/* Put ${grant} into the client's list of grants with a loss descriptor.  By
 * this list the child of a fork closes them all, also that of a grant that the
 * core has forgotten. */
static void keep_loss_fd(struct hf_grant *grant, int fd)
{
    struct hf_grant **first = &grant->client->loss_fds;

    grant->loss_fd = fd;
    grant->next_loss_fd = *first;
    grant->loss_fd_link = first;
    if (*first != NULL)
        (*first)->loss_fd_link = &grant->next_loss_fd;
    *first = grant;
}

/* Close it and take the grant out of the client's list.  With the lock. */
void hf_grant_close_loss_fd(struct hf_grant *grant)
{
    if (grant->loss_fd < 0)
        return;
    *grant->loss_fd_link = grant->next_loss_fd;
    if (grant->next_loss_fd != NULL)
        grant->next_loss_fd->loss_fd_link = grant->loss_fd_link;
    close(grant->loss_fd);
}

void hf_grant_after_fork(struct hf_client *client)
{
    const struct hf_grant *grant;

    for (grant = client->loss_fds; grant != NULL; grant = grant->next_loss_fd)
        close(grant->loss_fd);
}

void hf_grant_forget_loss_fds(struct hf_client *client)
{
    struct hf_grant *grant;

    for (grant = client->loss_fds; grant != NULL; grant = grant->next_loss_fd)
        grant->loss_fd = -1;
    client->loss_fds = NULL;
}

void hf_grant_signal_loss_fd(const struct hf_grant *grant)
{
    uint64_t one = 1;
    ssize_t rc;

    if (grant->loss_fd < 0)
        return;
    rc = write(grant->loss_fd, &one, sizeof(one));
    /* EBADF: the program is just closing all descriptors. */
    assert(rc == sizeof(one) || errno == EAGAIN || errno == EBADF);
}

/* Make the loss descriptor, unless it is there, and a poller that notices the
 * loss.  With the lock. */
static hf_status make_loss_fd(struct hf_grant *grant, struct hf_error *error)
{
    hf_status status;
    int fd;

    if (grant->loss_fd >= 0)
        return HF_OK;
    if ((status = hf_monitor_ensure_poller(&grant->client->monitor, error)) !=
        HF_OK)
        return status;
    fd = hf_high_descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor is left to show a loss; raise the "
                            "limit on open files");
    keep_loss_fd(grant, fd);
    if (grant->lost_lock != NULL)
        hf_grant_signal_loss_fd(grant);
    return HF_OK;
}

/* The descriptor is the same for each call, and the grant closes it. */
hf_status hf_grant_loss_fd(struct hf_grant *grant, int *fd)
{
    struct hf_error error;
    hf_status status =
        hf_monitor_enter(&grant->client->monitor, "hf_grant_loss_fd");

    *fd = -1;
    if (status != HF_OK)
        return status;
    status = make_loss_fd(grant, &error);
    *fd = grant->loss_fd;
    hf_monitor_leave(&grant->client->monitor);
    return status == HF_OK ? HF_OK : hf_fail("hf_grant_loss_fd", &error);
}

/* ----------------------------------------------------------- its ticket -- */

/* Set ${fd} to a descriptor that keeps the ticket for ${lock} alive, if the
 * engine has such.  With the lock. */
static hf_status get_hold_fd(struct hf_grant *grant, const struct hf_lock *lock,
                             int *fd, struct hf_error *error)
{
    const struct hf_acquisition *a = hf_grant_items_find(grant, lock);
    struct hf_client *client = grant->client;
    hf_status status;

    if (a == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the grant is not of \"%.120s\"; pass a lock that "
                            "was acquired with it",
                            lock->name);
    if (!hf_grant_is_valid(grant))
        return hf_grant_explain_loss(grant, error);
    if (client->ops->hold == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "tickets of this engine belong to a session, and "
                            "no descriptor keeps them; only the file engine "
                            "has such");
    status = client->ops->hold(client->engine, &a->ticket_id, fd);
    if (status != HF_OK)
        hf_error_set(error, status, "%s", hf_status_text(status));
    return status;
}

static hf_status hold_fd(struct hf_grant *grant, const char *api_name,
                         const struct hf_lock *lock, int *fd)
{
    struct hf_client *client = grant->client;
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor, api_name);

    *fd = -1;
    if (status != HF_OK)
        return status;
    hf_monitor_run_ready(&client->monitor);
    status = get_hold_fd(grant, lock, fd, &error);
    hf_monitor_leave(&client->monitor);
    return status == HF_OK ? HF_OK : hf_fail(api_name, &error);
}

hf_status hf_grant_hold_fd_of(struct hf_grant *grant,
                              const struct hf_lock *lock, int *fd)
{
    return hold_fd(grant, "hf_grant_hold_fd_of", lock, fd);
}

hf_status hf_grant_hold_fd(struct hf_grant *grant, int *fd)
{
    return hold_fd(grant, "hf_grant_hold_fd", grant->lock, fd);
}

/* The path, or NULL: the ticket is being downgraded; or the engine does not
 * know it, because the grant is about to be reported as lost or its last
 * downgrade got no answer. */
static const char *ask_ticket_path(struct hf_grant *grant,
                                   const struct hf_lock *lock)
{
    struct hf_client *client = grant->client;

    return grant->downgrade != NULL
               ? NULL
               : client->ops->ticket_path(client->engine,
                                          hf_grant_ticket_id(grant, lock));
}

const char *hf_grant_ticket_path(struct hf_grant *grant,
                                 const struct hf_lock *lock,
                                 struct hf_error *error)
{
    struct hf_client *client = grant->client;
    const char *path = NULL;

    hf_monitor_run_ready(&client->monitor);
    if (client->ops->ticket_path == NULL)
        (void)hf_error_set(error, HF_EUNSUPPORTED,
                           "the grant is one of %.200s, and its ticket is no "
                           "node of ZooKeeper; expected a client with a URL "
                           "zk:// or zks://",
                           client->description);
    else if (!hf_grant_is_valid(grant))
        (void)hf_grant_explain_loss(grant, error);
    else if ((path = ask_ticket_path(grant, lock)) == NULL)
        (void)hf_error_set(error, HF_ESTATE,
                           "the ticket is being downgraded, or its loss is "
                           "about to be reported; wait for the end of that");
    return path;
}
