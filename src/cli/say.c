/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/clock.h"
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

void hf_say_error(const struct hf_error *error)
{
    char text[HF_ERROR_TEXT_BYTES + HF_WORDS_BYTES];

    hf_words_message(error->text, hf_clock_now_ms(), text, sizeof text);
    hf_say("%s", text);
}

bool hf_say_shows_wait(enum hf_verbosity verbosity)
{
    return verbosity != HF_QUIET && isatty(STDERR_FILENO) == 1;
}

static bool in_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* All but the "holdfast: ". */
static void describe(const struct hf_say_wait *wait, char line[HF_LINE_BYTES])
{
    char waited[HF_WORDS_DURATION_BYTES];
    char owner[HF_WORDS_BYTES];

    hf_words_duration(wait->waited_ms, waited);
    hf_words_holder(wait->holder, hf_clock_now_ms(), owner);
    (void)snprintf(line, HF_LINE_BYTES,
                   "waiting for '%.200s' (%s, %" PRIu32 " ahead)%s%.700s",
                   wait->name, waited, wait->ahead, *owner ? ", held by " : "",
                   owner);
}

void hf_say_waiting(const struct hf_say_wait *wait)
{
    char text[HF_LINE_BYTES], line[HF_LINE_BYTES + sizeof "holdfast: "];

    if (!in_foreground())
        return;
    describe(wait, text);
    (void)snprintf(line, sizeof line, "holdfast: %s", text);
    hf_utf8_make_printable(line, false);
    cut(line, terminal_columns() - 1);
    put(HF_CLEAR, strlen(HF_CLEAR));
    put(line, strlen(line));
    line_is_shown = true;
}

void hf_say_still_waiting(const struct hf_say_wait *wait)
{
    char text[HF_LINE_BYTES];

    describe(wait, text);
    hf_say("%s", text);
}

void hf_say_no_more_waiting(void)
{
    if (line_is_shown && in_foreground())
        put(HF_CLEAR, strlen(HF_CLEAR));
    line_is_shown = false;
}
