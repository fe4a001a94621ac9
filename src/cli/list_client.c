/* SPDX-License-Identifier: Apache-2.0 */
/* See list_client.h. */
#include "cli/list_client.h"

#include "client/client.h"
#include "command/ui.h"
#include "monitor/log_default.h"

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    (void)arg;
    hf_ui_log(level, "%s", line);
}

void hf_list_client_set_log(struct hf_client_opts *opts,
                            enum hf_log_level level)
{
    if (!hf_log_is_chosen())
        opts->on_log.fn = on_log;
    opts->on_log.level = level;
}

hf_status hf_list_client_open(const char *url, uint64_t wait_ms,
                              enum hf_log_level level,
                              struct hf_client **client)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.connect_ms = wait_ms;
    hf_list_client_set_log(&opts, level);
    return hf_client_open_list_only(url, &opts, client);
}
