/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of metrics: what may be in a label, and users that stop it.
 * Which names are kept when there are too many, and what a sum has.  And the
 * file of a client. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "metrics/metrics_file.h"
#include "metrics/metrics_sum.h"
#include "metrics/openmetrics.h"

static const struct hf_metric_family family = {"locks", HF_METRIC_GAUGE,
                                               "How many there are."};

/* What was written. */
struct text {
    char bytes[16384];
    size_t used;
    unsigned calls;
    unsigned calls_max; /* false from then on; 0: never */
};

static bool write_text(void *arg, const char *bytes, size_t count)
{
    struct text *text = arg;

    text->calls++;
    assert_true(text->used + count < sizeof(text->bytes));
    memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
    return text->calls != text->calls_max;
}

static struct hf_openmetrics writer_to(struct text *text, bool json)
{
    return (struct hf_openmetrics){.write = {write_text, text}, .json = json};
}

/* A sample with that label is written so by ${out}. */
static void assert_written(struct text *text, struct hf_openmetrics *out,
                           const char *value, const char *expected)
{
    hf_openmetrics_number(out, &family, (struct hf_metric_label){"name", value},
                          7);
    assert_true(hf_openmetrics_end(out));
    text->bytes[text->used] = '\0';
    assert_string_equal(text->bytes, expected);
}

static void assert_label(const char *value, bool json, const char *expected)
{
    struct text text = {.used = 0};
    struct hf_openmetrics out = writer_to(&text, json);

    assert_written(&text, &out, value, expected);
}

/* U+202E, U+200B, U+3164, a tag, a variation selector and U+00E9, which can be
 * seen. */
#define DECEIVING                                                              \
    "a\xe2\x80\xae\xe2\x80\x8b\xe3\x85\xa4\xf3\xa0\x80\x81"                    \
    "\xf3\xa0\x84\x81\xc3\xa9"

TEST(a_terminal_gets_nothing_that_deceives)
{
    struct text text = {.used = 0};
    struct hf_openmetrics out = writer_to(&text, false);

    out.terminal = true;
    assert_written(&text, &out, DECEIVING,
                   "locks{name=\"a?????\xc3\xa9\"} 7\n# EOF\n");
    assert_label(DECEIVING, false, "locks{name=\"" DECEIVING "\"} 7\n# EOF\n");
    assert_label(
        DECEIVING, true,
        "{\"metric\":\"locks\",\"labels\":{\"name\":"
        "\"a\\u202e\\u200b\\u3164\\udb40\\udc01\\udb40\\udd01\xc3\xa9\"},"
        "\"value\":7}\n");
}

TEST(a_label_can_be_any_text)
{
    assert_label("a/b", false, "locks{name=\"a/b\"} 7\n# EOF\n");
    assert_label("a\"} 9\n#\\", false,
                 "locks{name=\"a\\\"} 9\\n#\\\\\"} 7\n# EOF\n");
    assert_label("a\"\\\n\t\x1f", true,
                 "{\"metric\":\"locks\",\"labels\":{\"name\":"
                 "\"a\\\"\\\\\\n\\u0009\\u001f\"},\"value\":7}\n");
}

TEST(a_long_label_is_written_whole)
{
    struct text text = {.used = 0};
    struct hf_openmetrics out = writer_to(&text, false);
    char value[5001];

    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    hf_openmetrics_number(&out, &family,
                          (struct hf_metric_label){"name", value}, 7);
    assert_true(hf_openmetrics_end(&out));
    text.bytes[text.used] = '\0';
    assert_int_equal(text.used, strlen("locks{name=\"\"} 7\n# EOF\n") + 5000);
    assert_non_null(strstr(text.bytes, value));
}

TEST(nothing_is_written_after_a_failure)
{
    struct text text = {.used = 0, .calls_max = 1};
    struct hf_openmetrics out = writer_to(&text, false);

    for (int i = 0; i < 1000; i++)
        hf_openmetrics_number(&out, &family,
                              (struct hf_metric_label){NULL, NULL}, 7);
    assert_false(hf_openmetrics_end(&out));
    assert_int_equal(text.calls, 1);
}

TEST(the_names_of_least_weight_are_left_out)
{
    enum { COUNT = HF_METRICS_SUM_NAMES + 10 };
    struct hf_metrics_sum sum = {.count = COUNT};

    sum.names = calloc(COUNT, sizeof(*sum.names));
    assert_non_null(sum.names);
    for (unsigned i = 0; i < COUNT; i++)
        sum.names[i].weight = i * 7 % COUNT; /* each weight once */
    hf_metrics_sum_trim(&sum);
    assert_int_equal(sum.count, HF_METRICS_SUM_NAMES);
    for (size_t i = 0; i < sum.count; i++)
        assert_int_equal(sum.names[i].weight, COUNT - 1 - i);
    hf_metrics_sum_trim(&sum);
    assert_int_equal(sum.count, HF_METRICS_SUM_NAMES);
    free(sum.names);
}

/* An event without a name, such as the end of an acquire of several locks, is
 * in the sum of all, and not in that of the names. */
TEST(what_has_no_name_is_no_other_name)
{
    struct hf_metrics_sum_name name = {.stats = {.acquired = 4}};
    struct hf_metrics_sum sum = {.all = {.acquired = 12, .lost = 3},
                                 .named = {.acquired = 9, .lost = 1},
                                 .names = &name,
                                 .count = 1};
    struct hf_lock_stats others;

    hf_metrics_sum_others(&sum, &others);
    assert_int_equal(others.acquired, 5);
    assert_int_equal(others.lost, 1);
}

/* ----------------------------------------------------------------- sums -- */

/* Set all numbers from ${from} on to different ones. */
static void fill_numbers(void *from, size_t bytes, uint64_t first)
{
    uint64_t *numbers = from;

    for (size_t i = 0; i < bytes / sizeof(*numbers); i++)
        numbers[i] = first + i;
}

/* A block with one entry, called ${name}, whose numbers are all different. */
static void fill_block(struct hf_metrics_block *block, const char *name)
{
    const size_t first = offsetof(struct hf_metrics_block, all);
    struct hf_metrics_entry *entry = &block->entries[0];

    memset(block, 0, sizeof(*block));
    fill_numbers(&block->all, hf_metrics_block_bytes(0) - first, 100000);
    fill_numbers(&entry->series, sizeof(entry->series), 1000);
    entry->id = hf_metrics_name_id(name, entry->name);
    entry->weight = 7;
    block->header.used = 1;
}

TEST(each_number_is_summed_where_it_belongs)
{
    struct hf_metrics_block *block = malloc(sizeof(*block));
    struct hf_metrics_block *written = calloc(1, sizeof(*written));
    struct hf_metrics_sum sum = {.count = 0};
    const struct hf_metrics_series *named, *entry;
    struct hf_lock_stats others;

    fill_block(block, "a");
    assert_true(hf_metrics_sum_add(&sum, block, HF_METRICS_NAMES));
    hf_metrics_sum_write(&sum, written);
    assert_memory_equal(written, block, sizeof(*block));
    hf_metrics_sum_others(&sum, &others);
    named = &block->named;
    entry = &block->entries[0].series;
    assert_int_equal(others.acquired, named->acquired - entry->acquired);
    assert_int_equal(others.waited, named->waited - entry->waited);
    assert_int_equal(others.failed, named->failed - entry->failed);
    assert_int_equal(others.lost, named->lost - entry->lost);
    assert_int_equal(others.revoked, named->revoked - entry->revoked);
    assert_int_equal(others.wait.sum_us,
                     named->wait.sum_us - entry->wait.sum_us);
    assert_int_equal(others.hold.buckets[3],
                     named->hold.buckets[3] - entry->hold.buckets[3]);
    assert_int_equal(others.handoff.sum_us,
                     named->handoff.sum_us - entry->handoff.sum_us);
    hf_metrics_sum_free(&sum);
    free(written);
    free(block);
}

TEST(no_number_is_greater_than_a_sum_may_be)
{
    struct hf_metrics_block *block = malloc(sizeof(*block));
    struct hf_metrics_sum sum = {.count = 0};

    fill_block(block, "a");
    assert_true(hf_metrics_sum_check(block, 1, HF_METRICS_NUMBER_MAX));
    block->all.acquired = block->reconnects = HF_METRICS_SUM_MAX - 1;
    for (int i = 0; i < 40; i++)
        assert_true(hf_metrics_sum_add(&sum, block, 1));
    assert_int_equal(sum.all.acquired, HF_METRICS_SUM_MAX);
    assert_int_equal(sum.reconnects, HF_METRICS_SUM_MAX);
    hf_metrics_sum_free(&sum);
    /* Each number is looked at. */
    assert_false(hf_metrics_sum_check(block, 1, HF_METRICS_NUMBER_MAX));
    fill_block(block, "a");
    block->entries[0].weight = HF_METRICS_NUMBER_MAX + 1;
    assert_false(hf_metrics_sum_check(block, 1, HF_METRICS_NUMBER_MAX));
    fill_block(block, "a");
    block->entries[0].series.revoked = HF_METRICS_NUMBER_MAX + 1;
    assert_false(hf_metrics_sum_check(block, 1, HF_METRICS_NUMBER_MAX));
    free(block);
}

/* How many names ${block} brings into a sum. */
static size_t names_of(const struct hf_metrics_block *block)
{
    struct hf_metrics_sum sum = {.count = 0};
    size_t count;

    assert_true(hf_metrics_sum_add(&sum, block, HF_METRICS_NAMES));
    count = sum.count;
    hf_metrics_sum_free(&sum);
    return count;
}

/* Others may have written the file. */
TEST(a_name_that_no_client_writes_is_none)
{
    static const char tail_alone[] = "a~0123456789abcdef";
    struct hf_metrics_block *block = malloc(sizeof(*block));
    char beyond[HF_METRICS_NAME_BYTES + 2], unused[HF_METRICS_NAME_BYTES];
    struct hf_metrics_entry *entry = &block->entries[0];

    fill_block(block, "a");
    assert_int_equal(names_of(block), 1);
    block->header.used = 0; /* left of an entry that is none any more */
    assert_int_equal(names_of(block), 0);
    /* It ends like a name that was cut, and was not. */
    fill_block(block, tail_alone);
    assert_int_equal(names_of(block), 1);
    entry->id = UINT64_C(0x0123456789abcdef);
    assert_int_equal(names_of(block), 0);
    /* It has no end, and goes on in the numbers. */
    memset(beyond, 'x', sizeof(beyond));
    beyond[HF_METRICS_NAME_BYTES] = 'y';
    beyond[HF_METRICS_NAME_BYTES + 1] = '\0';
    memset(entry->name, 'x', sizeof(entry->name));
    entry->series.acquired = 'y';
    entry->id = hf_metrics_name_id(beyond, unused);
    assert_int_equal(names_of(block), 0);
    free(block);
}

#define BOUND(us, seconds) us,

/* A bucket has what is no longer than its bound. */
TEST(a_bound_is_in_its_bucket)
{
    static const uint64_t bounds_us[] = {HF_HISTOGRAM_TABLE(BOUND)};

    for (size_t i = 0; i < sizeof(bounds_us) / sizeof(*bounds_us); i++) {
        assert_int_equal(hf_metrics_duration(bounds_us[i]).bucket, i);
        assert_int_equal(hf_metrics_duration(bounds_us[i] + 1).bucket, i + 1);
    }
}

/* ------------------------------------------------------------- the file -- */

struct file_fixture {
    char directory[64];
    struct hf_metrics_file file;
    struct hf_error error;
    struct hf_metrics_block *read;
};

static void make_directory(struct file_fixture *f)
{
    (void)snprintf(f->directory, sizeof(f->directory),
                   "/tmp/holdfast-metrics-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    f->read = malloc(sizeof(*f->read));
    assert_non_null(f->read);
}

static size_t count_files(const struct file_fixture *f)
{
    DIR *directory = opendir(f->directory);
    size_t count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2; /* . and .. */
}

static void remove_directory(struct file_fixture *f)
{
    char command[128];

    (void)snprintf(command, sizeof(command), "rm -r %s", f->directory);
    assert_int_equal(system(command), 0);
    free(f->read);
}

static void make_file(struct file_fixture *f)
{
    make_directory(f);
    assert_int_equal(hf_metrics_file_create(&f->file, f->directory, &f->error),
                     HF_OK);
}

static void read_back(struct file_fixture *f, int fd)
{
    assert_int_equal(pread(fd, f->read, sizeof(*f->read), 0),
                     (ssize_t)sizeof(*f->read));
}

static void take_name(struct file_fixture *f, size_t index, const char *text)
{
    char unused[HF_METRICS_NAME_BYTES];
    const struct hf_metrics_name_ref name = {hf_metrics_name_id(text, unused),
                                             text, index};

    hf_metrics_file_take(&f->file, index, &name);
    f->file.block->entries[index].weight++;
}

TEST(a_file_that_was_truncated_has_all_again)
{
    struct file_fixture f;

    make_file(&f);
    take_name(&f, 0, "a");
    take_name(&f, 1, "b");
    assert_int_equal(hf_metrics_file_write(&f.file, &f.error), HF_OK);
    assert_int_equal(ftruncate(f.file.fd, 0), 0);
    take_name(&f, 1, "b");
    f.file.block->header.sequence++; /* a write before ended in the middle */
    assert_int_equal(hf_metrics_file_write(&f.file, &f.error), HF_OK);
    read_back(&f, f.file.fd);
    assert_string_equal(f.read->entries[0].name, "a");
    assert_int_equal(f.read->entries[1].weight, 2);
    assert_int_equal(f.read->header.sequence % 2, 0);
    assert_int_equal(f.file.renamed, 0);
    hf_metrics_file_close(&f.file);
    remove_directory(&f);
}

/* The 22nd word, behind the name of the program, which has no blank here. */
static uint64_t started(void)
{
    FILE *file = fopen("/proc/self/stat", "r");
    unsigned long long ticks = 0;

    assert_non_null(file);
    assert_int_equal(
        fscanf(file,
               "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %*s %*s %*s %*s %llu",
               &ticks),
        1);
    (void)fclose(file);
    return ticks;
}

TEST(a_file_says_whose_it_is_and_when_it_was_closed)
{
    struct file_fixture f;
    int fd;

    make_file(&f);
    fd = dup(f.file.fd);
    assert_true(fd >= 0);
    read_back(&f, fd);
    assert_int_equal(f.read->header.pid, getpid());
    assert_int_equal(f.read->header.started, started());
    assert_int_equal(f.read->header.closed, 0);
    hf_metrics_file_close(&f.file);
    read_back(&f, fd);
    assert_int_equal(f.read->header.closed, 1);
    close(fd);
    remove_directory(&f);
}

/* Where a write would kill the process, nothing is written; that is said
 * once. */
TEST(a_limit_of_files_kills_nobody)
{
    struct rlimit limit, small;
    struct file_fixture f;

    make_file(&f);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    take_name(&f, 0, "a");
    assert_int_equal(hf_metrics_file_write(&f.file, &f.error), HF_EFULL);
    assert_int_equal(hf_metrics_file_write(&f.file, &f.error), HF_OK);
    hf_metrics_file_close(&f.file);
    assert_int_equal(hf_metrics_file_create(&f.file, f.directory, &f.error),
                     HF_EFULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(count_files(&f), 1); /* nothing of the second one */
    remove_directory(&f);
}

TEST(a_directory_of_all_must_be_sticky)
{
    struct file_fixture f;

    make_directory(&f);
    assert_int_equal(chmod(f.directory, 0777), 0);
    assert_int_equal(hf_metrics_file_create(&f.file, f.directory, &f.error),
                     HF_EDIR);
    assert_int_equal(chmod(f.directory, 01777), 0);
    assert_int_equal(hf_metrics_file_create(&f.file, f.directory, &f.error),
                     HF_OK);
    hf_metrics_file_close(&f.file);
    remove_directory(&f);
}
