/* SPDX-License-Identifier: Apache-2.0 */
#include "host/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/memory.h"
#include "core/utf8.h"
#include "host/client.h"

void hf_log_write(struct hf_client *client, enum hf_log_level level,
                  const char *format, ...)
{
    struct hf_log *log = &client->log;
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
    /* As error texts are. */
    hf_utf8_make_printable(line->text, wanted >= (int)sizeof(line->text));
}

void hf_log_unlock(struct hf_client *client)
{
    struct hf_log *log = &client->log;
    struct hf_log taken = *log;
    unsigned i;

    if (taken.count == 0 && taken.dropped == 0) {
        pthread_mutex_unlock(&client->lock);
        return;
    }
    /* The lines go with us: others may write while we tell. */
    log->lines = NULL;
    log->count = 0;
    log->dropped = 0;
    pthread_mutex_unlock(&client->lock);

    for (i = 0; i < taken.count; i++)
        taken.on_log.fn(taken.on_log.arg, taken.lines[i].level,
                        taken.lines[i].text);
    if (taken.dropped > 0) {
        char text[64];

        (void)snprintf(text, sizeof(text), "%u log lines were dropped",
                       taken.dropped);
        taken.on_log.fn(taken.on_log.arg, HF_LOG_WARNING, text);
    }
    hf_free(taken.lines);
}
