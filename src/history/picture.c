/* SPDX-License-Identifier: Apache-2.0 */
#include "history/picture.h"

#include <inttypes.h>

/* In the units of the image. */
enum {
    LEFT = 150, /* of the time axis: room for names */
    WIDE = 1000,
    TOP = 70,
    ROW = 26,
    BAR = 16,
    ROWS_MAX = 60,
};

/* Without a violation, so many attempts are shown at the most. */
#define ATTEMPTS_SHOWN 300

struct picture {
    FILE *file;
    const struct hf_history *history;
    const struct hf_verdict *verdict;
    const struct hf_violation *violation; /* the first, or NULL */
    uint64_t from_us, until_us;           /* what is shown */
    uint32_t rows[ROWS_MAX];              /* clients */
    unsigned row_count;
    bool cut; /* there were more */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---------------------------------------------------------- what to show -- */

/* When it was over for certain, in this history. */
static uint64_t end_of(const struct picture *picture,
                       const struct hf_attempt *attempt)
{
    uint64_t ended_us = least(attempt->ended_us, picture->history->ended_us);
    uint64_t until_us = hf_attempt_until_us(attempt);

    if (attempt->granted_us == HF_FOREVER || until_us == HF_FOREVER)
        return ended_us;
    return most(ended_us, least(until_us, picture->history->ended_us));
}

/* The two that are accused, from when they began to ask, with some room. */
static void frame_violation(struct picture *picture)
{
    const struct hf_history *history = picture->history;
    const struct hf_violation *violation = picture->violation;
    const struct hf_attempt *a = &history->attempts[violation->attempt];
    const struct hf_attempt *b = &history->attempts[violation->other];
    uint64_t from_us = least(a->want_us, b->want_us);
    uint64_t until_us = most(end_of(picture, a), end_of(picture, b));
    uint64_t room_us = (until_us - from_us) / 10 + 1;

    picture->from_us =
        most(history->began_us, from_us > room_us ? from_us - room_us : 0);
    picture->until_us = least(history->ended_us, until_us + room_us);
}

static void frame(struct picture *picture)
{
    const struct hf_history *history = picture->history;

    picture->from_us = history->began_us;
    picture->until_us = history->ended_us;
    if (picture->violation != NULL)
        frame_violation(picture);
    else if (history->attempt_count > ATTEMPTS_SHOWN)
        picture->until_us = history->attempts[ATTEMPTS_SHOWN].want_us;
    if (picture->until_us <= picture->from_us)
        picture->until_us = picture->from_us + 1;
}

static bool is_shown(const struct picture *picture,
                     const struct hf_attempt *attempt)
{
    if (picture->violation != NULL &&
        attempt->lock !=
            picture->history->attempts[picture->violation->attempt].lock)
        return false;
    return attempt->want_us < picture->until_us &&
           end_of(picture, attempt) >= picture->from_us;
}

static unsigned row_of(const struct picture *picture, uint32_t client)
{
    unsigned row = 0;

    while (row < picture->row_count && picture->rows[row] != client)
        row++;
    return row;
}

static void add_row(struct picture *picture, uint32_t client)
{
    if (row_of(picture, client) < picture->row_count)
        return;
    if (picture->row_count == ROWS_MAX)
        picture->cut = true;
    else
        picture->rows[picture->row_count++] = client;
}

/* Those that are accused first, so that they have theirs. */
static void choose_rows(struct picture *picture)
{
    const struct hf_attempt *attempts = picture->history->attempts;

    if (picture->violation != NULL) {
        add_row(picture, attempts[picture->violation->attempt].client);
        add_row(picture, attempts[picture->violation->other].client);
    }
    for (uint32_t i = 0; i < picture->history->attempt_count; i++)
        if (is_shown(picture, &attempts[i]))
            add_row(picture, attempts[i].client);
}

/* ----------------------------------------------------------------- shapes --
 */

static double x_of(const struct picture *picture, uint64_t at_us)
{
    uint64_t within_us =
        most(picture->from_us, least(at_us, picture->until_us)) -
        picture->from_us;

    return LEFT + WIDE * ((double)within_us /
                          (double)(picture->until_us - picture->from_us));
}

/* Names are of the world. */
static void put_text(const struct picture *picture, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", picture->file);
            break;
        case '<':
            fputs("&lt;", picture->file);
            break;
        case '>':
            fputs("&gt;", picture->file);
            break;
        default:
            fputc((unsigned char)*text < ' ' ? '?' : *text, picture->file);
            break;
        }
    }
}

static void bar(const struct picture *picture, const char *class, unsigned row,
                uint64_t from_us, uint64_t until_us)
{
    double x = x_of(picture, from_us);
    double wide = x_of(picture, until_us) - x;

    if (until_us < picture->from_us || from_us > picture->until_us)
        return;
    fprintf(picture->file,
            "<rect class=\"%s\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
            "height=\"%d\"/>\n",
            class, x, TOP + row * ROW, wide < 0.5 ? 0.5 : wide, BAR);
}

static void mark(const struct picture *picture, const char *class,
                 const char *sign, unsigned row, uint64_t at_us)
{
    if (at_us < picture->from_us || at_us > picture->until_us)
        return;
    fprintf(picture->file,
            "<text class=\"%s\" x=\"%.2f\" y=\"%u\" "
            "text-anchor=\"middle\">%s</text>\n",
            class, x_of(picture, at_us), TOP + row * ROW + BAR - 3, sign);
}

static const char *class_of(enum hf_kind kind)
{
    if (kind == HF_KIND_READ)
        return "read";
    return kind == HF_KIND_SEMAPHORE ? "permit" : "hold";
}

static void draw_hold(const struct picture *picture,
                      const struct hf_attempt *attempt, unsigned row)
{
    uint64_t until_us = least(attempt->ended_us, picture->history->ended_us);
    uint64_t safe_us = least(hf_attempt_until_us(attempt), until_us);

    bar(picture, class_of(attempt->kind), row, attempt->granted_us,
        least(safe_us, attempt->shared_us));
    if (attempt->shared_us < safe_us)
        bar(picture, "read", row, attempt->shared_us, safe_us);
    if (safe_us < until_us)
        bar(picture, "beyond", row, safe_us, until_us);
}

static void draw_attempt(const struct picture *picture,
                         const struct hf_attempt *attempt)
{
    unsigned row = row_of(picture, attempt->client);
    uint64_t until_us =
        least(attempt->granted_us,
              least(attempt->ended_us, picture->history->ended_us));

    if (row == picture->row_count)
        return;
    bar(picture, "wait", row, attempt->want_us, until_us);
    if (attempt->granted_us != HF_FOREVER)
        draw_hold(picture, attempt, row);
    if (attempt->ending == HF_ENDING_DIED)
        mark(picture, "died", "&#215;", row, attempt->ended_us);
    if (attempt->ending == HF_ENDING_LOST)
        mark(picture, "lost", "!", row, attempt->ended_us);
}

/* ------------------------------------------------------------------ parts --
 */

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

static void draw_head(const struct picture *picture)
{
    const struct hf_history *history = picture->history;
    const struct hf_violation *violation = picture->violation;

    fputs("<text class=\"head\" x=\"10\" y=\"20\">", picture->file);
    if (violation == NULL) {
        fprintf(picture->file, "%s, %zu grants",
                hf_verdict_word(picture->verdict), picture->verdict->grants);
    } else {
        const struct hf_attempt *attempt =
            &history->attempts[violation->attempt];

        fprintf(picture->file, "%s, line %zu: ", hf_rule_name(violation->rule),
                violation->line);
        put_text(picture, history->clients.names[attempt->client]);
        fputs(" at ", picture->file);
        put_text(picture, history->locks.names[attempt->lock]);
    }
    if (picture->cut)
        fprintf(picture->file, " (the first %d clients)", ROWS_MAX);
    fputs("</text>\n", picture->file);
}

/* One of each, for who looks at it for the first time. */
static void draw_legend(const struct picture *picture)
{
    static const struct {
        const char *class, *text;
    } parts[] = {
        {"wait", "waits"},
        {"hold", "holds alone"},
        {"read", "reads"},
        {"permit", "has permits"},
        {"beyond", "past its promise"},
    };
    unsigned x = LEFT;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++, x += 140)
        fprintf(picture->file,
                "<rect class=\"%s\" x=\"%u\" y=\"34\" width=\"12\" "
                "height=\"12\"/>\n<text x=\"%u\" y=\"45\">%s</text>\n",
                parts[i].class, x, x + 18, parts[i].text);
    fprintf(picture->file,
            "<text x=\"%u\" y=\"45\">&#215; died, ! heard of its loss"
            "</text>\n",
            x);
}

static void draw_rows(const struct picture *picture)
{
    for (unsigned row = 0; row < picture->row_count; row++) {
        fprintf(picture->file, "<text x=\"10\" y=\"%u\">",
                TOP + row * ROW + BAR - 4);
        put_text(picture, picture->history->clients.names[picture->rows[row]]);
        fputs("</text>\n", picture->file);
    }
}

static void draw_axis(const struct picture *picture)
{
    unsigned y = TOP + picture->row_count * ROW + 4;
    uint64_t began_us = picture->history->began_us;

    fprintf(picture->file,
            "<line class=\"axis\" x1=\"%d\" y1=\"%u\" x2=\"%d\" y2=\"%u\"/>\n",
            LEFT, y, LEFT + WIDE, y);
    for (unsigned i = 0; i <= 4; i++) {
        uint64_t at_us =
            picture->from_us + (picture->until_us - picture->from_us) / 4 * i;

        fprintf(picture->file,
                "<text x=\"%.2f\" y=\"%u\" text-anchor=\"middle\">%.6f s"
                "</text>\n",
                x_of(picture, at_us), y + 18, (double)(at_us - began_us) / 1e6);
    }
}

static void draw_violation(const struct picture *picture)
{
    const struct hf_violation *violation = picture->violation;
    double x, wide;

    if (violation == NULL)
        return;
    x = x_of(picture, violation->from_us);
    wide = x_of(picture, violation->until_us) - x;
    fprintf(picture->file,
            "<rect class=\"wrong\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" "
            "height=\"%u\"/>\n",
            x, TOP - 6, wide < 2 ? 2 : wide, picture->row_count * ROW + 6);
}

void hf_picture_write(FILE *file, const struct hf_history *history,
                      const struct hf_verdict *verdict)
{
    struct picture picture = {
        .file = file,
        .history = history,
        .verdict = verdict,
        .violation = verdict->kept > 0 ? &verdict->violations[0] : NULL,
    };
    unsigned high;

    frame(&picture);
    choose_rows(&picture);
    high = TOP + picture.row_count * ROW + 40;
    fprintf(file,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%u\" viewBox=\"0 0 %d %u\">\n",
            LEFT + WIDE + 60, high, LEFT + WIDE + 60, high);
    fputs(style, file);
    draw_head(&picture);
    draw_legend(&picture);
    draw_rows(&picture);
    for (uint32_t i = 0; i < history->attempt_count; i++)
        if (is_shown(&picture, &history->attempts[i]))
            draw_attempt(&picture, &history->attempts[i]);
    draw_axis(&picture);
    draw_violation(&picture);
    fputs("</svg>\n", file);
}
