/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holdfast prints on stderr: lines for the user or, if HOLDFAST_LOG asks
 * for JSON, lines of that; and on a terminal one
 * line about the wait that is redrawn in place.  Text of others (the payload
 * of a ticket) cannot steer the terminal.
 */
#ifndef HF_COMMAND_UI_H
#define HF_COMMAND_UI_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/client.h>

/* How much the user wants to read: -q, neither, -v. */
enum hf_verbosity { HF_QUIET, HF_NORMAL, HF_VERBOSE };

/* Occupy those of descriptors 0, 1 and 2 that are closed; first thing in
 * main(). Otherwise a descriptor of ours would get such a number, and what is
 * printed would be written to it.  Reading and writing them still fails, and a
 * command finds them closed.  False with errno if that cannot be done. */
bool hf_ui_open(void);

/* From here on this process guards a lock, so it waits for no reader.  Lines
 * that find no room are dropped and counted; the next line that finds room says
 * how many they were. */
void hf_ui_begin_guarding(void);

/* It guards nothing any more, and is about to exit: the lines that are left may
 * wait for a second in all. */
void hf_ui_end_guarding(void);

/* Count ${count} lines as lost, which were dropped before they came here. */
void hf_ui_count_lost(unsigned count);

/* Print one line "holdfast: ...", in one write(2), or a line of JSON if
 * HOLDFAST_LOG asks for that.  The line about the wait is cleared before.
 * hf_ui_print() is for errors.  The ${level} of hf_ui_log() is seen in JSON
 * only: whether the user wants the line, the caller knows. */
void hf_ui_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void hf_ui_log(enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print the text of ${error}, as hf_format_error() writes it, by
 * hf_ui_print(). */
void hf_ui_print_error(const struct hf_error *error);

/* Is the wait to be shown in a redrawn line: is stderr a terminal, and neither
 * -q nor a log of JSON asked for? */
bool hf_ui_shows_wait(enum hf_verbosity verbosity);

/* How the wait for a lock goes. */
struct hf_ui_wait {
    const char *name;
    const char *among; /* what all locks together are called; NULL: it is one */
    uint32_t ahead;    /* tickets ahead of ours */
    uint64_t waited_ms;
    const char *holder; /* payload of the ticket at the head of the queue; "":
                           not known */
};

/* Redraw the line about the wait, if this job is in the terminal's foreground.
 */
void hf_ui_show_wait(const struct hf_ui_wait *wait);

/* Print the same as a line of its own. */
void hf_ui_print_wait(const struct hf_ui_wait *wait);

/* Redraw a line "holdfast: ..." about what goes on, in the same place and on
 * the same condition as hf_ui_show_wait(). */
void hf_ui_show_progress(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Clear the redrawn line, if there is one. */
void hf_ui_clear_wait(void);

/* When a command that takes long shows how far it has got. */
struct hf_progress {
    uint64_t started_ms; /* CLOCK_BOOTTIME */
    uint64_t shown_ms;   /* likewise: last */
};

/* The command begins now. */
void hf_progress_begin(struct hf_progress *progress);

/* Is it time for hf_ui_show_progress()?  For the first time after a second,
 * then a few times a second.  Never if the line would not be seen
 * (hf_ui_shows_wait()). */
bool hf_progress_is_due(struct hf_progress *progress);

#endif
