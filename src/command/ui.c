/* SPDX-License-Identifier: Apache-2.0 */
/* See ui.h. */
#include "command/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/url.h"
#include "base/utf8.h"
#include "command/clock.h"
#include "command/format.h"
#include "monitor/log_default.h"
#include "monitor/nonblocking_write.h"

#define HF_LINE_BYTES 1024
#define HF_COLUMNS_DEFAULT 80

/* How long the last lines of a process that guarded a lock may wait, all
 * together. */
#define HF_LAST_LINES_MS 1000

/* After what time, and how often, a command shows its progress. */
#define HF_PROGRESS_AFTER_MS 1000
#define HF_PROGRESS_EVERY_MS 250

/* Back to the first column, clear to the end of the line. */
#define HF_CLEAR "\r\033[K"

/* Is there a redrawn line on the terminal?  A global variable, because a
 * terminal has one cursor. */
static bool wait_is_shown;

/* How long a line may wait until it can be written, in milliseconds; -1:
 * without limit. */
static int may_wait_ms = -1;

/* Number of lines that were lost and not mentioned yet. */
static unsigned lost_lines;

/* Write all of ${text}, however long that takes. */
static bool write_waiting(const char *text, size_t bytes)
{
    ssize_t written;

    do
        written = write(STDERR_FILENO, text, bytes);
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)bytes;
}

/* Write ${text}, but wait for room no longer than may_wait_ms.  Returns false
 * if it was not written. */
static bool write_stderr(const char *text, size_t bytes)
{
    struct pollfd polled = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (may_wait_ms < 0)
        return write_waiting(text, bytes);
    if (hf_write_nonblocking(STDERR_FILENO, text, bytes))
        return true;
    if (may_wait_ms == 0 || poll(&polled, 1, may_wait_ms) == 1)
        return may_wait_ms > 0 &&
               hf_write_nonblocking(STDERR_FILENO, text, bytes);
    may_wait_ms = 0; /* the time is used up */
    return false;
}

/* Write ${text} as a line of the log, in the form that the user has chosen. */
static bool write_line(enum hf_log_level level, const char *text)
{
    static const struct hf_log_origin nowhere; /* only the library's lines
                                                  have an origin */
    char line[(size_t)2 * HF_LINE_BYTES + HF_LOG_JSON_BYTES];
    size_t bytes;

    if (hf_log_is_json())
        bytes = hf_log_format_json(line, sizeof line, level, &nowhere, text);
    else
        bytes = (size_t)snprintf(line, sizeof line, "holdfast: %s\n", text);
    return write_stderr(line, bytes);
}

/* Print how many lines were lost, if any were and there is room. */
static void mention_lost(void)
{
    char text[HF_LINE_BYTES];

    if (lost_lines == 0)
        return;
    (void)snprintf(
        text, sizeof text,
        "%u line%s lost, because nobody read what was written before",
        lost_lines, lost_lines == 1 ? " was" : "s were");
    if (write_line(HF_LOG_WARNING, text))
        lost_lines = 0;
}

void hf_ui_begin_guarding(void)
{
    may_wait_ms = 0;
}

void hf_ui_end_guarding(void)
{
    may_wait_ms = HF_LAST_LINES_MS;
    mention_lost();
}

void hf_ui_count_lost(unsigned count)
{
    lost_lines += count;
}

/* As gnulib's stdopen: each descriptor is opened for the direction in which it
 * is not used, so that using it still fails. */
bool hf_ui_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int access = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", access | O_CLOEXEC) != fd)
            return false;
    }
    return true;
}

/* Cut ${text} to ${columns}, counting a UTF-8 character as one column. */
static void truncate_columns(char *text, unsigned columns)
{
    unsigned used = 0;

    for (; *text; text++) {
        if ((*text & 0xc0) != 0x80 && used++ == columns) {
            *text = '\0';
            return;
        }
    }
}

/* Return the width of the terminal. */
static unsigned terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
        return HF_COLUMNS_DEFAULT;
    return size.ws_col;
}

static void print_line(enum hf_log_level level, const char *format,
                       va_list arguments)
{
    char text[HF_LINE_BYTES];

    hf_ui_clear_wait();
    (void)vsnprintf(text, sizeof text, format, arguments);
    hf_utf8_make_printable(text, false);
    hf_secret_hide(text);
    mention_lost();
    if (lost_lines > 0 || !write_line(level, text))
        lost_lines++;
}

void hf_ui_print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(HF_LOG_ERROR, format, arguments);
    va_end(arguments);
}

void hf_ui_log(enum hf_log_level level, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(level, format, arguments);
    va_end(arguments);
}

void hf_ui_print_error(const struct hf_error *error)
{
    char text[HF_ERROR_TEXT_BYTES + HF_FORMAT_BYTES];

    hf_format_error(error->text, hf_clock_now_ms(), text, sizeof text);
    hf_ui_print("%s", text);
}

bool hf_ui_shows_wait(enum hf_verbosity verbosity)
{
    return verbosity != HF_QUIET && isatty(STDERR_FILENO) == 1 &&
           !hf_log_is_json();
}

/* Is this job in the foreground?  A background job must not redraw the line. */
static bool in_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Write the text about the wait to ${line}, without "holdfast: ". */
static void format_wait(const struct hf_ui_wait *wait, char line[HF_LINE_BYTES])
{
    char waited[HF_DURATION_BYTES];
    char owner[HF_FORMAT_BYTES];

    hf_duration_format(wait->waited_ms, waited);
    hf_format_holder(wait->holder, hf_clock_now_ms(), owner);
    (void)snprintf(
        line, HF_LINE_BYTES,
        "waiting for '%.200s'%s%.200s%s (%s, %" PRIu32 " ahead)%s%.600s",
        wait->name, wait->among != NULL ? " of '" : "",
        wait->among != NULL ? wait->among : "", wait->among != NULL ? "'" : "",
        waited, wait->ahead, *owner ? ", held by " : "", owner);
}

/* Redraw the line, if this job is in the foreground. */
static void redraw(const char *text)
{
    char bytes[sizeof HF_CLEAR + HF_LINE_BYTES + sizeof "holdfast: "] =
        HF_CLEAR;
    char *line = bytes + strlen(HF_CLEAR);

    if (!in_foreground())
        return;
    (void)snprintf(line, HF_LINE_BYTES + sizeof "holdfast: ", "holdfast: %s",
                   text);
    hf_utf8_make_printable(line, false);
    hf_secret_hide(line);
    truncate_columns(line, terminal_columns() - 1);
    (void)write_stderr(bytes, strlen(bytes));
    wait_is_shown = true;
}

void hf_ui_show_wait(const struct hf_ui_wait *wait)
{
    char text[HF_LINE_BYTES];

    format_wait(wait, text);
    redraw(text);
}

void hf_ui_show_progress(const char *format, ...)
{
    char text[HF_LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    redraw(text);
}

void hf_ui_print_wait(const struct hf_ui_wait *wait)
{
    char text[HF_LINE_BYTES];

    format_wait(wait, text);
    hf_ui_log(HF_LOG_INFO, "%s", text);
}

void hf_ui_clear_wait(void)
{
    if (wait_is_shown && in_foreground())
        (void)write_stderr(HF_CLEAR, strlen(HF_CLEAR));
    wait_is_shown = false;
}

void hf_progress_begin(struct hf_progress *progress)
{
    *progress = (struct hf_progress){.started_ms = hf_clock_now_ms()};
}

bool hf_progress_is_due(struct hf_progress *progress)
{
    uint64_t now_ms = hf_clock_now_ms();

    if (now_ms - progress->started_ms < HF_PROGRESS_AFTER_MS ||
        now_ms - progress->shown_ms < HF_PROGRESS_EVERY_MS ||
        !hf_ui_shows_wait(HF_NORMAL))
        return false;
    progress->shown_ms = now_ms;
    return true;
}
