/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: a bounded list under the lock, and the calls of the user without
 * it.
 */
#include "monitor/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/secret.h"
#include "base/utf8.h"

void hf_log_init(struct hf_log *log, struct hf_on_log on_log, bool waits,
                 void (*queue)(void *arg), void *arg)
{
    *log = (struct hf_log){
        .on_log = on_log, .waits = waits, .queue = queue, .queue_arg = arg};
    log->end = &log->first;
}

void hf_log_set_origin(struct hf_log *log, const char *session,
                       const char *server)
{
    (void)snprintf(log->origin.session, sizeof(log->origin.session), "%s",
                   session);
    (void)snprintf(log->origin.server, sizeof(log->origin.server), "%s",
                   server);
    hf_utf8_make_printable(log->origin.server, false);
}

/* Append ${text}.  False if there is no room or no memory for it. */
static bool append(struct hf_log *log, enum hf_log_level level,
                   const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct hf_log_line *line;

    if (log->count == HF_LOG_LINES)
        return false;
    line = hf_alloc(sizeof(*line) + bytes);
    if (line == NULL)
        return false;
    line->next = NULL;
    line->level = level;
    memcpy(line->text, text, bytes);
    *log->end = line;
    log->end = &line->next;
    log->count++;
    return true;
}

void hf_log_write(struct hf_log *log, enum hf_log_level level,
                  const char *format, ...)
{
    char text[HF_LOG_BYTES];
    va_list args;
    int wanted;

    if (log->on_log.fn == NULL || level > log->on_log.level)
        return;
    va_start(args, format);
    wanted = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* Valid UTF-8 and printable, as the texts of errors are. */
    hf_utf8_make_printable(text, wanted >= (int)sizeof(text));
    hf_secret_hide(text);
    if (!append(log, level, text))
        log->lost++;
    if (log->waits)
        log->queue(log->queue_arg);
}

bool hf_log_take(struct hf_log *log, struct hf_log_lines *taken)
{
    if (log->count == 0 && log->lost == 0)
        return false;
    *taken = (struct hf_log_lines){log->origin, log->on_log, log->first,
                                   log->lost, log->waits};
    log->first = NULL;
    log->end = &log->first;
    log->count = 0;
    log->lost = 0;
    return true;
}

static void free_lines(struct hf_log_line *line)
{
    struct hf_log_line *next;

    for (; line != NULL; line = next) {
        next = line->next;
        hf_free(line);
    }
}

void hf_log_format_lost(unsigned lost, char text[HF_LOG_BYTES])
{
    (void)snprintf(text, HF_LOG_BYTES,
                   "%u log line%s lost, because there was no room", lost,
                   lost == 1 ? " was" : "s were");
}

/* The lines are the caller's alone by now. */
void hf_log_emit(struct hf_log_lines *taken)
{
    const struct hf_on_log *on_log = &taken->on_log;
    void *arg = taken->waits ? on_log->arg : &taken->origin;
    char text[HF_LOG_BYTES];

    for (const struct hf_log_line *line = taken->first; line != NULL;
         line = line->next)
        on_log->fn(arg, line->level, line->text);
    if (taken->lost > 0) {
        hf_log_format_lost(taken->lost, text);
        on_log->fn(arg, HF_LOG_WARNING, text);
    }
    free_lines(taken->first);
}

void hf_log_free(struct hf_log *log)
{
    free_lines(log->first);
}
