/* SPDX-License-Identifier: Apache-2.0 */
/* One thread runs at a time.  Each call that could wait says what it waits
 * for, and hands over to a thread that can run; when none can, the simulator
 * runs its next event. */
#include "scheduler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define THREADS_MAX 48
#define TIMERS_MAX 64
/* of the virtual clock; it began before the run */
#define START_US 1000000000
/* More switches at one instant than this are a loop that gets nowhere. */
#define SWITCHES_AT_ONCE_MAX 20000
#define EVENTS_MAX 2000000

/* The linker puts what is defined here in front of what the library calls. */
#define WRAPPED(type, name, ...)                                               \
    type __real_##name(__VA_ARGS__);                                           \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(int, pthread_create, pthread_t *id, const pthread_attr_t *attr,
        void *(*main)(void *), void *arg);
WRAPPED(int, pthread_join, pthread_t id, void **result);
WRAPPED(int, pthread_mutex_lock, pthread_mutex_t *mutex);
WRAPPED(int, pthread_mutex_unlock, pthread_mutex_t *mutex);
WRAPPED(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex);
WRAPPED(int, pthread_cond_timedwait, pthread_cond_t *cond,
        pthread_mutex_t *mutex, const struct timespec *until);
WRAPPED(int, pthread_cond_signal, pthread_cond_t *cond);
WRAPPED(int, poll, struct pollfd *fds, nfds_t count, int timeout_ms);
WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *now);
WRAPPED(int, timerfd_create, int clock, int flags);
WRAPPED(int, timerfd_settime, int fd, int flags, const struct itimerspec *when,
        struct itimerspec *before);
WRAPPED(int, close, int fd);
WRAPPED(ssize_t, getrandom, void *buffer, size_t bytes, unsigned flags);

struct scheduled_thread {
    enum {
        THREAD_RUNS,
        THREAD_IS_LAST, /* runs when no other thread can */
        THREAD_POLLS,
        THREAD_SLEEPS,
        THREAD_JOINS,
        THREAD_IS_OVER
    } state;
    sem_t go;
    pthread_t id;
    void *(*main)(void *arg);
    void *arg;
    const void *what; /* it sleeps on this address */
    bool woken;
    struct pollfd *fds;
    nfds_t fd_count;
    uint64_t until_us;
    const struct scheduled_thread *joined;
    unsigned held; /* number of mutexes */
};

struct scheduled_timer {
    int fd; /* -1: closed */
    uint64_t at_us;
};

static struct {
    struct hf_sim *sim;
    struct hf_random random;
    uint8_t rate;
    struct scheduled_thread threads[THREADS_MAX];
    unsigned count;
    unsigned switches_at_once; /* switches since time last passed */
    unsigned events;
    bool something_ready;
    bool in_event; /* no thread may switch now */
    struct scheduled_timer timers[TIMERS_MAX];
    unsigned timer_count;
} sched;

static _Thread_local struct scheduled_thread *self;

static uint64_t now_us(void)
{
    return START_US + hf_sim_now_us(sched.sim);
}

uint64_t scheduler_now_ms(void)
{
    return now_us() / 1000;
}

void scheduler_note_ready(void)
{
    sched.something_ready = true;
}

/* -------------------------------------------------------------- switches -- */

static bool is_ready(const struct scheduled_thread *thread)
{
    switch (thread->state) {
    case THREAD_RUNS:
        return true;
    case THREAD_POLLS:
        return thread->until_us <= now_us() ||
               __real_poll(thread->fds, thread->fd_count, 0) > 0;
    case THREAD_SLEEPS:
        return thread->woken || thread->until_us <= now_us();
    case THREAD_JOINS:
        return thread->joined->state == THREAD_IS_OVER;
    case THREAD_IS_LAST:
    case THREAD_IS_OVER:
        break;
    }
    return false;
}

static struct scheduled_thread *pick(void)
{
    unsigned first = (unsigned)hf_random_below(&sched.random, sched.count);
    struct scheduled_thread *last = NULL;

    for (unsigned i = 0; i < sched.count; i++) {
        struct scheduled_thread *thread =
            &sched.threads[(first + i) % sched.count];

        if (is_ready(thread))
            return thread;
        if (thread->state == THREAD_IS_LAST)
            last = thread;
    }
    return last;
}

static bool next_event(void)
{
    uint64_t before_us = now_us();
    bool happened;

    sched.in_event = true;
    happened = hf_sim_run_next(sched.sim);
    sched.in_event = false;
    if (now_us() != before_us)
        sched.switches_at_once = 0;
    MUST(sched.events++ < EVENTS_MAX);
    return happened;
}

/* Hand over to the next thread; false if that is ${this_thread}. */
static bool switch_to_next(const struct scheduled_thread *this_thread)
{
    struct scheduled_thread *next;

    MUST(sched.switches_at_once++ < SWITCHES_AT_ONCE_MAX);
    while ((next = pick()) == NULL) {
        bool somebody_will_go_on = next_event();

        MUST(somebody_will_go_on);
    }
    next->state = THREAD_RUNS;
    if (next == this_thread)
        return false;
    MUST(sem_post(&next->go) == 0);
    return true;
}

static void await_switch(struct scheduled_thread *this_thread)
{
    while (sem_wait(&this_thread->go) != 0)
        MUST(errno == EINTR);
}

/* .state says what the thread waits for. */
static void switch_thread(void)
{
    struct scheduled_thread *this_thread = self;

    MUST(!sched.in_event && this_thread->held == 0);
    if (switch_to_next(this_thread))
        await_switch(this_thread);
}

void scheduler_run_others(void)
{
    self->state = THREAD_IS_LAST;
    switch_thread();
}

bool scheduler_step(uint64_t until_us)
{
    sched.something_ready = false;
    if (START_US + until_us <= now_us())
        return false;
    (void)next_event();
    return sched.something_ready;
}

/* --------------------------------------------------------------- threads -- */

static struct scheduled_thread *new_thread(void)
{
    struct scheduled_thread *thread = &sched.threads[sched.count++];

    MUST(sched.count <= THREADS_MAX);
    memset(thread, 0, sizeof(*thread));
    MUST(sem_init(&thread->go, 0, 0) == 0);
    return thread;
}

static void *run(void *arg)
{
    struct scheduled_thread *this_thread = arg;
    void *result;

    await_switch(this_thread);
    self = this_thread;
    result = this_thread->main(this_thread->arg);
    MUST(this_thread->held == 0);
    this_thread->state = THREAD_IS_OVER;
    MUST(switch_to_next(this_thread));
    self = NULL;
    return result;
}

int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
                          void *(*main)(void *), void *arg)
{
    struct scheduled_thread *thread;
    int failure;

    if (self == NULL)
        return __real_pthread_create(id, attr, main, arg);
    thread = new_thread();
    thread->main = main;
    thread->arg = arg;
    failure = __real_pthread_create(&thread->id, attr, run, thread);
    MUST(failure == 0);
    *id = thread->id;
    return failure;
}

int __wrap_pthread_join(pthread_t id, void **result)
{
    unsigned i = sched.count;

    if (self == NULL)
        return __real_pthread_join(id, result);
    do
        MUST(i > 0);
    while (!pthread_equal(sched.threads[--i].id, id));
    self->joined = &sched.threads[i];
    self->state = THREAD_JOINS;
    switch_thread();
    return __real_pthread_join(id, result);
}

pthread_t scheduler_start_thread(void *(*main)(void *arg), void *arg)
{
    pthread_t id;

    MUST(__wrap_pthread_create(&id, NULL, main, arg) == 0);
    return id;
}

void scheduler_join_thread(pthread_t id)
{
    MUST(__wrap_pthread_join(id, NULL) == 0);
}

unsigned scheduler_count_threads(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < sched.count; i++)
        count += sched.threads[i].state != THREAD_IS_OVER;
    return count;
}

/* ----------------------------------------------------------------- locks -- */

/* No thread switches while it holds a mutex, so no mutex is ever waited for. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (self != NULL && self->held == 0 && !sched.in_event &&
        hf_random_below(&sched.random, 256) < sched.rate) {
        self->state = THREAD_RUNS;
        switch_thread();
    }
    if (self != NULL)
        self->held++;
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (self != NULL)
        self->held--;
    return __real_pthread_mutex_unlock(mutex);
}

static void sleep_on(const void *what, uint64_t until_us)
{
    self->what = what;
    self->until_us = until_us;
    self->woken = false;
    self->state = THREAD_SLEEPS;
    switch_thread();
}

/* One of the sleepers must go on: the first in this order. */
void scheduler_wake(const void *what)
{
    for (unsigned i = 0; i < sched.count; i++) {
        struct scheduled_thread *thread = &sched.threads[i];

        if (thread->state == THREAD_SLEEPS && thread->what == what &&
            !thread->woken) {
            thread->woken = true;
            return;
        }
    }
}

void scheduler_sleep_on(const void *what)
{
    sleep_on(what, UINT64_MAX);
}

static int wait_on(pthread_cond_t *cond, pthread_mutex_t *mutex,
                   uint64_t until_us)
{
    struct scheduled_thread *this_thread = self;

    this_thread->held--;
    __real_pthread_mutex_unlock(mutex);
    sleep_on(cond, until_us);
    __real_pthread_mutex_lock(mutex);
    this_thread->held++;
    return this_thread->woken ? 0 : ETIMEDOUT;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (self == NULL)
        return __real_pthread_cond_wait(cond, mutex);
    return wait_on(cond, mutex, UINT64_MAX);
}

static void wake(void *arg)
{
    (void)arg;
    scheduler_note_ready();
}

static uint64_t wake_at(uint64_t at_us)
{
    if (at_us > START_US)
        hf_sim_call_at(sched.sim, at_us - START_US, true, wake, NULL);
    return at_us;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                  const struct timespec *until)
{
    if (self == NULL)
        return __real_pthread_cond_timedwait(cond, mutex, until);
    return wait_on(cond, mutex,
                   wake_at((uint64_t)until->tv_sec * 1000000 +
                           (uint64_t)until->tv_nsec / 1000 + 1));
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
    if (self == NULL)
        return __real_pthread_cond_signal(cond);
    scheduler_wake(cond);
    return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    if (self == NULL || timeout_ms == 0)
        return __real_poll(fds, count, timeout_ms);
    self->fds = fds;
    self->fd_count = count;
    self->until_us = UINT64_MAX;
    if (timeout_ms > 0)
        self->until_us = wake_at(now_us() + (uint64_t)timeout_ms * 1000);
    self->state = THREAD_POLLS;
    switch_thread();
    return __real_poll(fds, count, 0);
}

/* ------------------------------------------------------------------ time -- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (self == NULL || clock == CLOCK_REALTIME)
        return __real_clock_gettime(clock, now);
    now->tv_sec = (time_t)(now_us() / 1000000);
    now->tv_nsec = (long)(now_us() % 1000000) * 1000;
    return 0;
}

int __wrap_timerfd_create(int clock, int flags)
{
    struct scheduled_timer *scheduled_timer = &sched.timers[sched.timer_count];

    if (self == NULL)
        return __real_timerfd_create(clock, flags);
    MUST(sched.timer_count++ < TIMERS_MAX);
    *scheduled_timer = (struct scheduled_timer){
        eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), UINT64_MAX};
    MUST(scheduled_timer->fd >= 0);
    return scheduled_timer->fd;
}

static struct scheduled_timer *find_timer(int fd)
{
    for (unsigned i = 0; i < sched.timer_count; i++)
        if (sched.timers[i].fd == fd)
            return &sched.timers[i];
    return NULL;
}

static void expire(void *arg)
{
    struct scheduled_timer *scheduled_timer = arg;

    if (scheduled_timer->fd < 0 || scheduled_timer->at_us > now_us())
        return;
    scheduled_timer->at_us = UINT64_MAX;
    MUST(eventfd_write(scheduled_timer->fd, 1) == 0);
    scheduler_note_ready();
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *before)
{
    struct scheduled_timer *scheduled_timer = find_timer(fd);
    eventfd_t expired;

    if (self == NULL)
        return __real_timerfd_settime(fd, flags, when, before);
    MUST(scheduled_timer != NULL);
    (void)eventfd_read(fd, &expired);
    scheduled_timer->at_us = (uint64_t)when->it_value.tv_sec * 1000000 +
                             ((uint64_t)when->it_value.tv_nsec + 999) / 1000;
    if (flags != TFD_TIMER_ABSTIME)
        scheduled_timer->at_us = scheduled_timer->at_us == 0
                                     ? UINT64_MAX /* it is stopped */
                                     : now_us() + scheduled_timer->at_us;
    if (scheduled_timer->at_us == UINT64_MAX)
        return 0;
    if (scheduled_timer->at_us <= now_us())
        expire(scheduled_timer);
    else
        hf_sim_call_at(sched.sim, scheduled_timer->at_us - START_US, true,
                       expire, scheduled_timer);
    return 0;
}

int __wrap_close(int fd)
{
    struct scheduled_timer *scheduled_timer =
        self != NULL ? find_timer(fd) : NULL;

    if (scheduled_timer != NULL)
        scheduled_timer->fd = -1;
    return __real_close(fd);
}

ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags)
{
    uint8_t *to = buffer;

    if (self == NULL)
        return __real_getrandom(buffer, bytes, flags);
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)hf_random_below(&sched.random, 256);
    return (ssize_t)bytes;
}

/* ------------------------------------------------------------------- run -- */

void scheduler_reseed(uint64_t seed)
{
    hf_random_seed(&sched.random, seed);
}

void scheduler_begin(struct hf_sim *sim, uint64_t seed, uint8_t rate)
{
    memset(&sched, 0, sizeof(sched));
    sched.sim = sim;
    sched.rate = rate;
    scheduler_reseed(seed);
    self = new_thread();
}

void scheduler_end(void)
{
    MUST(scheduler_count_threads() == 1);
    for (unsigned i = 0; i < sched.count; i++)
        sem_destroy(&sched.threads[i].go);
    self = NULL;
}
