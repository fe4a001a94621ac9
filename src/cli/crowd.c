/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/say.h"
#include "core/random.h"
#include "history/history.h"

/* Frozen for 2^6 to 2^13 ms: some thaw within a lease, some after it. */
#define FREEZE_LEAST_LOG 6
#define FREEZE_LOGS 8

/* Who has not ended by then, asked to, is killed. */
#define END_MAX_MS 20000

#define TURN_MS 50
#define NAME_BYTES 32
#define RESOURCES_BYTES (HF_RESOURCES * sizeof(struct hf_resource))

struct member {
    pid_t pid; /* 0: it has ended */
    char name[NAME_BYTES];
    unsigned lives;
    uint64_t thaw_at_ms; /* HF_FOREVER: it is not frozen */
};

struct crowd {
    const struct hf_crowd_opts *opts;
    FILE *history;
    struct hf_random random;
    struct hf_resource *resources; /* HF_RESOURCES of them */
    int notes[2];                  /* a pipe: from all of them */
    int signals;
    sigset_t mask_before;
    struct member members[HF_CROWD_MAX];
    uint64_t fault_at_ms;
    bool ending;
    int exit_code;
};

/* ----------------------------------------------------------------- notes -- */

static void note(const struct crowd *crowd, const struct member *member,
                 enum hf_note_word word)
{
    struct hf_note note = {.client = member->name, .word = word};
    char line[HF_NOTE_BYTES];
    struct timespec now;
    size_t bytes;

    clock_gettime(CLOCK_BOOTTIME, &now);
    note.at_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    bytes = hf_note_format(&note, line);
    fwrite(line, 1, bytes, crowd->history);
}

/* Until there is nothing more for now.  Lines come whole. */
static void take_notes(const struct crowd *crowd)
{
    char text[1 << 16];
    ssize_t bytes;

    while ((bytes = read(crowd->notes[0], text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)bytes, crowd->history);
}

/* --------------------------------------------------------------- members -- */

static _Noreturn void be_contender(struct crowd *crowd,
                                   const struct member *member)
{
    struct hf_contender self = {
        .url = crowd->opts->url,
        .lock = crowd->opts->lock,
        .kinds = crowd->opts->kinds,
        .name = member->name,
        .number = (unsigned)(member - crowd->members) + 1,
        .seed = crowd->opts->seed + (uint64_t)(member - crowd->members) +
                (uint64_t)member->lives * HF_CROWD_MAX,
        .resources = crowd->resources,
        .history = crowd->notes[1],
    };

    /* SIGINT, which a terminal sends to all of us, stays blocked, and SIGTERM
     * until it looks. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Where nobody outside of our group looks after it, the kernel would hang
     * all of it up as soon as one that is stopped were left in it. */
    setpgid(0, 0);
    close(crowd->notes[0]);
    close(crowd->signals);
    _exit(hf_contender_main(&self));
}

static void fail(struct crowd *crowd, int exit_code)
{
    if (crowd->exit_code == 0)
        crowd->exit_code = exit_code;
    crowd->ending = true;
}

/* A client of its own in the history each time. */
static void start(struct crowd *crowd, struct member *member)
{
    pid_t pid;

    member->lives++;
    member->thaw_at_ms = HF_FOREVER;
    snprintf(member->name, sizeof member->name, "%td.%u",
             member - crowd->members + 1, member->lives);
    fflush(crowd->history);
    pid = fork();
    if (pid == 0)
        be_contender(crowd, member);
    if (pid < 0) {
        hf_say("no process for a contender: %s; end some of what is running, "
               "or raise the limits (ulimit -a)",
               strerror(errno));
        fail(crowd, HF_EXIT_LIMIT);
        return;
    }
    member->pid = pid;
}

/* Noted before, so that what it relied on is not taken for longer. */
static void kill_member(struct crowd *crowd, struct member *member)
{
    note(crowd, member, HF_NOTE_DIED);
    kill(member->pid, SIGKILL);
    while (waitpid(member->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    member->pid = 0;
}

static void freeze(struct crowd *crowd, struct member *member)
{
    uint64_t most_ms = (uint64_t)1
                       << (FREEZE_LEAST_LOG +
                           hf_random_below(&crowd->random, FREEZE_LOGS));

    member->thaw_at_ms = hf_clock_now_ms() + most_ms;
    note(crowd, member, HF_NOTE_FROZEN);
    kill(member->pid, SIGSTOP);
}

static void thaw(struct crowd *crowd, struct member *member)
{
    member->thaw_at_ms = HF_FOREVER;
    kill(member->pid, SIGCONT);
    note(crowd, member, HF_NOTE_THAWED);
}

/* One that ends by itself has said why. */
static void reap(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->opts->count; i++) {
        struct member *member = &crowd->members[i];
        int status;

        if (member->pid == 0 || waitpid(member->pid, &status, WNOHANG) <= 0)
            continue;
        member->pid = 0;
        if (WIFSIGNALED(status)) {
            hf_say("contender %s was killed by signal %d, and not by us; see "
                   "whether memory ran out, else please report it",
                   member->name, WTERMSIG(status));
            note(crowd, member, HF_NOTE_DIED);
            fail(crowd, HF_EXIT_BUG);
        } else if (WEXITSTATUS(status) != 0) {
            fail(crowd, WEXITSTATUS(status));
        }
    }
}

/* ---------------------------------------------------------------- faults -- */

static void plan_fault(struct crowd *crowd)
{
    uint64_t every_ms = crowd->opts->fault_every_ms;

    crowd->fault_at_ms = HF_FOREVER;
    if (every_ms > 0)
        crowd->fault_at_ms =
            hf_clock_now_ms() + hf_random_below(&crowd->random, 2 * every_ms);
}

/* Every other time one that holds: it is hit while it relies on the lock. */
static struct member *choose(struct crowd *crowd)
{
    uint64_t place = hf_random_below(&crowd->random, HF_RESOURCES);
    unsigned holder = 0;

    /* Of any lock that is held, the first from there on. */
    for (unsigned i = 0; i < HF_RESOURCES && holder == 0; i++)
        holder =
            atomic_load(&crowd->resources[(place + i) % HF_RESOURCES].holder);

    if (holder != 0 && hf_random_below(&crowd->random, 2) == 0)
        return &crowd->members[holder - 1];
    return &crowd->members[hf_random_below(&crowd->random, crowd->opts->count)];
}

static void do_fault(struct crowd *crowd)
{
    struct member *member = choose(crowd);
    bool kills = hf_random_below(&crowd->random, 2) == 0;

    /* One that is frozen thaws first: what it does then is what counts. */
    if (member->pid == 0 || member->thaw_at_ms != HF_FOREVER)
        return;
    if (kills) {
        kill_member(crowd, member);
        start(crowd, member);
    } else {
        freeze(crowd, member);
    }
}

static void thaw_due(struct crowd *crowd, uint64_t now_ms)
{
    for (unsigned i = 0; i < crowd->opts->count; i++) {
        struct member *member = &crowd->members[i];

        if (member->pid != 0 && member->thaw_at_ms != HF_FOREVER &&
            member->thaw_at_ms <= now_ms)
            thaw(crowd, member);
    }
}

/* ------------------------------------------------------------------ run -- */

static void turn(struct crowd *crowd)
{
    struct pollfd polled[] = {{crowd->notes[0], POLLIN, 0},
                              {crowd->signals, POLLIN, 0}};
    struct signalfd_siginfo info;

    poll(polled, 2, TURN_MS);
    if (polled[1].revents && read(crowd->signals, &info, sizeof info) > 0)
        crowd->ending = true;
    take_notes(crowd);
    reap(crowd);
}

static void torment(struct crowd *crowd)
{
    uint64_t end_at_ms = hf_clock_add(hf_clock_now_ms(), crowd->opts->for_ms);
    uint64_t now_ms;

    plan_fault(crowd);
    while (!crowd->ending && (now_ms = hf_clock_now_ms()) < end_at_ms) {
        turn(crowd);
        thaw_due(crowd, now_ms);
        if (now_ms >= crowd->fault_at_ms) {
            do_fault(crowd);
            plan_fault(crowd);
        }
    }
}

static bool anyone(const struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->opts->count; i++)
        if (crowd->members[i].pid != 0)
            return true;
    return false;
}

static void end(struct crowd *crowd)
{
    uint64_t patience_ms = hf_clock_now_ms() + END_MAX_MS;

    thaw_due(crowd, HF_FOREVER - 1);
    for (unsigned i = 0; i < crowd->opts->count; i++)
        if (crowd->members[i].pid != 0)
            kill(crowd->members[i].pid, SIGTERM);
    while (anyone(crowd) && hf_clock_now_ms() < patience_ms)
        turn(crowd);
    for (unsigned i = 0; i < crowd->opts->count; i++)
        if (crowd->members[i].pid != 0)
            kill_member(crowd, &crowd->members[i]);
    take_notes(crowd);
}

static int open_crowd(struct crowd *crowd)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &crowd->mask_before);
    crowd->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    crowd->resources = mmap(NULL, RESOURCES_BYTES, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crowd->signals >= 0 && crowd->resources != MAP_FAILED &&
        pipe2(crowd->notes, O_CLOEXEC) == 0) {
        fcntl(crowd->notes[0], F_SETFL, O_NONBLOCK);
        return 0;
    }
    hf_say("no descriptors or memory to begin with: %s; raise the limits "
           "(ulimit -a)",
           strerror(errno));
    return HF_EXIT_LIMIT;
}

static void close_crowd(struct crowd *crowd)
{
    if (crowd->notes[0] >= 0) {
        close(crowd->notes[0]);
        close(crowd->notes[1]);
    }
    if (crowd->signals >= 0)
        close(crowd->signals);
    if (crowd->resources != MAP_FAILED)
        munmap(crowd->resources, RESOURCES_BYTES);
    sigprocmask(SIG_SETMASK, &crowd->mask_before, NULL);
}

int hf_crowd_run(const struct hf_crowd_opts *opts, FILE *history)
{
    struct crowd crowd = {.opts = opts, .history = history, .notes = {-1, -1}};

    hf_random_seed(&crowd.random, opts->seed);
    crowd.exit_code = open_crowd(&crowd);
    if (crowd.exit_code == 0) {
        fputs(HF_HISTORY_FIRST_LINE "\n", history);
        for (unsigned i = 0; i < opts->count; i++)
            start(&crowd, &crowd.members[i]);
        torment(&crowd);
        end(&crowd);
    }
    close_crowd(&crowd);
    return crowd.exit_code;
}
