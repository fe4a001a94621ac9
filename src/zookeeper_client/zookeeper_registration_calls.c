/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls of a registration: opening, setting the data, waiting, and
 * freeing.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "operation/opts_compat.h"
#include "zookeeper_client/zookeeper_registration.h"

/* --------------------------------------------------------------- copies -- */

/* A copy of ${bytes} bytes of ${data}; not NULL even if ${bytes} is 0.  NULL:
 * no memory. */
static void *copy_data(const void *data, size_t bytes)
{
    void *copy = hf_alloc(bytes > 0 ? bytes : 1);

    if (copy != NULL && bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

/* Copy ${text} to ${*to}, and move ${*to} behind the copy.  Returns the
 * copy. */
static const char *put_text(char **to, const char *text)
{
    size_t bytes = strlen(text) + 1;
    const char *copy = *to;

    memcpy(*to, text, bytes);
    *to += bytes;
    return copy;
}

/* A copy of ${count} entries of an access list with their texts, in one block
 * of memory.  NULL: no memory. */
static struct hf_zookeeper_acl *copy_acls(const struct hf_zookeeper_acl *acls,
                                          size_t count)
{
    size_t bytes = count * sizeof *acls;
    struct hf_zookeeper_acl *copy;
    char *text;

    for (size_t i = 0; i < count; i++)
        bytes += strlen(acls[i].scheme) + strlen(acls[i].id) + 2;
    if ((copy = hf_alloc(bytes > 0 ? bytes : 1)) == NULL)
        return NULL;
    text = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        copy[i].permissions = acls[i].permissions;
        copy[i].scheme = put_text(&text, acls[i].scheme);
        copy[i].id = put_text(&text, acls[i].id);
    }
    return copy;
}

/* ----------------------------------------------------------------- open -- */

/* Can the node be created with these arguments? */
static hf_status check(const struct hf_zookeeper *zookeeper, const char *path,
                       const void *data, size_t bytes,
                       const struct hf_zookeeper_acl *acls, size_t acl_count,
                       struct hf_error *error)
{
    const struct hf_zookeeper_op create = {.kind = HF_ZOOKEEPER_CREATE,
                                           .mode = HF_ZOOKEEPER_EPHEMERAL,
                                           .path = path,
                                           .data = data,
                                           .bytes = bytes,
                                           .acls = acls,
                                           .acl_count = acl_count};

    if (hf_zookeeper_is_closing(zookeeper))
        return hf_monitor_explain_closed(zookeeper->monitor, "handle", error);
    return hf_zk_op_check(&create, &zookeeper->context, error);
}

/* Check that the handle has no registration of ${path}.  If a removal of the
 * path is under way, it is ended; servers carry out what it has sent before
 * what the new registration sends. */
static hf_status take_path(struct hf_zookeeper *zookeeper, const char *path,
                           struct hf_error *error)
{
    struct hf_zookeeper_registration *r = zookeeper->registrations;

    while (r != NULL && strcmp(r->path, path) != 0)
        r = r->next;
    if (r == NULL)
        return HF_OK;
    if (r->state != HF_REGISTRATION_REMOVING)
        return hf_error_set(error, HF_EEXISTS,
                            "%.200s is registered by this handle; expected one "
                            "registration for each path, free that one first",
                            path);
    hf_registration_removal_end(r, HF_ECANCELLED,
                                "the path was registered "
                                "again");
    return HF_OK;
}

/* Undo hf_registration_new(). */
static void abandon(struct hf_zookeeper_registration *r)
{
    hf_registration_removal_end(r, HF_ENOMEM, "");
}

/* Make the registration and begin its first step.  With the lock. */
static hf_status open_registration(
    struct hf_zookeeper *zookeeper, const char *path, const void *data,
    size_t bytes, const struct hf_zookeeper_registration_opts *opts,
    struct hf_zookeeper_registration **registration, struct hf_error *error)
{
    struct hf_zookeeper_registration *r;
    hf_status status;

    if ((status = check(zookeeper, path, data, bytes, opts->acls,
                        opts->acl_count, error)) != HF_OK ||
        (status = hf_monitor_ensure_poller(zookeeper->monitor, error)) !=
            HF_OK ||
        (status = take_path(zookeeper, path, error)) != HF_OK)
        return status;
    r = hf_registration_new(zookeeper, path);
    if (r == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if ((data != NULL && (r->data = copy_data(data, bytes)) == NULL) ||
        (opts->acls != NULL &&
         (r->acls = copy_acls(opts->acls, opts->acl_count)) == NULL)) {
        abandon(r);
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    }
    r->bytes = bytes;
    r->data_number = 1;
    r->acl_count = opts->acl_count;
    r->report.on_event = opts->on_event;
    r->report.user.drop =
        (struct hf_user_drop){opts->on_event.drop, opts->on_event.arg};
    *registration = r;
    hf_registration_resume(r);
    return HF_OK;
}

hf_status hf_zookeeper_registration_open(
    struct hf_zookeeper *zookeeper, const char *path, const void *data,
    size_t bytes, const struct hf_zookeeper_registration_opts *given,
    struct hf_zookeeper_registration **registration)
{
    struct hf_zookeeper_registration_opts opts;
    struct hf_error error;
    hf_status status = hf_opts_copy(&hf_zookeeper_registration_opts_type, given,
                                    &opts, &error);
    hf_status entered =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_registration_open");

    *registration = NULL;
    if (entered == HF_OK) {
        if (status == HF_OK)
            status = open_registration(zookeeper, path, data, bytes, &opts,
                                       registration, &error);
        if (status != HF_OK)
            (void)hf_fail("hf_zookeeper_registration_open", &error);
        hf_monitor_leave(zookeeper->monitor);
    } else {
        status = entered;
    }
    if (status != HF_OK && opts.on_event.drop != NULL)
        opts.on_event.drop(opts.on_event.arg);
    return status;
}

/* ------------------------------------------------------------------ set -- */

/* With the lock. */
static hf_status set_data(struct hf_zookeeper_registration *r, const void *data,
                          size_t bytes, struct hf_error *error)
{
    void *copy = NULL;
    hf_status status;

    if (r->state == HF_REGISTRATION_FAILED) {
        *error = r->why;
        return error->status;
    }
    status =
        check(r->zookeeper, r->path, data, bytes, r->acls, r->acl_count, error);
    if (status != HF_OK)
        return status;
    if (data != NULL && (copy = copy_data(data, bytes)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    hf_free(r->data);
    r->data = copy;
    r->bytes = bytes;
    r->data_number++;
    if (r->state == HF_REGISTRATION_REGISTERED) {
        hf_registration_move(r, HF_REGISTRATION_CHECKING);
        hf_registration_begin(r, HF_REGISTRATION_SET);
    }
    return HF_OK;
}

hf_status
hf_zookeeper_registration_set(struct hf_zookeeper_registration *registration,
                              const void *data, size_t bytes)
{
    struct hf_zookeeper *zookeeper = registration->zookeeper;
    struct hf_error error;
    hf_status status =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_registration_set");

    if (status != HF_OK)
        return status;
    status = set_data(registration, data, bytes, &error);
    if (status != HF_OK)
        (void)hf_fail("hf_zookeeper_registration_set", &error);
    hf_monitor_leave(zookeeper->monitor);
    return status;
}

/* ----------------------------------------------------------------- wait -- */

/* The .is_over of the wait: true if it ends at once, with ${why}. */
static bool is_over(const void *object, struct hf_error *why)
{
    const struct hf_zookeeper_registration *r = object;

    *why = (struct hf_error){.status = HF_OK};
    if (r->state == HF_REGISTRATION_CLOSED ||
        hf_zookeeper_is_closing(r->zookeeper)) {
        (void)hf_monitor_explain_closed(r->zookeeper->monitor, "handle", why);
        return true;
    }
    if (r->state == HF_REGISTRATION_FAILED) {
        *why = r->why;
        return true;
    }
    return r->registered_czxid != HF_REGISTRATION_NO_NODE &&
           r->written == r->data_number;
}

static struct hf_zookeeper_wait **list_of(void *object)
{
    struct hf_zookeeper_registration *r = object;

    return &r->waits;
}

static void time_out(const void *object, uint64_t wait_ms, struct hf_error *why)
{
    const struct hf_zookeeper_registration *r = object;
    const char *outage = hf_zookeeper_connection_error(r->zookeeper);
    const char *error = r->why.text[0] != '\0' ? r->why.text : outage;

    (void)hf_error_set(why, HF_ETIMEDOUT,
                       "%.200s was not registered within %llu ms%s%s", r->path,
                       (unsigned long long)wait_ms,
                       error[0] != '\0' ? ": " : "", error);
}

static const struct hf_zookeeper_wait_ops registered_ops = {
    .is_over = is_over,
    .list = list_of,
    .time_out = time_out,
};

hf_status
hf_zookeeper_registration_wait(struct hf_zookeeper_registration *registration,
                               uint64_t wait_ms)
{
    return hf_zookeeper_wait_run(registration->zookeeper, __func__,
                                 &registered_ops, registration, wait_ms);
}

hf_status hf_zookeeper_registration_wait_start(
    struct hf_zookeeper_registration *registration, uint64_t wait_ms,
    struct hf_done done)
{
    return hf_zookeeper_wait_start(registration->zookeeper, __func__,
                                   &registered_ops, registration, wait_ms,
                                   done);
}

/* ----------------------------------------------------------------- free -- */

/* The user does not use ${r} any more: report nothing, end its waits, and
 * delete the node.  ${wait} (NULL: none) waits for the delete.  With the
 * lock. */
static void end_use(struct hf_zookeeper_registration *r,
                    struct hf_zookeeper_wait *wait)
{
    static const struct hf_error freed = {.status = HF_ECANCELLED,
                                          .text = "the registration was freed"};

    hf_registration_discard_events(r);
    hf_zookeeper_waits_end(&r->waits, &freed);
    hf_registration_remove(r, wait);
}

/* Wait until a callback that runs on another thread has returned.  Then drop
 * the user's reference, leave the monitor and call .drop of the user. */
static void leave(struct hf_zookeeper_registration *r)
{
    struct hf_monitor *monitor = r->zookeeper->monitor;
    const struct hf_user_drop drop =
        hf_user_callback_await(&r->report.user, monitor);

    hf_registration_dereference(r);
    hf_monitor_leave(monitor);
    hf_user_drop_call(&drop);
    hf_monitor_release(monitor);
}

void hf_zookeeper_registration_free(
    struct hf_zookeeper_registration *registration)
{
    struct hf_monitor *monitor;

    if (registration == NULL)
        return;
    monitor = registration->zookeeper->monitor;
    if (hf_monitor_enter(monitor, NULL) != HF_OK)
        return;
    hf_monitor_reference(monitor);
    end_use(registration, NULL);
    leave(registration);
}

static void removal_time_out(const void *object, uint64_t wait_ms,
                             struct hf_error *why)
{
    const struct hf_zookeeper_registration *r = object;
    const char *outage = hf_zookeeper_connection_error(r->zookeeper);

    (void)hf_error_set(why, HF_ETIMEDOUT,
                       "the node of %.200s is not known to be gone within "
                       "%llu ms; its deletion goes on until the session "
                       "ends%s%.150s",
                       r->path, (unsigned long long)wait_ms,
                       outage[0] != '\0' ? "; there is no connection: " : "",
                       outage);
}

static const struct hf_zookeeper_wait_ops removal_ops = {.time_out =
                                                             removal_time_out};

/* End ${r} and wait until its node is deleted.  With the lock. */
static hf_status close_and_wait(struct hf_zookeeper_registration *r,
                                uint64_t wait_ms, struct hf_error *error)
{
    struct hf_zookeeper_wait wait = {.ops = &removal_ops, .object = r};
    hf_status status;

    hf_zookeeper_wait_begin(&wait, r->zookeeper, wait_ms);
    end_use(r, &wait);
    hf_zookeeper_connect_again(r->zookeeper);
    status = hf_zookeeper_wait_await(&wait, error);
    if (r->state == HF_REGISTRATION_REMOVING)
        hf_registration_removing(r)->wait = NULL; /* the removal goes on */
    return status;
}

hf_status
hf_zookeeper_registration_close(struct hf_zookeeper_registration *registration,
                                uint64_t wait_ms)
{
    static const char api_name[] = "hf_zookeeper_registration_close";
    struct hf_zookeeper *zookeeper;
    struct hf_monitor *monitor;
    struct hf_error error;
    hf_status status;

    if (registration == NULL)
        return HF_OK;
    zookeeper = registration->zookeeper;
    monitor = zookeeper->monitor;
    if (hf_monitor_may_block(monitor, &error) != HF_OK)
        return hf_fail(api_name, &error);
    if ((status = hf_monitor_enter(monitor, api_name)) != HF_OK)
        return status;
    hf_monitor_reference(monitor);
    status = close_and_wait(registration, wait_ms, &error);
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    leave(registration);
    return status;
}
