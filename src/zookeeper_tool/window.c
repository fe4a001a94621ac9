/* SPDX-License-Identifier: Apache-2.0 */
/* See window.h. */
#include "zookeeper_tool/window.h"

#include "base/error.h"
#include "base/memory.h"

#define PENDING_MAX 256

/* An operation under way. */
struct call {
    struct hf_tool_window *window;
    size_t tag;
};

void hf_tool_window_init(struct hf_tool_window *window, struct hf_tool *tool,
                         hf_status ignored, hf_tool_on_result *on_result,
                         void *arg)
{
    *window = (struct hf_tool_window){
        .tool = tool, .ignored = ignored, .on_result = on_result, .arg = arg};
}

/* Remember the first failure. */
static void set_failure(struct hf_tool_window *window, hf_status status,
                        const char *text)
{
    if (window->error.status == HF_OK)
        (void)hf_error_set(&window->error, status, "%s", text);
}

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    const struct call *call = arg;
    struct hf_tool_window *window = call->window;

    window->pending--;
    if (result->status != HF_OK && result->status != window->ignored)
        set_failure(window, result->status, result->text);
    if (window->on_result != NULL)
        window->on_result(window->arg, call->tag, result);
}

hf_status hf_tool_window_start(struct hf_tool_window *window,
                               const struct hf_zookeeper_op *op, size_t tag)
{
    struct call *call;
    hf_status status;

    while (window->pending >= PENDING_MAX)
        (void)hf_tool_dispatch(window->tool, -1);
    if (window->error.status != HF_OK)
        return window->error.status;
    call = hf_alloc(sizeof *call);
    if (call == NULL) {
        set_failure(window, HF_ENOMEM, "no memory is left");
        return HF_ENOMEM;
    }
    *call = (struct call){window, tag};
    window->pending++;
    status = hf_zookeeper_start(
        window->tool->zookeeper, op, hf_tool_wait(window->tool),
        (struct hf_zookeeper_done){on_done, call, hf_free}, NULL);
    if (status != HF_OK) {
        struct hf_error error;

        window->pending--;
        hf_tool_error(&error);
        set_failure(window, status, error.text);
    }
    return status;
}

hf_status hf_tool_window_finish(struct hf_tool_window *window)
{
    while (window->pending > 0)
        (void)hf_tool_dispatch(window->tool, -1);
    return window->error.status;
}
