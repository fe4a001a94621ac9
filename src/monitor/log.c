/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: a buffer under the lock, and the calls of the user without it.
 */
#include "monitor/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/memory.h"
#include "core/secret.h"
#include "core/utf8.h"

void hf_log_write(struct hf_log *log, enum hf_log_level level,
                  const char *format, ...)
{
    struct hf_log_line *line;
    va_list args;
    int wanted;

    if (log->on_log.fn == NULL || level > log->on_log.level)
        return;
    if (log->lines == NULL)
        log->lines = hf_alloc(HF_LOG_LINES * sizeof(*log->lines));
    if (log->lines == NULL || log->count == HF_LOG_LINES) {
        log->dropped++;
        return;
    }
    line = &log->lines[log->count++];
    line->level = level;
    va_start(args, format);
    wanted = vsnprintf(line->text, sizeof(line->text), format, args);
    va_end(args);
    /* Valid UTF-8 and printable, as the texts of errors are. */
    hf_utf8_make_printable(line->text, wanted >= (int)sizeof(line->text));
    hf_secret_hide(line->text);
}

bool hf_log_take(struct hf_log *log, struct hf_log *taken)
{
    if (log->count == 0 && log->dropped == 0)
        return false;
    *taken = *log;
    log->lines = NULL;
    log->count = 0;
    log->dropped = 0;
    return true;
}

/* The lines are the caller's alone by now. */
void hf_log_emit(struct hf_log *taken)
{
    char text[64];

    for (unsigned i = 0; i < taken->count; i++)
        taken->on_log.fn(taken->on_log.arg, taken->lines[i].level,
                         taken->lines[i].text);
    if (taken->dropped > 0) {
        (void)snprintf(text, sizeof(text), "%u log lines were dropped",
                       taken->dropped);
        taken->on_log.fn(taken->on_log.arg, HF_LOG_WARNING, text);
    }
    hf_free(taken->lines);
}

void hf_log_free(struct hf_log *log)
{
    hf_free(log->lines);
}
