/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 200000

static uint64_t samples[SAMPLES_MAX];
static atomic_uint taken;
static uint64_t began_ns, began_cpu_ns;

bool bench_next_request(struct bench_request *request)
{
    char line[64];

    (void)fflush(stdout);
    if (fgets(line, sizeof(line), stdin) == NULL)
        return false;
    request->first = request->second = 0;
    if (sscanf(line, "%15s %u %u", request->word, &request->first,
               &request->second) < 1)
        bench_fail("an empty line; expected a request");
    return true;
}

static uint64_t of_timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

static uint64_t cpu_ns(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return of_timeval_ns(usage.ru_utime) + of_timeval_ns(usage.ru_stime);
}

void bench_begin(void)
{
    atomic_store(&taken, 0);
    began_cpu_ns = cpu_ns();
    began_ns = bench_now_ns();
}

void bench_pause(unsigned ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000,
                                   .tv_nsec = ms % 1000 * 1000000L};

    if (ms > 0)
        (void)nanosleep(&pause, NULL);
}

void bench_sample(uint64_t ns)
{
    unsigned at = atomic_fetch_add(&taken, 1);

    if (at >= SAMPLES_MAX)
        bench_fail("more samples than there is room for");
    samples[at] = ns;
}

uint64_t bench_median(void)
{
    unsigned count = atomic_load(&taken);

    bench_sort_times(samples, count);
    return count == 0 ? 0 : samples[count / 2];
}

uint64_t bench_mean(void)
{
    unsigned count = atomic_load(&taken);
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += samples[i];
    return count == 0 ? 0 : sum / count;
}

void bench_end(uint64_t grants)
{
    uint64_t passed_ns = bench_now_ns() - began_ns;

    printf("%" PRIu64 " %" PRIu64 " %" PRIu64, cpu_ns() - began_cpu_ns,
           passed_ns, grants);
    for (unsigned i = 0; i < atomic_load(&taken); i++)
        printf(" %" PRIu64, samples[i]);
    printf("\n");
}

uint64_t bench_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
        bench_fail("/proc/self/statm cannot be read");
    (void)fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void bench_fail(const char *what)
{
    (void)fprintf(stderr, "bench: %s\n", what);
    exit(1);
}
