/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka/runner.h"

#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_FAILED 1
#define STATUS_USAGE 64
#define STATUS_SKIPPED 77 /* SKIP_RETURN_CODE of each test in CMake */
#define WORDS_MAX 8

/* What this process runs. */
static struct {
    const struct test_file *file;
    const char *pattern; /* of names of tests; NULL: all */
    const char *argument;
    bool lists; /* print the names instead */
    size_t chosen;
    size_t skipped;
} run;

/* The tests of all files of this program, in no order. */
static struct test_registration *registrations;

/* ---------------------------------------------------- for the test files -- */

static bool is_chosen(const struct CMUnitTest *test)
{
    return run.pattern == NULL || fnmatch(run.pattern, test->name, 0) == 0;
}

int test_run(const char *group, const struct CMUnitTest *tests, size_t count,
             CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct CMUnitTest *chosen = calloc(count + 1, sizeof(*chosen));
    size_t chosen_count = 0;
    int failed = 0;

    assert_non_null(chosen);
    for (size_t i = 0; i < count; i++)
        if (is_chosen(&tests[i]))
            chosen[chosen_count++] = tests[i];
    run.chosen += chosen_count;
    if (run.lists)
        for (size_t i = 0; i < chosen_count; i++)
            (void)printf("%s/%s\n", run.file->name, chosen[i].name);
    else if (chosen_count > 0)
        failed =
            _cmocka_run_group_tests(group != NULL ? group : run.file->name,
                                    chosen, chosen_count, set_up, tear_down);
    free(chosen);
    return failed;
}

void test_register(struct test_registration *registration)
{
    registration->next = registrations;
    registrations = registration;
}

/* Is ${path} that of test_X.c, where X is the file that runs now? */
static bool is_of_this_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(run.file->name);

    return strncmp(name, "test_", 5) == 0 &&
           strncmp(name + 5, run.file->name, length) == 0 &&
           strcmp(name + 5 + length, ".c") == 0;
}

/* By line; those of one macro by name. */
static int compare(const void *a, const void *b)
{
    const struct test_registration *left =
        *(const struct test_registration *const *)a;
    const struct test_registration *right =
        *(const struct test_registration *const *)b;

    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return strcmp(left->test.name, right->test.name);
}

/* The tests of the file that runs now, in the order of the file.  Allocated. */
static struct CMUnitTest *tests_of_file(size_t *count)
{
    struct test_registration **found;
    struct CMUnitTest *tests;
    size_t all = 0, n = 0;

    for (struct test_registration *r = registrations; r != NULL; r = r->next)
        all++;
    found = calloc(all + 1, sizeof(struct test_registration *));
    tests = calloc(all + 1, sizeof(*tests));
    assert_true(found != NULL && tests != NULL);
    for (struct test_registration *r = registrations; r != NULL; r = r->next)
        if (is_of_this_file(r->path))
            found[n++] = r;
    qsort(found, n, sizeof(struct test_registration *), compare);
    for (size_t i = 0; i < n; i++)
        tests[i] = found[i]->test;
    free(found);
    *count = n;
    return tests;
}

int test_run_registered(const char *group, CMFixtureFunction set_up,
                        CMFixtureFunction tear_down)
{
    size_t count;
    struct CMUnitTest *tests = tests_of_file(&count);
    int failed = test_run(group, tests, count, set_up, tear_down);

    free(tests);
    return failed;
}

void test_skip(const char *file, int line)
{
    run.skipped++;
    _skip(file, line);
    abort(); /* cmocka.h does not say that _skip() does not return */
}

const char *test_argument(void)
{
    return run.argument;
}

/* What each assertion of cmocka ends in when it fails: it jumps back to the
 * stack of the thread that runs the tests.  From any other thread that is a
 * jump into the dark, which ends the process without the message.  There the
 * process prints it and aborts instead. */
__attribute__((visibility("default"))) void _fail(const char *const file,
                                                  const int line)
{
    void (*fail_as_cmocka)(const char *, int) =
        (void (*)(const char *, int))dlsym(RTLD_NEXT, "_fail");

    if (gettid() != getpid()) {
        (void)fprintf(stderr, "%s: a thread of the test failed:\n",
                      run.file->name);
        if (setenv("CMOCKA_TEST_ABORT", "1", 1) != 0)
            abort();
    }
    fail_as_cmocka(file, line);
}

/* ------------------------------------------------------------- processes -- */

/* This program with other words behind its name, words[0]: its status.  The
 * wait ends with the process, however that ends. */
static int run_program(const char **words)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    int status;
    pid_t pid;

    if (length <= 0)
        return -1;
    program[length] = '\0';
    words[0] = program;
    (void)fflush(NULL);
    if (posix_spawn(&pid, program, NULL, NULL, (char *const *)words, environ) !=
        0)
        return -1;
    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            return -1;
    return status;
}

int test_run_self(const char *argument)
{
    const char *words[] = {NULL, run.file->name, "--", argument, NULL};

    return run_program(words);
}

pid_t test_fork(void)
{
    pid_t pid = fork();

    if (pid == 0 && setenv("CMOCKA_TEST_ABORT", "1", 1) != 0)
        abort();
    return pid;
}

void test_check_child(pid_t pid)
{
    siginfo_t ended = {.si_pid = 0};

    /* WNOWAIT: the test itself waits for it later. */
    assert_int_equal(
        waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    if (ended.si_pid != 0 &&
        (ended.si_code != CLD_EXITED || ended.si_status != 0))
        fail_msg("process %d has ended: %s %d", (int)pid,
                 ended.si_code == CLD_EXITED ? "status" : "signal",
                 ended.si_status);
}

/* One file in a process of its own: an exit status. */
static int run_apart(const struct test_file *file, const char *pattern)
{
    char word[256];
    const char *words[] = {NULL, word, run.lists ? "--list" : NULL, NULL};
    int status;

    (void)snprintf(word, sizeof(word), pattern == NULL ? "%s" : "%s/%s",
                   file->name, pattern);
    status = run_program(words);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    (void)fprintf(stderr, "%s: its process was ended by signal %d\n", word,
                  WTERMSIG(status));
    return STATUS_FAILED;
}

static int run_here(const struct test_file *file, const char *pattern)
{
    int failed;

    run.file = file;
    run.pattern = pattern;
    failed = file->run != NULL ? file->run() : RUN_TESTS(NULL, NULL);
    if (run.argument != NULL)
        return failed;
    if (failed != 0)
        return STATUS_FAILED;
    if (run.chosen == 0) {
        (void)fprintf(stderr, "%s: no test is called %s; --list prints all\n",
                      file->name, pattern == NULL ? "anything" : pattern);
        return STATUS_USAGE;
    }
    return run.skipped > 0 ? STATUS_SKIPPED : 0;
}

/* ---------------------------------------------------------- command line -- */

/* A failure counts more than a skipped test, and that more than a passed one.
 */
static int worse(int a, int b)
{
    if (a == STATUS_SKIPPED || b == STATUS_SKIPPED)
        return a == 0 || a == STATUS_SKIPPED
                   ? (b == 0 || b == STATUS_SKIPPED ? STATUS_SKIPPED : b)
                   : a;
    return a != 0 ? a : b;
}

/* The file that ${word}, "X" or "X/NAME", is about; NULL if there is none. */
static const struct test_file *find(const char *word, const char **pattern)
{
    size_t length = strcspn(word, "/");

    *pattern = word[length] == '/' ? &word[length + 1] : NULL;
    for (const struct test_file *file = test_files; file->name != NULL; file++)
        if (strlen(file->name) == length &&
            strncmp(file->name, word, length) == 0)
            return file;
    (void)fprintf(stderr, "there is no test file %s; expected one of:\n", word);
    for (const struct test_file *file = test_files; file->name != NULL; file++)
        (void)fprintf(stderr, "    %s\n", file->name);
    return NULL;
}

static int run_all_apart(void)
{
    int status = 0;

    for (const struct test_file *file = test_files; file->name != NULL; file++)
        status = worse(status, run_apart(file, NULL));
    return status;
}

static int run_words(const char *const *words, size_t count)
{
    const struct test_file *file;
    const char *pattern;
    int status = 0;

    for (size_t i = 0; i < count; i++) {
        file = find(words[i], &pattern);
        if (file == NULL)
            return STATUS_USAGE;
        status = worse(status, count == 1 ? run_here(file, pattern)
                                          : run_apart(file, pattern));
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *words[WORDS_MAX];
    size_t count = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            run.lists = true;
        } else if (strcmp(argv[i], "--") == 0 && i + 1 < argc) {
            run.argument = argv[++i];
        } else if (argv[i][0] == '-' || count == WORDS_MAX) {
            (void)fprintf(stderr, "usage: %s [--list] [FILE[/NAME]...]\n",
                          argv[0]);
            return STATUS_USAGE;
        } else {
            words[count++] = argv[i];
        }
    }
    if (count > 0)
        return run_words(words, count);
    /* One file needs no process of its own: no other runs here. */
    return test_files[1].name == NULL ? run_here(&test_files[0], NULL)
                                      : run_all_apart();
}
