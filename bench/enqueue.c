/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-enqueue URL [PROCESSES...]: tickets of one name, made by as many
 * processes as each number says.  They are readers, so that none waits for a
 * ticket of another: what they wait for is the engine's own lock of the queue,
 * if it has one.  It makes five iterations of a second each and prints the
 * medians, with the least and the most, of how many tickets are made and
 * removed in a second, how long one takes (p50 and p99), and the CPU time of
 * one.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "figures.h"

#define ITERATIONS 5
#define ITERATION_NS UINT64_C(1000000000)
#define SAMPLES 262144

/* Shared by all processes. */
struct board {
    atomic_uint count;
    uint64_t samples[SAMPLES];
};

struct iteration {
    double rate, p50_us, p99_us, cpu_us;
};

static struct board *board;
static const char *url;

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* Of the processes that have ended. */
static double cpu_us(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_CHILDREN, &usage);
    return (seconds(usage.ru_utime) + seconds(usage.ru_stime)) * 1e6;
}

static void note(uint64_t took_ns)
{
    unsigned at = atomic_fetch_add(&board->count, 1);

    if (at < SAMPLES)
        board->samples[at] = took_ns;
}

/* All are open by ${begin_ns} and begin then. */
static void read_until(uint64_t begin_ns, uint64_t end_ns)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;

    opts.kind = HF_KIND_READ;
    if (hf_client_open(url, NULL, &client) != HF_OK ||
        hf_lock_open(client, "bench", &opts, &lock) != HF_OK)
        exit(1);
    while (bench_now_ns() < begin_ns)
        (void)usleep(1000);
    for (uint64_t at_ns = bench_now_ns(); at_ns < end_ns;) {
        uint64_t began_ns = at_ns;

        if (hf_lock_acquire(lock, NULL, &grant) != HF_OK ||
            hf_grant_release(grant) != HF_OK)
            exit(1);
        at_ns = bench_now_ns();
        note(at_ns - began_ns);
    }
    hf_lock_free(lock);
    (void)hf_client_close(client);
}

static double quantile_us(unsigned count, unsigned percent)
{
    uint64_t at = (uint64_t)(count - 1) * percent / 100;

    return (double)board->samples[at] / 1000;
}

static struct iteration run_once(int processes)
{
    uint64_t begin_ns = bench_now_ns() + (uint64_t)processes * 10000000;
    double before_us = cpu_us();
    unsigned count;
    int status;

    atomic_store(&board->count, 0);
    for (int i = 0; i < processes; i++) {
        if (fork() == 0) {
            read_until(begin_ns, begin_ns + ITERATION_NS);
            _exit(0);
        }
    }
    for (int i = 0; i < processes; i++)
        if (wait(&status) < 0 || status != 0)
            exit(1);
    count = atomic_load(&board->count);
    if (count == 0 || count > SAMPLES)
        exit(1);
    bench_sort_times(board->samples, count);
    return (struct iteration){.rate = count,
                              .p50_us = quantile_us(count, 50),
                              .p99_us = quantile_us(count, 99),
                              .cpu_us = (cpu_us() - before_us) / count};
}

/* The ${field}th of each iteration. */
static void print_figure(const char *what, const struct iteration *iterations,
                         size_t field)
{
    double values[ITERATIONS];

    for (int i = 0; i < ITERATIONS; i++)
        values[i] = ((const double *)&iterations[i])[field];
    bench_sort_figures(values, ITERATIONS);
    printf("  %s %.0f (%.0f-%.0f)", what, values[ITERATIONS / 2], values[0],
           values[ITERATIONS - 1]);
}

static void measure(int processes)
{
    struct iteration iterations[ITERATIONS];

    for (int i = 0; i < ITERATIONS; i++)
        iterations[i] = run_once(processes);
    printf("%2d processes:", processes);
    print_figure("tickets/s", iterations, 0);
    print_figure("p50 us", iterations, 1);
    print_figure("p99 us", iterations, 2);
    print_figure("CPU us", iterations, 3);
    printf("\n");
}

int main(int arguments, char **words)
{
    static const int usual[] = {1, 8, 32};

    if (arguments < 2)
        return 64;
    url = words[1];
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 71;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 2; i < arguments; i++)
        measure(atoi(words[i]));
    for (size_t i = 0; arguments == 2 && i < sizeof(usual) / sizeof(*usual);
         i++)
        measure(usual[i]);
    return 0;
}
