/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-handoff URL FILE [PROCESSES]: processes that take one lock from each
 * other, through the library and by flock(2) on FILE, in turn.  There are five
 * iterations each.  It prints the time from a release to the grant of another
 * process: the median of the iterations' medians with the least and the most,
 * and the ratio within each iteration.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "figures.h"

#define ITERATIONS 5
#define PROCESSES 8
#define SAMPLES 4001
#define MIDDLE ((SAMPLES - 1) >> 1)

struct board {
    _Atomic pid_t holder; /* the last one */
    _Atomic uint64_t released_at_ns;
    atomic_uint count;
    uint64_t samples[SAMPLES];
};

static struct board *board;
static const char *url, *file;

/* Granted, and about to release.  False once there are samples enough. */
static bool note(void)
{
    uint64_t at_ns = bench_now_ns();
    pid_t before = atomic_exchange(&board->holder, getpid());
    uint64_t released_at_ns = atomic_load(&board->released_at_ns);
    unsigned at = atomic_load(&board->count);

    if (before != 0 && before != getpid() && at < SAMPLES) {
        board->samples[at] = at_ns - released_at_ns;
        atomic_store(&board->count, ++at);
    }
    atomic_store(&board->released_at_ns, bench_now_ns());
    return at < SAMPLES;
}

static void contend_by_library(void)
{
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    bool more = true;

    if (hf_client_open(url, NULL, &client) != HF_OK ||
        hf_lock_open(client, "bench", NULL, &lock) != HF_OK)
        exit(1);
    while (more) {
        if (hf_lock_acquire(lock, NULL, &grant) != HF_OK)
            exit(1);
        more = note();
        if (hf_grant_release(grant) != HF_OK)
            exit(1);
    }
    hf_lock_free(lock);
    (void)hf_client_close(client);
}

static void contend_by_flock(void)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool more = true;

    while (more) {
        if (flock(fd, LOCK_EX) != 0)
            exit(1);
        more = note();
        if (flock(fd, LOCK_UN) != 0)
            exit(1);
    }
}

/* The median of one iteration, in us. */
static double run_once(void (*contend)(void), int processes)
{
    int status;

    atomic_store(&board->count, 0);
    atomic_store(&board->holder, 0);
    for (int i = 0; i < processes; i++) {
        if (fork() == 0) {
            contend();
            _exit(0);
        }
    }
    for (int i = 0; i < processes; i++)
        if (wait(&status) < 0 || status != 0)
            exit(1);
    bench_sort_times(board->samples, SAMPLES);
    return (double)board->samples[MIDDLE] / 1000;
}

static void print_figure(const char *what, const char *unit, double *iterations)
{
    bench_sort_figures(iterations, ITERATIONS);
    printf("%-10s %8.2f (%.2f-%.2f)%s\n", what, iterations[ITERATIONS / 2],
           iterations[0], iterations[ITERATIONS - 1], unit);
}

int main(int arguments, char **words)
{
    double library[ITERATIONS], plain[ITERATIONS], ratio[ITERATIONS];
    int processes = arguments > 3 ? atoi(words[3]) : PROCESSES;

    if (arguments < 3 || processes < 2)
        return 64;
    url = words[1];
    file = words[2];
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 71;
    for (int i = 0; i < ITERATIONS; i++) {
        library[i] = run_once(contend_by_library, processes);
        plain[i] = run_once(contend_by_flock, processes);
        ratio[i] = library[i] / plain[i];
    }
    printf("handoff between %d processes\n", processes);
    print_figure("holdfast", " us", library);
    print_figure("flock(2)", " us", plain);
    print_figure("ratio", "", ratio);
    return 0;
}
