/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that the supervisor sends to the launcher: those to print, because the
 * launcher has the terminal, and those for a service manager.
 */
#include "cli/supervisor.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/ipc.h"

void hf_supervisor_offer_line(struct hf_supervisor *supervisor,
                              enum hf_log_level level, const char *line)
{
    struct hf_ipc_message message = {.kind = HF_IPC_TEXT};

    snprintf(message.as.text.line, sizeof message.as.text.line, "%s", line);
    message.as.text.level = level;
    message.as.text.lost = supervisor->lines_lost;
    if (hf_ipc_send_droppable(supervisor->run->supervisor_end, &message))
        supervisor->lines_lost = 0;
    else
        supervisor->lines_lost++;
}

void hf_supervisor_print(struct hf_supervisor *supervisor,
                         enum hf_verbosity at_least, const char *format, ...)
{
    char line[HF_ERROR_TEXT_BYTES];
    va_list arguments;

    if (supervisor->run->options->verbosity < at_least)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    hf_supervisor_offer_line(
        supervisor, at_least == HF_QUIET ? HF_LOG_WARNING : HF_LOG_INFO, line);
}

void hf_supervisor_set_status(struct hf_supervisor *supervisor,
                              const char *line)
{
    struct hf_ipc_message message = {.kind = HF_IPC_STATUS};

    (void)snprintf(message.as.text.line, sizeof message.as.text.line, "%s",
                   line);
    (void)hf_ipc_send_droppable(supervisor->run->supervisor_end, &message);
}
