/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two forms of a sample.
 */
#include "metrics/openmetrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define SECONDS(us, seconds) seconds,
static const char *const bounds[] = {HF_HISTOGRAM_TABLE(SECONDS) "+Inf"};
#undef SECONDS

_Static_assert(sizeof(bounds) / sizeof(*bounds) == HF_HISTOGRAM_BUCKETS,
               "a text for each bucket");

#define MICROSECONDS_PER_SECOND 1000000

/* --------------------------------------------------------------- bytes -- */

static void flush(struct hf_openmetrics *out)
{
    if (out->used > 0 && !out->stopped)
        out->stopped = !out->write.fn(out->write.arg, out->buffer, out->used);
    out->used = 0;
}

static void put(struct hf_openmetrics *out, const char *text, size_t bytes)
{
    while (bytes > 0 && !out->stopped) {
        size_t room = sizeof(out->buffer) - out->used;
        size_t part = bytes < room ? bytes : room;

        memcpy(out->buffer + out->used, text, part);
        out->used += part;
        text += part;
        bytes -= part;
        if (out->used == sizeof(out->buffer))
            flush(out);
    }
}

static void put_text(struct hf_openmetrics *out, const char *text)
{
    put(out, text, strlen(text));
}

/* Write \u and four digits, or two of these for a character beyond U+FFFF: a
 * pair of surrogates. */
static void put_utf16(struct hf_openmetrics *out, uint32_t code)
{
    char escaped[16];

    if (code >= 0x10000) {
        put_utf16(out, 0xD7C0 + (code >> 10));
        put_utf16(out, 0xDC00 + (code & 0x3FF));
        return;
    }
    put(out, escaped,
        (size_t)snprintf(escaped, sizeof(escaped), "\\u%04" PRIx32, code));
}

/* Write one character of a quoted text: ${code}, whose ${bytes} are at ${text}.
 * The quote, the backslash and the end of a line are escaped.  A character that
 * can deceive a reader is escaped in JSON, and replaced on a terminal. */
static void put_character(struct hf_openmetrics *out, const char *text,
                          size_t bytes, uint32_t code)
{
    if (code == '\n')
        put_text(out, "\\n");
    else if (code == '"' || code == '\\')
        put(out, (const char[]){'\\', *text}, 2);
    else if (out->json && hf_utf8_unprintable(code))
        put_utf16(out, code);
    else if (out->terminal && hf_utf8_unprintable(code))
        put_text(out, "?");
    else
        put(out, text, bytes);
}

/* Write a text in double quotes. */
static void put_quoted(struct hf_openmetrics *out, const char *text)
{
    size_t bytes = strlen(text);
    uint32_t code;

    put_text(out, "\"");
    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length > 0) {
            put_character(out, text + at, length, code);
        } else {
            put_text(out, "?");
            length = 1;
        }
    }
    put_text(out, "\"");
}

/* Write ${number}.  ${micro}: it is in microseconds and is written in seconds.
 */
static void put_number(struct hf_openmetrics *out, uint64_t number, bool micro)
{
    char text[48];

    if (micro)
        (void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64,
                       number / MICROSECONDS_PER_SECOND,
                       number % MICROSECONDS_PER_SECOND);
    else
        (void)snprintf(text, sizeof(text), "%" PRIu64, number);
    put_text(out, text);
}

/* ------------------------------------------------------------- samples -- */

void hf_openmetrics_family(struct hf_openmetrics *out,
                           const struct hf_metric_family *family)
{
    static const char *const types[] = {
        [HF_METRIC_COUNTER] = "counter",
        [HF_METRIC_GAUGE] = "gauge",
        [HF_METRIC_GAUGE_SECONDS] = "gauge",
        [HF_METRIC_HISTOGRAM] = "histogram",
    };

    if (out->json)
        return;
    put_text(out, "# TYPE ");
    put_text(out, family->name);
    put_text(out, " ");
    put_text(out, types[family->type]);
    if (family->type == HF_METRIC_HISTOGRAM ||
        family->type == HF_METRIC_GAUGE_SECONDS) {
        put_text(out, "\n# UNIT ");
        put_text(out, family->name);
        put_text(out, " seconds");
    }
    put_text(out, "\n# HELP ");
    put_text(out, family->name);
    put_text(out, " ");
    put_text(out, family->help);
    put_text(out, "\n");
}

/* Write a label, behind ${before}. */
static void put_label(struct hf_openmetrics *out, const char *before,
                      const struct hf_metric_label *label)
{
    put_text(out, before);
    put_text(out, out->json ? "\"" : "");
    put_text(out, label->key);
    put_text(out, out->json ? "\":" : "=");
    put_quoted(out, label->value);
}

/* Write the part of a sample in front of its number.  ${bound} is the bound of
 * a bucket; NULL for other samples. */
static void begin_sample(struct hf_openmetrics *out, const char *name,
                         const char *suffix, struct hf_metric_label label,
                         const char *bound)
{
    const struct hf_metric_label own[] = {label, {"le", bound}};
    const char *before = out->json ? "" : "{";

    put_text(out, out->json ? "{\"metric\":\"" : "");
    put_text(out, name);
    put_text(out, suffix);
    put_text(out, out->json ? "\",\"labels\":{" : "");
    for (size_t i = 0; i < out->labels.count; i++, before = ",")
        put_label(out, before, &out->labels.items[i]);
    for (size_t i = 0; i < 2; i++) {
        if (own[i].key == NULL || own[i].value == NULL)
            continue;
        put_label(out, before, &own[i]);
        before = ",";
    }
    put_text(out, *before == ',' && !out->json ? "}" : "");
    put_text(out, out->json ? "},\"value\":" : " ");
}

static void end_sample(struct hf_openmetrics *out)
{
    put_text(out, out->json ? "}\n" : "\n");
}

void hf_openmetrics_number(struct hf_openmetrics *out,
                           const struct hf_metric_family *family,
                           struct hf_metric_label label, uint64_t number)
{
    begin_sample(out, family->name,
                 family->type == HF_METRIC_COUNTER ? "_total" : "", label,
                 NULL);
    put_number(out, number, family->type == HF_METRIC_GAUGE_SECONDS);
    end_sample(out);
}

/* The number of a bucket includes those of all lower buckets. */
void hf_openmetrics_histogram(struct hf_openmetrics *out,
                              const struct hf_metric_family *family,
                              struct hf_metric_label label,
                              const struct hf_histogram *histogram)
{
    uint64_t count = 0;

    for (size_t i = 0; i < HF_HISTOGRAM_BUCKETS; i++) {
        count += histogram->buckets[i];
        begin_sample(out, family->name, "_bucket", label, bounds[i]);
        put_number(out, count, false);
        end_sample(out);
    }
    begin_sample(out, family->name, "_count", label, NULL);
    put_number(out, histogram->count, false);
    end_sample(out);
    begin_sample(out, family->name, "_sum", label, NULL);
    put_number(out, histogram->sum_us, true);
    end_sample(out);
}

bool hf_openmetrics_end(struct hf_openmetrics *out)
{
    if (!out->json)
        put_text(out, "# EOF\n");
    flush(out);
    return !out->stopped;
}
