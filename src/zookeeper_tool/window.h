/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that are under way at the same time, at most 256.
 *
 * The servers carry out the operations of a session in the order in which they
 * were started, so a command need not wait for one before it starts the next:
 * a round trip is paid once for a window and not for each node.
 */
#ifndef HF_ZOOKEEPER_TOOL_WINDOW_H
#define HF_ZOOKEEPER_TOOL_WINDOW_H

#include "zookeeper_tool/tool.h"

/* Notified of each result of a window; ${tag} is that of the operation. */
typedef void hf_tool_on_result(void *arg, size_t tag,
                               const struct hf_zookeeper_result *result);

struct hf_tool_window {
    struct hf_tool *tool;
    hf_tool_on_result *on_result;
    void *arg;
    size_t pending;        /* operations that have not ended */
    hf_status ignored;     /* a status that is no failure here; HF_OK: none */
    struct hf_error error; /* of the first operation that failed */
};

/* Make ${window} empty.  ${on_result} may be NULL. */
void hf_tool_window_init(struct hf_tool_window *window, struct hf_tool *tool,
                         hf_status ignored, hf_tool_on_result *on_result,
                         void *arg);

/* Wait until there is room, and start ${op}.  Fails, with ${window}->error, if
 * an operation of it has failed; ${op} is then not started. */
hf_status hf_tool_window_start(struct hf_tool_window *window,
                               const struct hf_zookeeper_op *op, size_t tag);

/* Wait until all have ended.  To be called before ${window} ends.  Returns
 * ${window}->error.status. */
hf_status hf_tool_window_finish(struct hf_tool_window *window);

#endif
