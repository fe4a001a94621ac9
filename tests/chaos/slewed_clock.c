/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to be preloaded.  The clocks of the program run as they do while
 * NTP slews them: all but CLOCK_MONOTONIC_RAW, and those of processor time, are
 * faster or slower than the kernel's by HF_SLEW_PPM millionths, since
 * CLOCK_BOOTTIME showed HF_SLEW_FROM_NS.  Programs with the same two numbers
 * see the same clocks, as on one machine.
 *
 * Timers and timeouts run by such a clock, too, so they are slewed as well:
 * those of poll, select, epoll, nanosleep, timerfd, conditions and semaphores.
 * setitimer() and timer_settime() are not.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define MILLION 1000000
#define KERNEL_SIGSET_BYTES 8

/* Nobody slews by as much. */
#define PPM_MAX 500000

static int64_t ppm, from_ns;

__attribute__((constructor)) static void read_environment(void)
{
    const char *rate = getenv("HF_SLEW_PPM"), *from = getenv("HF_SLEW_FROM_NS");

    ppm = rate != NULL && from != NULL ? strtoll(rate, NULL, 10) : 0;
    from_ns = from != NULL ? strtoll(from, NULL, 10) : 0;
    if (ppm < -PPM_MAX || ppm > PPM_MAX)
        abort();
}

/* ---------------------------------------------------------------- clocks -- */

static int64_t to_ns(const struct timespec *time)
{
    return time->tv_sec * NS_PER_S + time->tv_nsec;
}

static struct timespec of_ns(int64_t ns)
{
    return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

static int64_t kernel_ns(clockid_t clock)
{
    struct timespec now = {0};

    (void)syscall(SYS_clock_gettime, clock, &now);
    return to_ns(&now);
}

static int is_slewed(clockid_t clock)
{
    return ppm != 0 && clock >= 0 && clock != CLOCK_MONOTONIC_RAW &&
           clock != CLOCK_PROCESS_CPUTIME_ID &&
           clock != CLOCK_THREAD_CPUTIME_ID;
}

/* ${ns}, times ${numerator}/${denominator}. */
static int64_t scaled(int64_t ns, int64_t numerator, int64_t denominator)
{
    return (int64_t)((__int128)ns * numerator / denominator);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, now);

    if (rc == 0 && is_slewed(clock))
        *now = of_ns(to_ns(now) +
                     scaled(kernel_ns(CLOCK_BOOTTIME) - from_ns, ppm, MILLION));
    return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec precise;

    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec precise;

    (void)clock_gettime(CLOCK_REALTIME, &precise);
    if (now != NULL)
        *now = precise.tv_sec;
    return precise.tv_sec;
}

/* As chrony does it: most by the length of the tick. */
int adjtimex(struct timex *clock)
{
    int state = (int)syscall(SYS_adjtimex, clock);

    clock->tick = 10000 + ppm / 100;
    clock->freq = ppm % 100 * 65536;
    return state;
}

/* ------------------------------------------------------------- durations -- */

/* What the kernel has to wait while our clocks go on by ${ns}. */
static int64_t kernel_duration_ns(int64_t ns)
{
    return ns <= 0 ? ns : scaled(ns, MILLION, MILLION + ppm) + 1;
}

static int kernel_duration_ms(int ms)
{
    return ms <= 0
               ? ms
               : (int)((kernel_duration_ns(ms * NS_PER_MS) + NS_PER_MS - 1) /
                       NS_PER_MS);
}

/* ${in} as the kernel has to get it, in ${out}; NULL stays NULL. */
static struct timespec *kernel_duration(const struct timespec *in,
                                        struct timespec *out)
{
    if (in == NULL)
        return NULL;
    *out = of_ns(kernel_duration_ns(to_ns(in)));
    return out;
}

/* What the kernel's ${clock} shows when ours shows ${ns}. */
static int64_t kernel_instant_ns(clockid_t clock, int64_t ns)
{
    int64_t ahead_ns = kernel_ns(clock) - kernel_ns(CLOCK_BOOTTIME);
    int64_t kernel;

    if (!is_slewed(clock) || ns <= 0)
        return ns;
    kernel = ahead_ns + from_ns +
             scaled(ns - ahead_ns - from_ns, MILLION, MILLION + ppm) + 1;
    return kernel > 0 ? kernel : 1; /* long ago, and not: never */
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                    struct timespec *left)
{
    int64_t ns = to_ns(wanted);
    struct timespec kernel =
        of_ns(flags & TIMER_ABSTIME ? kernel_instant_ns(clock, ns)
                                    : kernel_duration_ns(ns));
    static int (*next)(clockid_t, int, const struct timespec *,
                       struct timespec *);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "clock_nanosleep");
    return next(clock, flags, &kernel, left);
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    struct timespec kernel;

    return (int)syscall(SYS_nanosleep, kernel_duration(wanted, &kernel), left);
}

int usleep(useconds_t us)
{
    struct timespec wanted = of_ns((int64_t)us * 1000);

    return nanosleep(&wanted, NULL);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
          const sigset_t *mask)
{
    struct timespec kernel;

    return (int)syscall(SYS_ppoll, fds, count,
                        kernel_duration(timeout, &kernel), mask,
                        KERNEL_SIGSET_BYTES);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec timeout = of_ns(timeout_ms * NS_PER_MS);

    return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
}

int epoll_pwait(int fd, struct epoll_event *events, int count, int timeout_ms,
                const sigset_t *mask)
{
    return (int)syscall(SYS_epoll_pwait, fd, events, count,
                        kernel_duration_ms(timeout_ms), mask,
                        KERNEL_SIGSET_BYTES);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
    return epoll_pwait(fd, events, count, timeout_ms, NULL);
}

int select(int count, fd_set *restrict in, fd_set *restrict out,
           fd_set *restrict other, struct timeval *restrict timeout)
{
    struct timespec kernel = {0};

    if (timeout != NULL)
        kernel = of_ns(kernel_duration_ns(timeout->tv_sec * NS_PER_S +
                                          timeout->tv_usec * 1000));
    return (int)syscall(SYS_pselect6, count, in, out, other,
                        timeout != NULL ? &kernel : NULL, NULL);
}

/* ---------------------------------------------------------------- timers -- */

#define FDS_MAX 1024
static clockid_t timer_clocks[FDS_MAX];

int timerfd_create(clockid_t clock, int flags)
{
    int fd = (int)syscall(SYS_timerfd_create, clock, flags);

    if (fd >= 0 && fd < FDS_MAX)
        timer_clocks[fd] = clock;
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *wanted,
                    struct itimerspec *before)
{
    int64_t ns = to_ns(&wanted->it_value);
    struct itimerspec kernel = {
        .it_interval = of_ns(kernel_duration_ns(to_ns(&wanted->it_interval)))};

    if (flags & TFD_TIMER_ABSTIME && fd < FDS_MAX)
        ns = kernel_instant_ns(timer_clocks[fd], ns);
    else
        ns = kernel_duration_ns(ns);
    kernel.it_value = of_ns(ns);
    return (int)syscall(SYS_timerfd_settime, fd, flags, &kernel, before);
}

/* A condition waits by CLOCK_REALTIME or CLOCK_MONOTONIC and does not say by
 * which: the instant does, because the machine has not been up for 31 years. */
static struct timespec of_condition(const struct timespec *until)
{
    return of_ns(kernel_instant_ns(until->tv_sec > NS_PER_S ? CLOCK_REALTIME
                                                            : CLOCK_MONOTONIC,
                                   to_ns(until)));
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition,
                           pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *,
                       const struct timespec *);
    struct timespec kernel = of_condition(until);

    /* dlsym() may find the condition of before glibc 2.3.2, another one. */
    if (next == NULL)
        *(void **)&next =
            dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return next(condition, mutex, &kernel);
}

int pthread_cond_clockwait(pthread_cond_t *restrict condition,
                           pthread_mutex_t *restrict mutex, clockid_t clock,
                           const struct timespec *restrict until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                       const struct timespec *);
    struct timespec kernel = of_ns(kernel_instant_ns(clock, to_ns(until)));

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
    return next(condition, mutex, clock, &kernel);
}

int sem_timedwait(sem_t *restrict semaphore,
                  const struct timespec *restrict until)
{
    static int (*next)(sem_t *, const struct timespec *);
    struct timespec kernel =
        of_ns(kernel_instant_ns(CLOCK_REALTIME, to_ns(until)));

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "sem_timedwait");
    return next(semaphore, &kernel);
}
