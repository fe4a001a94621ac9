/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program for all test files of an area.
 *
 * A file test_X.c defines no main(), and no table either: TEST(NAME) defines a
 * test and registers it.  The tests of a file run in the order in which they
 * stand there.  CMake lists the files of a program, see hf_test_program() in
 * tests/cmocka/CMakeLists.txt.
 *
 *     PROGRAM                 run every file
 *     PROGRAM X               run the tests of test_X.c
 *     PROGRAM X/NAME          run one test of it; NAME is a shell pattern
 *     PROGRAM --list          print X/NAME of every test and run none
 *
 * When there is more than one file to run, each gets a process of its own.  So
 * no limit, environment variable, allocator or descriptor of one file reaches
 * the next, and a crash ends one file only.
 *
 * The exit status is 0 if all tests passed, 77 if some were skipped and none
 * failed, 1 if some failed, 64 if nothing is called so.
 *
 * This header stands in place of <cmocka.h>: it counts skipped tests.
 */
#ifndef HF_TESTS_CMOCKA_RUNNER_H
#define HF_TESTS_CMOCKA_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

/* Define the test ${name} of this file; its body follows.  It has an argument
 * state, what the set-up has left. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* The same between ${set_up} and ${tear_down}, or NULL. */
#define TEST_WITH(name, set_up, tear_down)                                     \
    TEST_CALLED(#name, name, set_up, tear_down)

/* The same with the function ${name}, and called ${text}, which several tests
 * may be. */
#define TEST_CALLED(text, name, set_up, tear_down)                             \
    static void name(void **state);                                            \
    __attribute__((constructor)) static void register_##name(void)             \
    {                                                                          \
        static struct test_registration registration = {                       \
            .test = {text, name, set_up, tear_down, NULL},                     \
            .path = __FILE__,                                                  \
            .line = __LINE__};                                                 \
                                                                               \
        test_register(&registration);                                          \
    }                                                                          \
    static void name(__attribute__((unused)) void **state)

/* The same with f, a struct ${fixture} of its own: ${open} and ${close} are
 * calls with f, before the body and behind it.  ${close} must not use what the
 * body has on its stack, or the test makes that static.  A test that fails does
 * not close it. */
#define TEST_OF(name, fixture, open, close)                                    \
    static void name##_of(struct fixture *f);                                  \
    TEST(name)                                                                 \
    {                                                                          \
        struct fixture of_the_test, *f = &of_the_test;                         \
                                                                               \
        open;                                                                  \
        name##_of(f);                                                          \
        close;                                                                 \
    }                                                                          \
    static void name##_of(struct fixture *f)

/* In front of a fixture that a test declares: ${close}(&fixture) is called
 * where its block ends, while what was declared before is still there.  A test
 * that fails does not close it. */
#define CLOSED_BY(close) __attribute__((cleanup(close)))

/* What a file does around its tests, if it does anything: the function of
 * test_${name}.c, which calls RUN_TESTS() and returns how many failed. */
#define TEST_FILE(name)                                                        \
    int test_##name(void);                                                     \
    int test_##name(void)

/* Run the tests of this file that the command line asks for, between ${set_up}
 * and ${tear_down} of them all, or NULL.  How many failed. */
#define RUN_TESTS(set_up, tear_down)                                           \
    test_run_registered(NULL, set_up, tear_down)

/* The same as a group of that name, where a file runs its tests several times.
 */
#define RUN_TESTS_NAMED(name, set_up, tear_down)                               \
    test_run_registered(name, set_up, tear_down)

/* A test that TEST() has defined. */
struct test_registration {
    struct CMUnitTest test;
    const char *path; /* of its file */
    unsigned line;
    struct test_registration *next; /* of those of all files */
};
void test_register(struct test_registration *registration);

int test_run_registered(const char *group, CMFixtureFunction set_up,
                        CMFixtureFunction tear_down);

/* Run a table of tests that a suite shares between programs. */
int test_run(const char *group, const struct CMUnitTest *tests, size_t count,
             CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* End the test that runs now, as one that was skipped. */
#undef skip
#define skip() test_skip(__FILE__, __LINE__)
_Noreturn void test_skip(const char *file, int line);

/*
 * A test that has to see a whole process end runs this program once more, as
 * PROGRAM X -- ARGUMENT, where test_X.c is the file that runs now.  In that
 * process test_argument() is ARGUMENT, and TEST_FILE(X) does what the test
 * wants of it; everywhere else it is NULL.
 */
const char *test_argument(void);

/* Run that process to its end: its status, as waitpid() gives it. */
int test_run_self(const char *argument);

/* As fork().  In the child an assertion that fails ends the process; without
 * that cmocka goes on with the next test in the child. */
pid_t test_fork(void);

/* Fail the test if ${pid}, a child that the test waits for, has ended otherwise
 * than by exit(0).  Loops that wait for what a child does call this each time,
 * so that they end with the child. */
void test_check_child(pid_t pid);

/* What CMake writes: the files of the program, ended by one without a name. */
struct test_file {
    const char *name;
    int (*run)(void); /* TEST_FILE(); NULL: it only has tests */
};
extern const struct test_file test_files[];

#endif
