/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks that the user runs where it wants (HF_RUNNER_DISPATCH): it polls a
 * descriptor, and calls a function when that is readable.
 */
#include "monitor/monitor_private.h"

#include "base/error.h"

int hf_monitor_dispatch_fd(const struct hf_monitor *m)
{
    return hf_fork_is_child(&m->fork) ? -1 : m->callback_queue.fd;
}

/* May the calling thread run callbacks now? */
static hf_status check_may_dispatch(const struct hf_monitor *m,
                                    struct hf_error *error)
{
    if (m->callback_queue.runner != HF_RUNNER_DISPATCH)
        return hf_error_set(error, HF_ESTATE,
                            "the callbacks of this client run elsewhere; "
                            "open it with HF_DELIVER_DISPATCH");
    if (hf_callback_inside())
        return hf_error_set(error, HF_EREENTRANT,
                            "it was called in a callback; those that wait "
                            "run when that has returned");
    return HF_OK;
}

hf_status hf_monitor_dispatch(struct hf_monitor *m, const char *api_name)
{
    struct hf_error error;
    hf_status status;

    if ((status = hf_monitor_enter(m, api_name)) != HF_OK)
        return status;
    if (check_may_dispatch(m, &error) != HF_OK) {
        hf_monitor_leave(m);
        return hf_fail(api_name, &error);
    }
    /* A callback may close the owner's handle. */
    hf_monitor_reference(m);
    hf_monitor_run_callbacks(m);
    hf_monitor_leave(m);
    hf_monitor_release(m);
    return HF_OK;
}
