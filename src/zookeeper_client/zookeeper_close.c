/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that close a handle: its session with it, or a handle on the
 * session of a client of locks alone.
 */
#include "base/error.h"
#include "zookeeper_client/zookeeper_shared.h"

hf_status hf_zookeeper_close(struct hf_zookeeper *zookeeper)
{
    struct hf_error error;

    if (zookeeper == NULL)
        return HF_OK;
    if (hf_monitor_may_block(zookeeper->monitor, &error) != HF_OK &&
        !hf_zookeeper_shared_is_over(zookeeper))
        return hf_zookeeper_fail_unlocked(zookeeper, "hf_zookeeper_close",
                                          &error);
    return zookeeper->shared.client != NULL
               ? hf_zookeeper_shared_close(zookeeper)
               : hf_monitor_close(zookeeper->monitor);
}

/* A poller has to run the last callback, because no caller waits for the end.
 * Those of a client that is being closed end with it. */
static hf_status may_close_start(struct hf_zookeeper *zookeeper,
                                 struct hf_error *error)
{
    if (zookeeper->shared.client != NULL && zookeeper->monitor->closing)
        return hf_error_set(error, HF_ECLOSED,
                            "the client of the session was closed, and calls "
                            "nothing back any more; expected "
                            "hf_zookeeper_close(), which need not wait for "
                            "servers now");
    return hf_monitor_ensure_poller(zookeeper->monitor, error);
}

hf_status hf_zookeeper_close_start(struct hf_zookeeper *zookeeper,
                                   struct hf_done done)
{
    hf_status status = hf_monitor_enter(zookeeper->monitor);
    struct hf_error error;

    if (status == HF_OK &&
        (status = may_close_start(zookeeper, &error)) != HF_OK) {
        (void)hf_zookeeper_fail(zookeeper, "hf_zookeeper_close_start", &error);
        hf_monitor_leave(zookeeper->monitor);
    }
    if (status != HF_OK) {
        if (done.drop != NULL)
            done.drop(done.arg);
        return status;
    }
    zookeeper->close_done = done;
    if (zookeeper->shared.client != NULL)
        hf_zookeeper_shared_close_start(zookeeper);
    else
        hf_monitor_close_start(zookeeper->monitor);
    return HF_OK;
}
