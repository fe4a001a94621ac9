/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holdfast prints on stderr: lines for the user, or lines of JSON if
 * HOLDFAST_LOG asks for that.  On a terminal there is also one line about the
 * wait, which is redrawn in place.  Text of others (the payload of a ticket)
 * cannot control the terminal.
 */
#ifndef HF_COMMAND_UI_H
#define HF_COMMAND_UI_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/client.h>

/* How much the user wants to read: -q, no option, -v. */
enum hf_verbosity { HF_QUIET, HF_NORMAL, HF_VERBOSE };

/* Open those of the descriptors 0, 1 and 2 that are closed.  Must be the first
 * call in main(): otherwise a descriptor of ours would get such a number, and
 * what is printed would be written to it.  Using these descriptors still fails,
 * and a command finds them closed.  Returns false with errno set on failure. */
bool hf_ui_open(void);

/* From now on this process guards a lock, so it must not wait for a reader of
 * stderr.  Lines that find no room are dropped and counted; the next line that
 * finds room says how many there were. */
void hf_ui_begin_guarding(void);

/* This process guards nothing any more and is about to exit.  Its last lines
 * may wait for a second in all. */
void hf_ui_end_guarding(void);

/* Count ${count} lines as lost that were dropped elsewhere. */
void hf_ui_count_lost(unsigned count);

/* Print one line "holdfast: ...", in one write(2), or a line of JSON if
 * HOLDFAST_LOG asks for that.  The line about the wait is cleared before.
 * hf_ui_print() is for errors.  hf_ui_log() prints any ${level}, which only
 * JSON shows; the caller decides whether the user wants the line. */
void hf_ui_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hf_ui_log(enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print the text of ${error} by hf_ui_print(), as hf_format_error() writes it.
 */
void hf_ui_print_error(const struct hf_error *error);

/* Is the wait shown by a line that is redrawn?  It is if stderr is a terminal,
 * and neither -q nor a JSON log is asked for. */
bool hf_ui_shows_wait(enum hf_verbosity verbosity);

/* The state of the wait for a lock. */
struct hf_ui_wait {
    const char *name;
    const char *among; /* name of the several locks that are waited for
                          together; NULL: there is only one */
    uint32_t ahead;    /* tickets ahead of ours */
    uint64_t waited_ms;
    const char *holder; /* payload of the ticket at the head of the queue;
                           "": not known */
};

/* Redraw the line about the wait, if this job is in the foreground of the
 * terminal. */
void hf_ui_show_wait(const struct hf_ui_wait *wait);

/* Print the text about the wait as a separate line. */
void hf_ui_print_wait(const struct hf_ui_wait *wait);

/* Redraw a line "holdfast: ..." about the progress, in the same place and on
 * the same condition as hf_ui_show_wait(). */
void hf_ui_show_progress(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Clear the redrawn line, if there is one. */
void hf_ui_clear_wait(void);

/* When a long command shows how far it has got. */
struct hf_progress {
    uint64_t started_ms; /* CLOCK_BOOTTIME */
    uint64_t shown_ms;   /* when the progress was shown last */
};

/* The command begins now. */
void hf_progress_begin(struct hf_progress *progress);

/* Is it time for hf_ui_show_progress()?  The first time is after a second, then
 * a few times in a second.  Never if the line would not be seen
 * (hf_ui_shows_wait()). */
bool hf_progress_is_due(struct hf_progress *progress);

#endif
