/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of a grant: one that becomes readable when the grant is lost,
 * and one that keeps its ticket alive and that a child process may inherit.
 */
#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "client/grant.h"
#include "client/grant_check.h"
#include "thread/high_descriptor.h"

/* ------------------------------------------------------------- its loss -- */

/* Put ${grant} into the client's list of grants with a loss descriptor.  A fork
 * closes all of them, also those of grants that the core does not have any
 * more. */
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
    /* EBADF: the program closes descriptors just now. */
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
    if (grant->lost)
        hf_grant_signal_loss_fd(grant);
    return HF_OK;
}

/* The descriptor is the same for each call, and the grant closes it. */
hf_status hf_grant_loss_fd(struct hf_grant *grant, int *fd)
{
    struct hf_error error;
    hf_status status = hf_monitor_enter(&grant->client->monitor);

    *fd = -1;
    if (status != HF_OK)
        return status;
    status = make_loss_fd(grant, &error);
    *fd = grant->loss_fd;
    hf_monitor_leave(&grant->client->monitor);
    if (status != HF_OK)
        hf_grant_fail(grant, "hf_grant_loss_fd", &error);
    return status;
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

hf_status hf_grant_hold_fd_of(struct hf_grant *grant,
                              const struct hf_lock *lock, int *fd)
{
    struct hf_client *client = grant->client;
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor);

    *fd = -1;
    if (status != HF_OK)
        return status;
    hf_monitor_run_ready(&client->monitor);
    status = get_hold_fd(grant, lock, fd, &error);
    hf_monitor_leave(&client->monitor);
    if (status != HF_OK)
        hf_grant_fail(grant, "hf_grant_hold_fd", &error);
    return status;
}

hf_status hf_grant_hold_fd(struct hf_grant *grant, int *fd)
{
    return hf_grant_hold_fd_of(grant, grant->lock, fd);
}
