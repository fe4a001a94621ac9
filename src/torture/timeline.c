/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See timeline.h.  Chooses the span of time and the clients to show, then draws
 * the parts one by one.
 */
#include "torture/timeline.h"

#include <inttypes.h>

/* Sizes in units of the image. */
enum {
    LEFT = 150,    /* where the time axis begins; left of it are the names */
    WIDE = 1000,   /* length of the time axis */
    TOP = 70,      /* where the first row begins */
    ROW = 26,      /* height of a row */
    BAR = 16,      /* height of a bar in a row */
    ROWS_MAX = 60, /* the most clients that are shown */
};

/* The most attempts that are shown if there is no violation: the first ones. */
#define ATTEMPTS_SHOWN 300

/* The image that is being drawn. */
struct timeline {
    FILE *file;
    const struct hf_history *history;
    const struct hf_check_result *result;
    const struct hf_violation *violation; /* the first violation, or NULL */
    uint64_t from_us, until_us;           /* the span of time that is shown */
    uint32_t rows[ROWS_MAX]; /* numbers of the clients, from top to bottom */
    unsigned row_count;
    bool cut; /* there are more clients than rows */
};

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---------------------------------------------------------- what to show -- */

/* Return when ${attempt} had ended and its client could not rely on the lock
 * any more, if that is known; at most the end of the history. */
static uint64_t end_of(const struct timeline *timeline,
                       const struct hf_history_attempt *attempt)
{
    uint64_t ended_us = min_u64(attempt->ended_us, timeline->history->ended_us);
    uint64_t until_us = hf_history_attempt_until_us(attempt);

    if (attempt->granted_us == HF_FOREVER || until_us == HF_FOREVER)
        return ended_us;
    return max_u64(ended_us, min_u64(until_us, timeline->history->ended_us));
}

/* Choose the span of time: that of the two attempts of the violation, with a
 * margin. */
static void frame_violation(struct timeline *timeline)
{
    const struct hf_history *history = timeline->history;
    const struct hf_violation *violation = timeline->violation;
    const struct hf_history_attempt *a = &history->attempts[violation->attempt];
    const struct hf_history_attempt *b = &history->attempts[violation->other];
    uint64_t from_us = min_u64(a->want_us, b->want_us);
    uint64_t until_us = max_u64(end_of(timeline, a), end_of(timeline, b));
    uint64_t room_us = (until_us - from_us) / 10 + 1;

    timeline->from_us =
        max_u64(history->began_us, from_us > room_us ? from_us - room_us : 0);
    timeline->until_us = min_u64(history->ended_us, until_us + room_us);
}

/* Choose the span of time that is shown. */
static void frame(struct timeline *timeline)
{
    const struct hf_history *history = timeline->history;

    timeline->from_us = history->began_us;
    timeline->until_us = history->ended_us;
    if (timeline->violation != NULL)
        frame_violation(timeline);
    else if (history->attempt_count > ATTEMPTS_SHOWN)
        timeline->until_us = history->attempts[ATTEMPTS_SHOWN].want_us;
    if (timeline->until_us <= timeline->from_us)
        timeline->until_us = timeline->from_us + 1;
}

/* Is ${attempt} within the span and, if there is a violation, at its lock? */
static bool is_shown(const struct timeline *timeline,
                     const struct hf_history_attempt *attempt)
{
    if (timeline->violation != NULL &&
        attempt->lock !=
            timeline->history->attempts[timeline->violation->attempt].lock)
        return false;
    return attempt->want_us < timeline->until_us &&
           end_of(timeline, attempt) >= timeline->from_us;
}

/* Return the row of ${client}, or .row_count if it has none. */
static unsigned row_of(const struct timeline *timeline, uint32_t client)
{
    unsigned row = 0;

    while (row < timeline->row_count && timeline->rows[row] != client)
        row++;
    return row;
}

/* Give ${client} a row if it has none and there is room. */
static void add_row(struct timeline *timeline, uint32_t client)
{
    if (row_of(timeline, client) < timeline->row_count)
        return;
    if (timeline->row_count == ROWS_MAX)
        timeline->cut = true;
    else
        timeline->rows[timeline->row_count++] = client;
}

/* Give a row to each client that is shown.  The two of the violation come
 * first, so that they have rows in any case. */
static void choose_rows(struct timeline *timeline)
{
    const struct hf_history_attempt *attempts = timeline->history->attempts;

    if (timeline->violation != NULL) {
        add_row(timeline, attempts[timeline->violation->attempt].client);
        add_row(timeline, attempts[timeline->violation->other].client);
    }
    for (uint32_t i = 0; i < timeline->history->attempt_count; i++)
        if (is_shown(timeline, &attempts[i]))
            add_row(timeline, attempts[i].client);
}

/* ---------------------------------------------------------------- shapes -- */

/* Return the x coordinate of the time ${at_us}. */
static double x_of(const struct timeline *timeline, uint64_t at_us)
{
    uint64_t within_us =
        max_u64(timeline->from_us, min_u64(at_us, timeline->until_us)) -
        timeline->from_us;

    return LEFT + WIDE * ((double)within_us /
                          (double)(timeline->until_us - timeline->from_us));
}

/* Write ${text} as XML; names may contain anything. */
static void write_text(const struct timeline *timeline, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", timeline->file);
            break;
        case '<':
            fputs("&lt;", timeline->file);
            break;
        case '>':
            fputs("&gt;", timeline->file);
            break;
        default:
            fputc((unsigned char)*text < ' ' ? '?' : *text, timeline->file);
            break;
        }
    }
}

/* Draw a bar from ${from_us} to ${until_us}, at least half a unit wide. */
static void draw_bar(const struct timeline *timeline, const char *class,
                     unsigned row, uint64_t from_us, uint64_t until_us)
{
    double x = x_of(timeline, from_us);
    double wide = x_of(timeline, until_us) - x;

    if (until_us < timeline->from_us || from_us > timeline->until_us)
        return;
    fprintf(timeline->file,
            "<rect class=\"%s\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
            "height=\"%d\"/>\n",
            class, x, TOP + row * ROW, wide < 0.5 ? 0.5 : wide, BAR);
}

/* Draw the character ${sign} at ${at_us}. */
static void draw_mark(const struct timeline *timeline, const char *class,
                      const char *sign, unsigned row, uint64_t at_us)
{
    if (at_us < timeline->from_us || at_us > timeline->until_us)
        return;
    fprintf(timeline->file,
            "<text class=\"%s\" x=\"%.2f\" y=\"%u\" "
            "text-anchor=\"middle\">%s</text>\n",
            class, x_of(timeline, at_us), TOP + row * ROW + BAR - 3, sign);
}

/* Return the CSS class of a bar. */
static const char *class_of(enum hf_kind kind)
{
    if (kind == HF_KIND_READ)
        return "read";
    return kind == HF_KIND_SEMAPHORE ? "permit" : "hold";
}

/* Draw what follows a grant: holding, reading after a downgrade, and the time
 * after safe-until. */
static void draw_hold(const struct timeline *timeline,
                      const struct hf_history_attempt *attempt, unsigned row)
{
    uint64_t until_us = min_u64(attempt->ended_us, timeline->history->ended_us);
    uint64_t safe_us = min_u64(hf_history_attempt_until_us(attempt), until_us);

    draw_bar(timeline, class_of(attempt->kind), row, attempt->granted_us,
             min_u64(safe_us, attempt->shared_us));
    if (attempt->shared_us < safe_us)
        draw_bar(timeline, "read", row, attempt->shared_us, safe_us);
    if (safe_us < until_us)
        draw_bar(timeline, "beyond", row, safe_us, until_us);
}

/* Draw one attempt: waiting, holding, and how it ended. */
static void draw_attempt(const struct timeline *timeline,
                         const struct hf_history_attempt *attempt)
{
    unsigned row = row_of(timeline, attempt->client);
    uint64_t until_us =
        min_u64(attempt->granted_us,
                min_u64(attempt->ended_us, timeline->history->ended_us));

    if (row == timeline->row_count)
        return;
    draw_bar(timeline, "wait", row, attempt->want_us, until_us);
    if (attempt->granted_us != HF_FOREVER)
        draw_hold(timeline, attempt, row);
    if (attempt->ending == HF_ENDING_DIED)
        draw_mark(timeline, "died", "&#215;", row, attempt->ended_us);
    if (attempt->ending == HF_ENDING_LOST)
        draw_mark(timeline, "lost", "!", row, attempt->ended_us);
}

/* ----------------------------------------------------------------- parts -- */

static const char style[] =
    "<style>\n"
    "text { font: 12px sans-serif; fill: #222 }\n"
    ".head { font-size: 14px; font-weight: bold }\n"
    ".wait { fill: #d8dde3 } .hold { fill: #2f6db5 } .read { fill: #3f9b5d }\n"
    ".permit { fill: #7b5cb0 } .beyond { fill: #e8b04a }\n"
    ".died { font-size: 16px; font-weight: bold; fill: #000 }\n"
    ".lost { font-size: 14px; font-weight: bold; fill: #b00020 }\n"
    ".wrong { fill: #d9263c; fill-opacity: 0.22; stroke: #d9263c }\n"
    ".axis { stroke: #999 }\n"
    "</style>\n";

/* Draw the title: the result, or the violation. */
static void draw_head(const struct timeline *timeline)
{
    const struct hf_history *history = timeline->history;
    const struct hf_violation *violation = timeline->violation;

    fputs("<text class=\"head\" x=\"10\" y=\"20\">", timeline->file);
    if (violation == NULL) {
        fprintf(timeline->file, "%s, %zu grants",
                hf_check_result_name(timeline->result),
                timeline->result->grants);
    } else {
        const struct hf_history_attempt *attempt =
            &history->attempts[violation->attempt];

        fprintf(timeline->file,
                "%s, line %zu: ", hf_check_rule_name(violation->rule),
                violation->line);
        write_text(timeline, history->clients.names[attempt->client]);
        fputs(" at ", timeline->file);
        write_text(timeline, history->locks.names[attempt->lock]);
    }
    if (timeline->cut)
        fprintf(timeline->file, " (the first %d clients)", ROWS_MAX);
    fputs("</text>\n", timeline->file);
}

/* Draw the legend. */
static void draw_legend(const struct timeline *timeline)
{
    static const struct {
        const char *class, *text;
    } parts[] = {
        {"wait", "waits"},
        {"hold", "holds alone"},
        {"read", "reads"},
        {"permit", "has permits"},
        {"beyond", "past safe-until"},
    };
    unsigned x = LEFT;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++, x += 140)
        fprintf(timeline->file,
                "<rect class=\"%s\" x=\"%u\" y=\"34\" width=\"12\" "
                "height=\"12\"/>\n<text x=\"%u\" y=\"45\">%s</text>\n",
                parts[i].class, x, x + 18, parts[i].text);
    fprintf(timeline->file,
            "<text x=\"%u\" y=\"45\">&#215; died, ! notified of its loss"
            "</text>\n",
            x);
}

/* Draw the names of the clients. */
static void draw_rows(const struct timeline *timeline)
{
    for (unsigned row = 0; row < timeline->row_count; row++) {
        fprintf(timeline->file, "<text x=\"10\" y=\"%u\">",
                TOP + row * ROW + BAR - 4);
        write_text(timeline,
                   timeline->history->clients.names[timeline->rows[row]]);
        fputs("</text>\n", timeline->file);
    }
}

/* Draw the time axis with five labels. */
static void draw_axis(const struct timeline *timeline)
{
    unsigned y = TOP + timeline->row_count * ROW + 4;
    uint64_t began_us = timeline->history->began_us;

    fprintf(timeline->file,
            "<line class=\"axis\" x1=\"%d\" y1=\"%u\" x2=\"%d\" y2=\"%u\"/>\n",
            LEFT, y, LEFT + WIDE, y);
    for (unsigned i = 0; i <= 4; i++) {
        uint64_t at_us = timeline->from_us +
                         (timeline->until_us - timeline->from_us) / 4 * i;

        fprintf(timeline->file,
                "<text x=\"%.2f\" y=\"%u\" text-anchor=\"middle\">%.6f s"
                "</text>\n",
                x_of(timeline, at_us), y + 18,
                (double)(at_us - began_us) / 1e6);
    }
}

/* Draw a frame around the time of the violation. */
static void draw_violation(const struct timeline *timeline)
{
    const struct hf_violation *violation = timeline->violation;
    double x, wide;

    if (violation == NULL)
        return;
    x = x_of(timeline, violation->from_us);
    wide = x_of(timeline, violation->until_us) - x;
    fprintf(timeline->file,
            "<rect class=\"wrong\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
            "height=\"%u\"/>\n",
            x, TOP - 6, wide < 2 ? 2 : wide, timeline->row_count * ROW + 6);
}

void hf_timeline_write(FILE *file, const struct hf_history *history,
                       const struct hf_check_result *result)
{
    struct timeline timeline = {
        .file = file,
        .history = history,
        .result = result,
        .violation = result->kept > 0 ? &result->violations[0] : NULL,
    };
    unsigned high;

    frame(&timeline);
    choose_rows(&timeline);
    high = TOP + timeline.row_count * ROW + 40;
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%u\" viewBox=\"0 0 %d %u\">\n",
            LEFT + WIDE + 60, high, LEFT + WIDE + 60, high);
    fputs(style, file);
    draw_head(&timeline);
    draw_legend(&timeline);
    draw_rows(&timeline);
    for (uint32_t i = 0; i < history->attempt_count; i++)
        if (is_shown(&timeline, &history->attempts[i]))
            draw_attempt(&timeline, &history->attempts[i]);
    draw_axis(&timeline);
    draw_violation(&timeline);
    fputs("</svg>\n", file);
}
