/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

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

#define TURNS_MAX 48
#define TIMERS_MAX 64
/* Of the made up clock, which began before the run. */
#define START_US 1000000000
/* So many turns at one instant are a loop that gets nowhere. */
#define TURNS_AT_ONCE_MAX 20000
#define EVENTS_MAX 2000000

/* The library's own, ahead of which the linker puts what is defined here. */
#define WRAPPED(type, name, ...)                                               \
    type __real_##name(__VA_ARGS__);                                           \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr,
        void *(*main)(void *), void *arg);
WRAPPED(int, pthread_join, pthread_t thread, void **result);
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

struct turn {
    enum {
        TURN_RUNS,
        TURN_IS_LAST, /* runs when nobody else does */
        TURN_POLLS,
        TURN_SLEEPS,
        TURN_JOINS,
        TURN_IS_OVER
    } state;
    sem_t go;
    pthread_t thread;
    void *(*main)(void *arg);
    void *arg;
    const void *what; /* it sleeps on */
    bool woken;
    struct pollfd *fds;
    nfds_t fd_count;
    uint64_t until_us;
    const struct turn *joined;
    unsigned held; /* locks */
};

struct timer {
    int fd; /* -1: closed */
    uint64_t at_us;
};

static struct {
    struct hf_sim *sim;
    struct hf_random random;
    uint8_t rate;
    struct turn turns[TURNS_MAX];
    unsigned count;
    unsigned at_once; /* turns since time last went on */
    unsigned events;
    bool stirred;
    bool in_event; /* nobody's turn ends now */
    struct timer timers[TIMERS_MAX];
    unsigned timer_count;
} stage;

static _Thread_local struct turn *self;

static uint64_t now_us(void)
{
    return START_US + hf_sim_now_us(stage.sim);
}

uint64_t turns_now_ms(void)
{
    return now_us() / 1000;
}

void turns_stir(void)
{
    stage.stirred = true;
}

/* ---------------------------------------------------------------- turns -- */

static bool is_ready(const struct turn *turn)
{
    switch (turn->state) {
    case TURN_RUNS:
        return true;
    case TURN_POLLS:
        return turn->until_us <= now_us() ||
               __real_poll(turn->fds, turn->fd_count, 0) > 0;
    case TURN_SLEEPS:
        return turn->woken || turn->until_us <= now_us();
    case TURN_JOINS:
        return turn->joined->state == TURN_IS_OVER;
    case TURN_IS_LAST:
    case TURN_IS_OVER:
        break;
    }
    return false;
}

static struct turn *pick(void)
{
    unsigned first = (unsigned)hf_random_below(&stage.random, stage.count);
    struct turn *last = NULL;

    for (unsigned i = 0; i < stage.count; i++) {
        struct turn *turn = &stage.turns[(first + i) % stage.count];

        if (is_ready(turn))
            return turn;
        if (turn->state == TURN_IS_LAST)
            last = turn;
    }
    return last;
}

static bool next_event(void)
{
    uint64_t before_us = now_us();
    bool happened;

    stage.in_event = true;
    happened = hf_sim_run_next(stage.sim);
    stage.in_event = false;
    if (now_us() != before_us)
        stage.at_once = 0;
    MUST(stage.events++ < EVENTS_MAX);
    return happened;
}

/* Go on with whoever is next; false if that is ${me}. */
static bool pass_on(const struct turn *me)
{
    struct turn *next;

    MUST(stage.at_once++ < TURNS_AT_ONCE_MAX);
    while ((next = pick()) == NULL) {
        bool somebody_will_go_on = next_event();

        MUST(somebody_will_go_on);
    }
    next->state = TURN_RUNS;
    if (next == me)
        return false;
    MUST(sem_post(&next->go) == 0);
    return true;
}

static void await_turn(struct turn *me)
{
    while (sem_wait(&me->go) != 0)
        MUST(errno == EINTR);
}

/* The state says what is waited for. */
static void end_turn(void)
{
    struct turn *me = self;

    MUST(!stage.in_event && me->held == 0);
    if (pass_on(me))
        await_turn(me);
}

void turns_let_others(void)
{
    self->state = TURN_IS_LAST;
    end_turn();
}

bool turns_step(uint64_t until_us)
{
    stage.stirred = false;
    if (START_US + until_us <= now_us())
        return false;
    (void)next_event();
    return stage.stirred;
}

/* -------------------------------------------------------------- threads -- */

static struct turn *new_turn(void)
{
    struct turn *turn = &stage.turns[stage.count++];

    MUST(stage.count <= TURNS_MAX);
    memset(turn, 0, sizeof(*turn));
    MUST(sem_init(&turn->go, 0, 0) == 0);
    return turn;
}

static void *run(void *arg)
{
    struct turn *me = arg;
    void *result;

    await_turn(me);
    self = me;
    result = me->main(me->arg);
    MUST(me->held == 0);
    me->state = TURN_IS_OVER;
    MUST(pass_on(me));
    self = NULL;
    return result;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*main)(void *), void *arg)
{
    struct turn *turn;
    int failure;

    if (self == NULL)
        return __real_pthread_create(thread, attr, main, arg);
    turn = new_turn();
    turn->main = main;
    turn->arg = arg;
    failure = __real_pthread_create(&turn->thread, attr, run, turn);
    MUST(failure == 0);
    *thread = turn->thread;
    return failure;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    unsigned i = stage.count;

    if (self == NULL)
        return __real_pthread_join(thread, result);
    do
        MUST(i > 0);
    while (!pthread_equal(stage.turns[--i].thread, thread));
    self->joined = &stage.turns[i];
    self->state = TURN_JOINS;
    end_turn();
    return __real_pthread_join(thread, result);
}

pthread_t turns_start(void *(*main)(void *arg), void *arg)
{
    pthread_t thread;

    MUST(__wrap_pthread_create(&thread, NULL, main, arg) == 0);
    return thread;
}

void turns_join(pthread_t thread)
{
    MUST(__wrap_pthread_join(thread, NULL) == 0);
}

unsigned turns_count(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < stage.count; i++)
        count += stage.turns[i].state != TURN_IS_OVER;
    return count;
}

/* ---------------------------------------------------------------- locks -- */

/* No turn ends while a lock is held, so nobody ever waits for one. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (self != NULL && self->held == 0 && !stage.in_event &&
        hf_random_below(&stage.random, 256) < stage.rate) {
        self->state = TURN_RUNS;
        end_turn();
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
    self->state = TURN_SLEEPS;
    end_turn();
}

/* All that is known is that it goes on some time: the first in this order. */
void turns_wake(const void *what)
{
    for (unsigned i = 0; i < stage.count; i++) {
        struct turn *turn = &stage.turns[i];

        if (turn->state == TURN_SLEEPS && turn->what == what && !turn->woken) {
            turn->woken = true;
            return;
        }
    }
}

void turns_sleep_on(const void *what)
{
    sleep_on(what, UINT64_MAX);
}

static int wait_on(pthread_cond_t *cond, pthread_mutex_t *mutex,
                   uint64_t until_us)
{
    struct turn *me = self;

    me->held--;
    __real_pthread_mutex_unlock(mutex);
    sleep_on(cond, until_us);
    __real_pthread_mutex_lock(mutex);
    me->held++;
    return me->woken ? 0 : ETIMEDOUT;
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
    turns_stir();
}

static uint64_t wake_at(uint64_t at_us)
{
    if (at_us > START_US)
        hf_sim_call_at(stage.sim, at_us - START_US, true, wake, NULL);
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
    turns_wake(cond);
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
    self->state = TURN_POLLS;
    end_turn();
    return __real_poll(fds, count, 0);
}

/* ----------------------------------------------------------------- time -- */

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
    struct timer *timer = &stage.timers[stage.timer_count];

    if (self == NULL)
        return __real_timerfd_create(clock, flags);
    MUST(stage.timer_count++ < TIMERS_MAX);
    *timer = (struct timer){eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), UINT64_MAX};
    MUST(timer->fd >= 0);
    return timer->fd;
}

static struct timer *find_timer(int fd)
{
    for (unsigned i = 0; i < stage.timer_count; i++)
        if (stage.timers[i].fd == fd)
            return &stage.timers[i];
    return NULL;
}

static void expire(void *arg)
{
    struct timer *timer = arg;

    if (timer->fd < 0 || timer->at_us > now_us())
        return;
    timer->at_us = UINT64_MAX;
    MUST(eventfd_write(timer->fd, 1) == 0);
    turns_stir();
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *before)
{
    struct timer *timer = find_timer(fd);
    eventfd_t expired;

    if (self == NULL)
        return __real_timerfd_settime(fd, flags, when, before);
    MUST(timer != NULL && flags == TFD_TIMER_ABSTIME);
    (void)eventfd_read(fd, &expired);
    timer->at_us = (uint64_t)when->it_value.tv_sec * 1000000 +
                   ((uint64_t)when->it_value.tv_nsec + 999) / 1000;
    if (timer->at_us <= now_us())
        expire(timer);
    else
        hf_sim_call_at(stage.sim, timer->at_us - START_US, true, expire, timer);
    return 0;
}

int __wrap_close(int fd)
{
    struct timer *timer = self != NULL ? find_timer(fd) : NULL;

    if (timer != NULL)
        timer->fd = -1;
    return __real_close(fd);
}

ssize_t __wrap_getrandom(void *buffer, size_t bytes, unsigned flags)
{
    uint8_t *to = buffer;

    if (self == NULL)
        return __real_getrandom(buffer, bytes, flags);
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)hf_random_below(&stage.random, 256);
    return (ssize_t)bytes;
}

/* ------------------------------------------------------------------ run -- */

void turns_reseed(uint64_t seed)
{
    hf_random_seed(&stage.random, seed);
}

void turns_begin(struct hf_sim *sim, uint64_t seed, uint8_t rate)
{
    memset(&stage, 0, sizeof(stage));
    stage.sim = sim;
    stage.rate = rate;
    turns_reseed(seed);
    self = new_turn();
}

void turns_end(void)
{
    MUST(turns_count() == 1);
    for (unsigned i = 0; i < stage.count; i++)
        sem_destroy(&stage.turns[i].go);
    self = NULL;
}
