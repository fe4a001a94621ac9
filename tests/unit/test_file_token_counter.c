/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens rise, whatever happens to the file of the counter and to the token
 * floor. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engines/file/syscalls.h"
#include "engines/file/token_counter.h"

static struct {
    char dir[64];
    char path[96];
    char state[96];
    char floor[128];
    int root; /* .dir, open */
    struct hf_file_descriptors descriptors;
} fixture;

/* Each test is run with a counter that is mapped and with one that is not. */
static struct hf_file_path_policy trust = {HF_SHARING_NONE, 0, "elsewhere"};

static int begin_with(enum hf_file_sharing sharing)
{
    trust.sharing = sharing;
    memset(&fixture, 0, sizeof(fixture));
    (void)snprintf(fixture.dir, sizeof(fixture.dir),
                   "/tmp/holdfast-counter-XXXXXX");
    assert_non_null(mkdtemp(fixture.dir));
    fixture.root = open(fixture.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture.root >= 0);
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/counter",
                   fixture.dir);
    (void)snprintf(fixture.state, sizeof(fixture.state), "%s/state",
                   fixture.dir);
    (void)snprintf(fixture.floor, sizeof(fixture.floor), "%s/floor",
                   fixture.state);
    return 0;
}

static int finish(void **state)
{
    char command[96];

    (void)state;
    hf_file_sys_hook = NULL;
    hf_file_descriptors_free(&fixture.descriptors);
    (void)close(fixture.root);
    (void)snprintf(command, sizeof(command), "rm -r %s", fixture.dir);
    return system(command);
}

static void init(struct hf_file_token_counter *counter, bool state_wanted)
{
    memset(counter, 0, sizeof(*counter));
    counter->fd = -1;
    assert_int_equal(pthread_mutex_init(&counter->threads, NULL), 0);
    counter->descriptors = &fixture.descriptors;
    counter->policy = &trust;
    counter->state = fixture.state;
    counter->state_required = state_wanted;
}

static void open_it(struct hf_file_token_counter *counter)
{
    struct hf_error error = {HF_OK, ""};

    init(counter, true);
    if (hf_file_token_counter_open(counter, fixture.root, fixture.path, 0600,
                                   false, &error) != HF_OK)
        fail_msg("%s", error.text);
    assert_true(hf_file_token_counter_is_current(counter, fixture.path));
}

/* Without waiting. */
static bool take(struct hf_file_token_counter *counter, uint64_t *number)
{
    struct hf_error error;

    return hf_file_token_counter_take(counter, fixture.path, HF_FLOCK_WAIT_NONE,
                                      NULL, number,
                                      &error) == HF_TOKEN_COUNTER_TAKEN;
}

/* A word of the file, for the next user of it. */
#define VALUE offsetof(struct hf_file_token_counter_page, value)
#define LIMIT offsetof(struct hf_file_token_counter_page, limit)

static uint64_t word_of(const struct hf_file_token_counter *counter, size_t at)
{
    uint64_t word = 0;

    assert_int_equal(pread(counter->fd, &word, sizeof(word), (off_t)at),
                     sizeof(word));
    return word;
}

static void set_word(struct hf_file_token_counter *counter, size_t at,
                     uint64_t word)
{
    assert_int_equal(pwrite(counter->fd, &word, sizeof(word), (off_t)at),
                     sizeof(word));
}

static uint64_t next(struct hf_file_token_counter *counter)
{
    struct hf_error error;
    uint64_t number = 0;

    if (!take(counter, &number)) {
        assert_int_equal(
            hf_file_token_counter_reserve(counter, fixture.path, &error),
            HF_OK);
        assert_true(take(counter, &number));
    }
    return number;
}

/* One number from a counter that is opened for it. */
static uint64_t next_of_fresh(void)
{
    struct hf_file_token_counter counter;
    uint64_t number;

    open_it(&counter);
    number = next(&counter);
    hf_file_token_counter_close(&counter);
    return number;
}

static uint64_t floor_now(void)
{
    FILE *file = fopen(fixture.floor, "r");
    uint64_t value = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%" SCNu64, &value), 1);
    (void)fclose(file);
    return value;
}

static void set_floor(const char *text)
{
    FILE *file = fopen(fixture.floor, "w");

    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static int begin(void **state)
{
    (void)state;
    return begin_with(HF_SHARING_NONE);
}

static int begin_shared(void **state)
{
    (void)state;
    return begin_with(HF_SHARING_ALL);
}

/* A test in a private directory, and again in one that all users share, where
 * the counter is not mapped. */
#define BOTH(name)                                                             \
    static void name##_anywhere(void);                                         \
    TEST_WITH(name, begin, finish)                                             \
    {                                                                          \
        name##_anywhere();                                                     \
    }                                                                          \
    TEST_CALLED(#name, name##_if_shared, begin_shared, finish)                 \
    {                                                                          \
        name##_anywhere();                                                     \
    }                                                                          \
    static void name##_anywhere(void)

BOTH(numbers_rise_and_are_reserved)
{
    struct hf_file_token_counter a, b;
    uint64_t last = 0;

    open_it(&a);
    open_it(&b);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t number = next(i % 3 == 0 ? &a : &b);

        assert_true(number > last);
        assert_true(number <= floor_now());
        last = number;
    }
    hf_file_token_counter_close(&a);
    hf_file_token_counter_close(&b);
    assert_true(next_of_fresh() > last);
}

/* The directory was on a tmpfs and is empty after the reboot. */
BOTH(a_lost_counter_starts_above_the_floor)
{
    char text[32];
    uint64_t first = next_of_fresh();

    (void)snprintf(text, sizeof(text), "%020" PRIu64 "\n",
                   first + UINT64_C(1000000000000000));
    set_floor(text);
    assert_int_equal(unlink(fixture.path), 0);
    assert_true(next_of_fresh() > first + UINT64_C(1000000000000000));
}

BOTH(with_all_lost_the_wall_clock_is_above)
{
    struct hf_file_token_counter counter;
    uint64_t last = 0;

    for (unsigned iteration = 0; iteration < 3; iteration++) {
        open_it(&counter);
        for (unsigned i = 0; i < 5; i++) {
            uint64_t number = next(&counter);

            assert_true(number > last);
            last = number;
        }
        hf_file_token_counter_close(&counter);
        assert_int_equal(unlink(fixture.path), 0);
        assert_int_equal(unlink(fixture.floor), 0);
    }
}

/* The directory was on a disk: the last state of the counter may never have
 * been written, so only the floor counts. */
BOTH(another_boot_starts_above_the_floor)
{
    struct hf_file_token_counter counter;
    uint64_t reserved, boot;
    uint64_t first;

    open_it(&counter);
    first = next(&counter);
    reserved = floor_now();
    boot = word_of(&counter, offsetof(struct hf_file_token_counter_page, boot));
    set_word(&counter, offsetof(struct hf_file_token_counter_page, boot),
             boot ^ 1);
    set_word(&counter, VALUE, first - 1000);
    hf_file_token_counter_close(&counter);
    assert_true(next_of_fresh() > reserved);
}

/* Another boot may count from a lower number, and a damaged page has any
 * number: what it says of a head is about no ticket of now. */
TEST_WITH(heads_of_another_boot_are_forgotten, begin, finish)
{
    struct hf_file_token_counter counter;
    uint64_t number;

    open_it(&counter);
    number = next(&counter);
    hf_file_token_counter_note_head(&counter, number);
    hf_file_token_counter_close(&counter);
    open_it(&counter);
    assert_true(hf_file_token_counter_was_head(&counter, number));
    counter.page->boot[0] ^= 1;
    hf_file_token_counter_close(&counter);
    open_it(&counter);
    assert_false(hf_file_token_counter_was_head(&counter, number));
    hf_file_token_counter_close(&counter);
}

BOTH(a_used_up_block_is_followed_by_another)
{
    struct hf_file_token_counter counter;
    struct hf_error error;
    uint64_t number, limit;

    open_it(&counter);
    limit = word_of(&counter, LIMIT);
    set_word(&counter, VALUE, limit - 1);
    assert_true(take(&counter, &number));
    assert_true(number == limit);
    assert_false(take(&counter, &number));
    assert_int_equal(
        hf_file_token_counter_reserve(&counter, fixture.path, &error), HF_OK);
    assert_true(take(&counter, &number));
    assert_true(number == limit + 1);
    assert_true(floor_now() >= number);
    hf_file_token_counter_close(&counter);
}

BOTH(damaged_files_are_mended)
{
    uint64_t last = next_of_fresh();

    for (unsigned bytes = 0; bytes < HF_TOKEN_COUNTER_BYTES; bytes += 1021) {
        assert_int_equal(truncate(fixture.path, bytes), 0);
        uint64_t number = next_of_fresh();

        assert_true(number > last);
        last = number;
    }
    for (unsigned at = 0; at < sizeof(struct hf_file_token_counter_page);
         at += 8) {
        int fd = open(fixture.path, O_WRONLY | O_CLOEXEC);
        uint64_t number;

        /* A version is refused below, and others' files are in a shared root.
         */
        if (at == 8 || (at == 0 && trust.sharing != HF_SHARING_NONE)) {
            (void)close(fd);
            continue;
        }
        assert_int_equal(pwrite(fd, "\377\377\377\377\377\377\377\377", 8, at),
                         8);
        (void)close(fd);
        number = next_of_fresh();
        assert_true(number > last);
        last = number;
    }
}

BOTH(a_damaged_floor_is_as_good_as_none)
{
    uint64_t last = next_of_fresh();

    set_floor("garbage that is long enough\n");
    assert_int_equal(unlink(fixture.path), 0);
    assert_true(next_of_fresh() > last);
    assert_true(floor_now() > last);
}

/* Cleaners of temporary directories go by times, and remove what is old. */
BOTH(a_floor_in_use_looks_used)
{
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    struct hf_file_token_counter counter;
    struct stat status;

    (void)next_of_fresh();
    for (int use = 0; use < 2; use++) {
        assert_int_equal(utimensat(AT_FDCWD, fixture.floor, old, 0), 0);
        assert_int_equal(utimensat(AT_FDCWD, fixture.state, old, 0), 0);
        if (use == 0) { /* a client opens the root */
            open_it(&counter);
        } else { /* and still takes numbers an hour later */
            struct hf_error error;
            uint64_t number;

            atomic_store(&counter.look_again_ms, 0);
            assert_false(take(&counter, &number));
            assert_int_equal(
                hf_file_token_counter_reserve(&counter, fixture.path, &error),
                HF_OK);
            assert_true(take(&counter, &number));
        }
        assert_int_equal(stat(fixture.floor, &status), 0);
        assert_true(status.st_mtime > 1000 && status.st_atime > 1000);
        assert_int_equal(stat(fixture.state, &status), 0);
        assert_true(status.st_mtime > 1000 && status.st_atime > 1000);
    }
    hf_file_token_counter_close(&counter);
}

static void remove_state(void)
{
    assert_int_equal(unlink(fixture.floor), 0);
    assert_int_equal(rmdir(fixture.state), 0);
}

/* And one that was removed is above all numbers again before the next one is
 * taken: by the client that lives, and by one that comes. */
BOTH(a_floor_that_was_removed_is_made_again)
{
    struct hf_file_token_counter counter;
    struct hf_error error;
    uint64_t number, limit;

    open_it(&counter);
    assert_true(take(&counter, &number));
    limit = word_of(&counter, LIMIT);
    remove_state();
    atomic_store(&counter.look_again_ms, 0);
    assert_false(take(&counter, &number));
    assert_int_equal(
        hf_file_token_counter_reserve(&counter, fixture.path, &error), HF_OK);
    assert_true(floor_now() >= limit);
    limit = floor_now();
    remove_state();
    assert_true(next_of_fresh() > number);
    assert_true(floor_now() >= limit);
    hf_file_token_counter_close(&counter);
}

BOTH(a_newer_version_is_refused)
{
    struct hf_file_token_counter counter;
    struct hf_error error;

    open_it(&counter);
    set_word(&counter, offsetof(struct hf_file_token_counter_page, version), 3);
    hf_file_token_counter_close(&counter);
    init(&counter, true);
    assert_int_equal(hf_file_token_counter_open(&counter, fixture.root,
                                                fixture.path, 0600, false,
                                                &error),
                     HF_EDIR);
    assert_non_null(strstr(error.text, "version 3"));
}

/* Numbers are taken in one way by all.  Of another boot nobody is left who
 * takes them in the other. */
BOTH(another_mode_is_refused)
{
    static const size_t boot_at =
        offsetof(struct hf_file_token_counter_page, boot);
    struct hf_file_token_counter counter;
    struct hf_error error;
    uint64_t number, boot;

    open_it(&counter);
    number = next(&counter);
    trust.sharing =
        trust.sharing == HF_SHARING_NONE ? HF_SHARING_GROUP : HF_SHARING_NONE;
    for (size_t i = 0; i < 2; i++) {
        struct hf_file_token_counter other;

        init(&other, true);
        assert_int_equal(hf_file_token_counter_open(&other, fixture.root,
                                                    fixture.path, 0600, false,
                                                    &error),
                         HF_EDIR);
        assert_non_null(strstr(error.text, "another ?mode="));
        assert_true(next(&counter) == ++number); /* nothing was changed */
    }
    boot = word_of(&counter, boot_at);
    set_word(&counter, boot_at, boot ^ 1);
    hf_file_token_counter_close(&counter);
    assert_true(next_of_fresh() > number);
}

/* What a list compares is another value after each rename, also if the file was
 * truncated since. */
TEST_WITH(a_rename_is_seen_after_a_truncation, begin_shared, finish)
{
    struct hf_file_token_counter counter;
    struct hf_error error;
    uint64_t first, number, before;

    open_it(&counter);
    first = hf_file_token_counter_renames(&counter);
    number = next(&counter);
    assert_int_equal(hf_file_token_counter_note_rename(&counter, number,
                                                       fixture.path, &error),
                     HF_OK);
    assert_true(hf_file_token_counter_renames(&counter) == number);
    assert_true(first != number);
    assert_int_equal(truncate(fixture.path, 0), 0);
    before = hf_file_token_counter_renames(&counter);
    assert_int_equal(hf_file_token_counter_note_rename(&counter, number + 1,
                                                       fixture.path, &error),
                     HF_OK);
    assert_true(hf_file_token_counter_renames(&counter) != before);
    (void)next_of_fresh(); /* makes the counter again */
    assert_true(hf_file_token_counter_renames(&counter) != before);
    assert_true(hf_file_token_counter_renames(&counter) != number);
    assert_true(hf_file_token_counter_renames(&counter) != first);
    hf_file_token_counter_close(&counter);
}

/* The lock of the file does not exclude threads that share its descriptor. */
TEST_WITH(another_thread_is_not_waited_for, begin_shared, finish)
{
    struct hf_file_token_counter counter;
    uint64_t number;

    open_it(&counter);
    pthread_mutex_lock(&counter.threads);
    assert_false(take(&counter, &number));
    pthread_mutex_unlock(&counter.threads);
    assert_true(take(&counter, &number));
    hf_file_token_counter_close(&counter);
}

BOTH(removal_and_truncation_are_seen)
{
    /* Half a number may be one that was handed out. */
    static const off_t lengths[] = {47, 40, 36, 33, 32, 8, 0};
    struct hf_file_token_counter counter;
    struct hf_error error;
    uint64_t number;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t last = next_of_fresh();

        open_it(&counter);
        assert_int_equal(truncate(fixture.path, lengths[i]), 0);
        assert_int_equal(hf_file_token_counter_take(&counter, fixture.path,
                                                    HF_FLOCK_WAIT_NONE, NULL,
                                                    &number, &error),
                         HF_TOKEN_COUNTER_STALE);
        hf_file_token_counter_close(&counter);
        assert_true(next_of_fresh() > last);
    }
    open_it(&counter);
    assert_int_equal(unlink(fixture.path), 0);
    assert_false(hf_file_token_counter_is_current(&counter, fixture.path));
    (void)next_of_fresh();
    assert_false(hf_file_token_counter_is_current(&counter, fixture.path));
    hf_file_token_counter_close(&counter);
}

BOTH(links_and_directories_are_refused)
{
    struct hf_file_token_counter counter;
    struct hf_error error;

    assert_int_equal(symlink("/etc/passwd", fixture.path), 0);
    init(&counter, true);
    assert_int_equal(hf_file_token_counter_open(&counter, fixture.root,
                                                fixture.path, 0600, false,
                                                &error),
                     HF_EDIR);
    assert_non_null(strstr(error.text, "symbolic link"));
    assert_int_equal(unlink(fixture.path), 0);
    assert_int_equal(mkdir(fixture.path, 0700), 0);
    assert_int_equal(hf_file_token_counter_open(&counter, fixture.root,
                                                fixture.path, 0600, false,
                                                &error),
                     HF_EDIR);
    assert_int_equal(rmdir(fixture.path), 0);
    assert_int_equal(mkfifo(fixture.path, 0600), 0);
    assert_int_equal(hf_file_token_counter_open(&counter, fixture.root,
                                                fixture.path, 0600, false,
                                                &error),
                     HF_EDIR);
    assert_non_null(strstr(error.text, "not a regular file"));
}

/* A floor directory that the URL names must work.  Without the default one,
 * that is remembered and reported. */
BOTH(a_floor_that_cannot_be_kept)
{
    struct hf_file_token_counter counter;
    struct hf_error error;
    FILE *file = fopen(fixture.state, "w"); /* where a directory should be */
    uint64_t number;

    assert_non_null(file);
    (void)fclose(file);
    init(&counter, true);
    assert_int_equal(hf_file_token_counter_open(&counter, fixture.root,
                                                fixture.path, 0600, false,
                                                &error),
                     HF_EDIR);
    assert_non_null(strstr(error.text, fixture.state));
    init(&counter, false);
    assert_int_equal(hf_file_token_counter_open(&counter, fixture.root,
                                                fixture.path, 0600, false,
                                                &error),
                     HF_OK);
    assert_true(atomic_load(&counter.not_durable));
    assert_non_null(strstr(counter.cause.text, fixture.state));
    assert_true(take(&counter, &number));
    set_word(&counter, VALUE, word_of(&counter, LIMIT));
    assert_int_equal(
        hf_file_token_counter_reserve(&counter, fixture.path, &error), HF_OK);
    assert_true(take(&counter, &number));
    hf_file_token_counter_close(&counter);
}

/* A write that ends in the middle sets no errno. */
BOTH(a_floor_that_is_written_in_part_is_refused)
{
    struct rlimit limit, short_limit;
    struct hf_error error;
    uint64_t start;
    hf_status status;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    short_limit = limit;
    short_limit.rlim_cur = 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &short_limit), 0);
    errno = 0;
    status = hf_file_token_floor_reserve(fixture.state, 5, 10, &start, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, HF_EFULL);
}

BOTH(a_floor_of_others_is_refused)
{
    struct hf_error error;
    uint64_t start;

    assert_int_equal(mkdir(fixture.state, 0700), 0);
    assert_int_equal(chmod(fixture.state, 0777), 0);
    assert_int_equal(
        hf_file_token_floor_reserve(fixture.state, 5, 10, &start, &error),
        HF_EDENIED);
    assert_non_null(strstr(error.text, "0777"));
    assert_int_equal(chmod(fixture.state, 0700), 0);
    if (geteuid() != 0)
        skip(); /* only root can give a directory away */
    assert_int_equal(chown(fixture.state, 12345, 12345), 0);
    assert_int_equal(
        hf_file_token_floor_reserve(fixture.state, 5, 10, &start, &error),
        HF_EDENIED);
    assert_non_null(strstr(error.text, "12345"));
}

/* ---------------------------------------------------------------- faults -- */

static unsigned steps_left;
static const int errors[] = {EIO, ENOSPC, EMFILE, EACCES, EROFS};
static size_t error_at;

static int fail_one(const char *request)
{
    (void)request;
    return --steps_left == 0 ? errors[error_at] : 0;
}

static int lowest_free(void)
{
    int fd = dup(STDIN_FILENO);

    (void)close(fd);
    return fd;
}

/* Each call of opening and of extending fails in turn: the error is reported,
 * numbers never fall, and no descriptor stays open. */
BOTH(every_call_may_fail)
{
    uint64_t last = next_of_fresh();
    int free_before = lowest_free();
    unsigned failed = 0;

    for (error_at = 0; error_at < 5; error_at++) {
        for (unsigned step = 1; step < 64; step++) {
            struct hf_file_token_counter counter;
            struct hf_error error = {HF_OK, ""};
            uint64_t number;
            hf_status status;

            assert_int_equal(unlink(fixture.path), 0);
            init(&counter, true);
            steps_left = step;
            hf_file_sys_hook = fail_one;
            status = hf_file_token_counter_open(
                &counter, fixture.root, fixture.path, 0600, false, &error);
            if (status == HF_OK) {
                set_word(&counter, VALUE, word_of(&counter, LIMIT));
                status = hf_file_token_counter_reserve(&counter, fixture.path,
                                                       &error);
            }
            hf_file_sys_hook = NULL;
            if (status != HF_OK) {
                failed++;
                assert_true(strlen(error.text) > 0);
            }
            if (counter.fd >= 0) {
                if (take(&counter, &number)) {
                    assert_true(number > last);
                    last = number;
                }
                hf_file_token_counter_close(&counter);
            }
            number = next_of_fresh();
            assert_true(number > last);
            last = number;
            if (steps_left > 0 && steps_left < 1000)
                break; /* past the last call */
        }
    }
    assert_true(failed > 20);
    assert_int_equal(lowest_free(), free_before);
}

/* Where nobody needs a floor, one that cannot be written for want of
 * descriptors is an error all the same, because it may be there. */
BOTH(want_of_descriptors_does_not_end_the_floor)
{
    struct hf_file_token_counter counter;
    struct hf_error error;
    unsigned failed = 0;

    error_at = 2;
    assert_int_equal(errors[error_at], EMFILE);
    for (unsigned step = 1; step < 64; step++) {
        (void)unlink(fixture.path);
        init(&counter, false);
        steps_left = step;
        hf_file_sys_hook = fail_one;
        if (hf_file_token_counter_open(&counter, fixture.root, fixture.path,
                                       0600, false, &error) != HF_OK)
            failed++;
        hf_file_sys_hook = NULL;
        assert_false(atomic_load(&counter.not_durable));
        hf_file_token_counter_close(&counter);
    }
    assert_in_range(failed, 5, 62);
}

/* ------------------------------------------------------------- power loss */

/* What a power failure would leave of the floor, as far as fsync(2) promises.
 */
static struct {
    const struct hf_file_token_counter *counter; /* that is at work */
    unsigned fail_at;                            /* this call fails; 0: none */
    bool failed;
    bool parent_synced, data_synced, renamed, entry_synced;
    uint64_t floor;
} disk;

static void limit_is_on_the_disk(void)
{
    uint64_t limit = 0;

    if (disk.entry_synced)
        disk.floor = floor_now();
    if (disk.counter->fd >= 0) {
        (void)pread(disk.counter->fd, &limit, sizeof(limit), (off_t)LIMIT);
        assert_true(limit <= disk.floor);
    }
}

static void note_call(const char *request)
{
    disk.entry_synced = strcmp(request, "fsync") == 0 && disk.renamed;
    if (strcmp(request, "fdatasync") == 0) {
        disk.data_synced = true;
    } else if (strcmp(request, "fsync") == 0) {
        disk.parent_synced |= !disk.renamed;
        disk.renamed = false;
    } else if (strcmp(request, "renameat") == 0) {
        assert_true(disk.parent_synced && disk.data_synced);
        disk.renamed = true;
        disk.data_synced = false;
    }
}

/* Before each call: the call before it is done now. */
static int watch_disk(const char *request)
{
    limit_is_on_the_disk();
    if (disk.fail_at > 0 && --disk.fail_at == 0) {
        disk.failed = true;
        disk.entry_synced = false;
        return EIO;
    }
    note_call(request);
    return 0;
}

/* Begin, and go on beyond the first block.  True if a call failed; then no
 * number was given out that is not on the disk. */
static bool count_with_fault(unsigned nth)
{
    struct hf_file_token_counter counter;
    uint64_t number;
    hf_status status;

    memset(&disk, 0, sizeof(disk));
    disk.counter = &counter;
    disk.fail_at = nth;
    init(&counter, true);
    hf_file_sys_hook = watch_disk;
    status = hf_file_token_counter_open(&counter, fixture.root, fixture.path,
                                        0600, false, &(struct hf_error){0});
    if (status == HF_OK) {
        set_word(&counter, VALUE, word_of(&counter, LIMIT));
        status = hf_file_token_counter_reserve(&counter, fixture.path,
                                               &(struct hf_error){0});
    }
    hf_file_sys_hook = NULL;
    if (counter.fd >= 0)
        assert_int_equal(status == HF_OK, take(&counter, &number));
    limit_is_on_the_disk();
    hf_file_token_counter_close(&counter);
    return disk.failed;
}

/* The answer to an enqueue has a number and is final.  So no number is given
 * out that could be given out again after a power failure. */
BOTH(no_number_is_ahead_of_the_disk)
{
    char command[256];
    unsigned nth = 0;

    (void)snprintf(command, sizeof(command), "rm -rf %s %s", fixture.path,
                   fixture.state);
    assert_false(count_with_fault(0));
    assert_true(disk.floor > 0);
    do
        assert_int_equal(system(command), 0);
    while (count_with_fault(++nth));
    assert_true(nth > 30);
}
