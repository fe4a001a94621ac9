/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/words.h"
#include "core/utf8.h"

#define HF_LINE_BYTES 1024
#define HF_COLUMNS_DEFAULT 80

/* Back to the first column and clear to the end of the line. */
#define HF_CLEAR "\r\033[K"

/* The one process-wide thing of the front: its terminal has one cursor. */
static bool line_is_shown;

static void put(const char *text, size_t bytes)
{
    ssize_t written;

    do
        written = write(STDERR_FILENO, text, bytes);
    while (written < 0 && errno == EINTR);
    /* There is nobody to tell that nobody can be told. */
}

/* Cut ${text} to ${columns}, counting a character of UTF-8 as one. */
static void cut(char *text, unsigned columns)
{
    unsigned used = 0;

    for (; *text; text++) {
        if ((*text & 0xc0) != 0x80 && used++ == columns) {
            *text = '\0';
            return;
        }
    }
}

static unsigned terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return HF_COLUMNS_DEFAULT;
    return size.ws_col;
}

void hf_say(const char *format, ...)
{
    static const char head[] = "holdfast: ";
    char line[HF_LINE_BYTES];
    char *text = line + sizeof head - 1;
    va_list arguments;
    size_t length;

    hf_say_no_more_waiting();
    memcpy(line, head, sizeof head);
    va_start(arguments, format);
    vsnprintf(text, sizeof line - sizeof head, format, arguments);
    va_end(arguments);
    hf_utf8_make_printable(text, false);
    length = strlen(line);
    line[length++] = '\n';
    put(line, length);
}

bool hf_say_shows_wait(enum hf_verbosity verbosity)
{
    return verbosity != HF_QUIET && isatty(STDERR_FILENO) == 1;
}

static bool in_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void hf_say_waiting(const char *name, uint32_t ahead, uint64_t waited_ms,
                    const char *holder)
{
    char waited[HF_WORDS_DURATION_BYTES];
    char owner[HF_WORDS_BYTES];
    char line[HF_LINE_BYTES];

    if (!in_foreground())
        return;
    hf_words_duration(waited_ms, waited);
    hf_words_owner(holder, owner);
    snprintf(line, sizeof line,
             "holdfast: waiting for '%.200s' (%s, %" PRIu32 " ahead)%s%.700s",
             name, waited, ahead, *owner ? ", held by " : "", owner);
    hf_utf8_make_printable(line, false);
    cut(line, terminal_columns() - 1);
    put(HF_CLEAR, strlen(HF_CLEAR));
    put(line, strlen(line));
    line_is_shown = true;
}

void hf_say_no_more_waiting(void)
{
    if (line_is_shown && in_foreground())
        put(HF_CLEAR, strlen(HF_CLEAR));
    line_is_shown = false;
}
