/* SPDX-License-Identifier: Apache-2.0 */
/* The registrations of the storm: one for a handle, at /g/NAME.HANDLE, which
 * any handle of any process deletes now and then. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "zk_storm.h"

static const char *kind_name(enum hf_zookeeper_registration_event_kind kind)
{
    static const char *const names[] = {
        [HF_ZOOKEEPER_REGISTERED] = "registered",
        [HF_ZOOKEEPER_UNREGISTERED] = "unregistered",
        [HF_ZOOKEEPER_REGISTRATION_BLOCKED] = "blocked",
        [HF_ZOOKEEPER_REGISTRATION_FAILED] = "failed",
    };

    return names[kind];
}

static void
registration_event(void *arg, struct hf_zookeeper_registration *registration,
                   const struct hf_zookeeper_registration_event *event)
{
    const struct storm_handle *handle = arg;

    (void)registration;
    write_line("r %u %s %s %" PRId64 " %" PRId64, handle->number,
               kind_name(event->kind), hf_status_name(event->status),
               event->stat.czxid, event->stat.ephemeral_owner);
}

static void name_data(struct storm_handle *handle)
{
    (void)snprintf(handle->registered_data, DATA_BYTES, "%s.%u.g%u",
                   handle->name, handle->number, ++handle->next_registered);
}

void open_registration(struct storm_handle *handle)
{
    struct hf_zookeeper_registration_opts opts =
        HF_ZOOKEEPER_REGISTRATION_OPTS_INIT;

    if (!chance(&handle->random, 60))
        return;
    (void)snprintf(handle->registered_path, PATH_BYTES, "/g/%s.%u",
                   handle->name, handle->number);
    name_data(handle);
    opts.on_event =
        (struct hf_zookeeper_on_registration){registration_event, handle, NULL};
    if (hf_zookeeper_registration_open(
            handle->zookeeper, handle->registered_path, handle->registered_data,
            strlen(handle->registered_data), &opts,
            &handle->registration) != HF_OK)
        fail("a registration cannot be opened");
}

void use_registration(struct storm_handle *handle)
{
    if (handle->registration == NULL || !chance(&handle->random, 3))
        return;
    name_data(handle);
    if (hf_zookeeper_registration_set(handle->registration,
                                      handle->registered_data,
                                      strlen(handle->registered_data)) != HF_OK)
        fail("a registration does not take other data");
}

void check_registration(struct storm_handle *handle)
{
    struct hf_zookeeper_session session;
    hf_status status = HF_OK;
    bool has = handle->registration != NULL;

    if (has)
        status =
            hf_zookeeper_registration_wait(handle->registration, LAST_WAIT_MS);
    if (hf_zookeeper_session(handle->zookeeper, &session) != HF_OK)
        fail("a handle has no session");
    write_line("G %u %s %" PRId64 " %s %s", handle->number,
               hf_status_name(status), session.id,
               has ? handle->registered_path : "-",
               has ? handle->registered_data : "-");
}

void free_registration(struct storm_handle *handle, bool closes)
{
    struct hf_zookeeper_registration *registration = handle->registration;
    hf_status status;

    handle->registration = NULL;
    if (registration == NULL)
        return;
    if (closes) {
        status = hf_zookeeper_registration_close(registration, LAST_WAIT_MS);
        write_line("h %u %s %s", handle->number, hf_status_name(status),
                   handle->registered_path);
    } else {
        hf_zookeeper_registration_free(registration);
    }
}
