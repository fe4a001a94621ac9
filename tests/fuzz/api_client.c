/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of clients and listeners, and calls that are wrong for every client. */
#include <string.h>

#include <holdfast/uv.h>

#include "api.h"

static void on_state(void *arg, enum hf_state state)
{
    struct api_client *c = arg;

    MUST(!c->got_closed && c->drops == 0);
    MUST(strcmp(hf_state_name(state), "?") != 0);
    c->got_closed = state == HF_STATE_CLOSED;
}

static void on_state_drop(void *arg)
{
    struct api_client *c = arg;

    MUST(c->drops++ == 0);
}

static hf_status open_(struct api_client *c, const char *url,
                       const struct hf_client_opts *opts,
                       struct hf_client **made)
{
    if (c->way == API_UV)
        return hf_client_open_uv(&api.loop, url, opts, made);
    return hf_client_open(url, opts, made);
}

static struct api_client *new_client(void)
{
    for (unsigned i = 0; i < API_CLIENTS; i++)
        if (!api.clients[i].used)
            return &api.clients[i];
    return NULL;
}

/* Only the first thread may borrow the loop. */
void api_client_open(const struct api_step *s)
{
    /* Not for ever, because the first thread, which may wait here, repairs
     * the links. */
    static const uint64_t connect_ms[] = {15000, 1, 500, 25000};
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct api_client *c = new_client();
    bool is_wrong = s->c % 16 == 15;
    struct hf_client *made;
    hf_status status;

    if (c == NULL || sim_clients_count() == SIM_CLIENTS_MAX)
        return;
    c->way = s->b % API_WAYS;
    if (c->way == API_UV && !pthread_equal(pthread_self(), api.main))
        return;
    c->used = true;
    opts.delivery =
        c->way == API_DISPATCH ? HF_DELIVER_DISPATCH : HF_DELIVER_THREAD;
    opts.connect_ms = connect_ms[s->a % 4];
    opts.on_state = (struct hf_on_state){on_state, c, on_state_drop};
    if (is_wrong)
        opts.size = s->a % offsetof(struct hf_client_opts, loss_at);
    c->sim_client = sim_clients_count();
    status = open_(c, s->c % 16 == 14 ? "nowhere:" : "sim:", &opts, &made);
    api_expect("hf_client_open", status,
               BIT(HF_OK) | BIT(HF_ENOMEM) | BIT(HF_EINVAL) |
                   BIT(HF_EUNSUPPORTED));
    MUST((made != NULL) == (status == HF_OK));
    /* Fields behind a wrong size must not be read. */
    MUST(status == HF_OK || c->drops == !is_wrong);
    MUST(status != HF_OK || !is_wrong);
    c->client = made;
}

/* ----------------------------------------------------------------- close -- */

static void on_close_end(struct api_operation *operation, hf_status status)
{
    struct api_client *c = operation->client;

    MUST(status == HF_OK && c->drops == 1 && !c->closed);
    c->closed = true;
}

static void close_start(struct api_client *c, const struct api_step *next_step)
{
    struct api_operation *operation =
        api_operation("hf_client_close_start", c, BIT(HF_OK), next_step);
    hf_status status;

    if (operation == NULL)
        return;
    operation->on_end = on_close_end;
    c->closing = c->client;
    c->client = NULL;
    status = hf_client_close_start(c->closing, api_done(operation));
    api_started(operation, status, BIT(HF_OK));
}

/* Another call on the handle may have begun and got no further. */
void api_client_close(const struct api_step *s, bool inside)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    const struct api_step next_step = {s->c, s->b, 0, 0};
    struct hf_client *client;
    struct api_blocking call;
    hf_status status;

    if (c == NULL || c->busy > 0)
        return;
    if (s->b % 2 == 0) {
        close_start(c, inside ? NULL : &next_step);
        return;
    }
    call = api_blocks(c, 0);
    client = c->client;
    c->client = NULL;
    status = hf_client_close(client);
    if (api_blocked(&call, "hf_client_close", status, BIT(HF_OK))) {
        MUST(c->drops == 1);
        c->closed = true;
    } else {
        c->client = client;
    }
}

/* ------------------------------------------------------------- listeners -- */

static void on_other_state(void *arg, enum hf_state state)
{
    struct api_listener *l = arg;

    MUST(l->used && !l->removed && l->drops == 0);
    MUST(strcmp(hf_state_name(state), "?") != 0);
}

static void on_other_drop(void *arg)
{
    struct api_listener *l = arg;

    MUST(l->drops++ == 0);
}

bool api_listeners_all_dropped(void)
{
    for (unsigned i = 0; i < API_FEW; i++)
        if (api.listeners[i].used && api.listeners[i].drops != 1)
            return false;
    return true;
}

static void add_listener(struct api_client *c)
{
    struct hf_listener *made;
    struct api_listener *l = api.listeners;
    hf_status status;

    while (l < api.listeners + API_FEW && l->used)
        l++;
    if (l == api.listeners + API_FEW)
        return;
    *l = (struct api_listener){.used = true, .client = c};
    status = hf_client_add_listener(
        c->client, (struct hf_on_state){on_other_state, l, on_other_drop},
        &made);
    api_expect("hf_client_add_listener", status, BIT(HF_OK) | BIT(HF_ENOMEM));
    MUST((made != NULL) == (status == HF_OK));
    MUST(status == HF_OK || l->drops == 1);
    l->listener = made;
}

/* If the listener may be running, it is dropped after its call. */
static void remove_listener(struct api_client *c, uint8_t n)
{
    struct api_listener *l = CHOOSE(api.listeners, n);
    struct hf_listener *removed;

    if (l == NULL || l->client != c)
        return;
    removed = l->listener;
    l->listener = NULL;
    hf_client_remove_listener(c->client, removed);
    MUST(l->drops == 1 || api_is_reentrant(c));
    l->removed = !api_is_reentrant(c);
}

void api_client_look(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);
    char line[64];
    hf_status status;

    if (c == NULL)
        return;
    c->busy++;
    hf_client_describe(c->client, line, s->b % (sizeof(line) + 1));
    MUST(s->b % (sizeof(line) + 1) < 5 || strcmp(line, "sim:") == 0);
    (void)hf_client_state(c->client);
    if (s->b >= 192 && s->c % 2 == 0)
        add_listener(c);
    else if (s->b >= 192)
        remove_listener(c, s->c / 2);
    MUST((hf_client_fd(c->client) >= 0) == (c->way == API_DISPATCH));
    if (c->way != API_DISPATCH || api_is_reentrant(c)) {
        status = hf_client_dispatch(c->client);
        api_expect("hf_client_dispatch", status,
                   c->way == API_DISPATCH ? BIT(HF_EREENTRANT)
                                          : BIT(HF_ESTATE));
    }
    c->busy--;
}

/* ---------------------------------------------------------------- misuse -- */

static void misuse_lock(struct api_client *c, const struct api_step *s)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.size = s->c % 2 ? 0 : sizeof(opts);
    opts.permits = s->c;
    opts.limit = s->c / 2;
    opts.kind = s->c % 4 == 2 ? (enum hf_kind)(s->c / 4 + 5) : HF_KIND_MUTEX;
    api_expect("hf_lock_open", hf_lock_open(c->client, "a", &opts, &lock),
               BIT(HF_EINVAL));
    MUST(lock == NULL);
}

static void misuse_mutex(struct api_client *c, const struct api_step *s)
{
    struct hf_mutex_opts mutex_opts = HF_MUTEX_OPTS_INIT;
    struct hf_rwlock_opts rwlock_opts = HF_RWLOCK_OPTS_INIT;
    struct hf_mutex *mutex;
    struct hf_rwlock *rwlock;

    mutex_opts.size = rwlock_opts.size = s->c % 8;
    api_expect("hf_mutex_open",
               hf_mutex_open(c->client, "a", &mutex_opts, &mutex),
               BIT(HF_EINVAL));
    api_expect("hf_rwlock_open",
               hf_rwlock_open(c->client, "a", &rwlock_opts, &rwlock),
               BIT(HF_EINVAL));
    MUST(mutex == NULL && rwlock == NULL);
}

static void misuse_election(struct api_client *c, const struct api_step *s)
{
    struct hf_election_opts opts = HF_ELECTION_OPTS_INIT;
    struct hf_double_barrier *both;
    struct hf_election *election;

    api_expect("hf_double_barrier_open",
               hf_double_barrier_open(c->client, "pair/2",
                                      s->c % 2 ? 0 : HF_PARTICIPANTS_MAX + 1,
                                      &both),
               BIT(HF_EINVAL));
    opts.kind = HF_KIND_SEMAPHORE;
    api_expect("hf_election_open",
               hf_election_open(c->client, "a", &opts, &election),
               BIT(HF_EINVAL));
    MUST(both == NULL && election == NULL);
}

static void misuse_name(struct api_client *c, const struct api_step *s)
{
    const char *name = api_bad_name(s->c);
    struct hf_barrier *barrier;
    struct hf_lock *lock;

    api_expect("hf_lock_open", hf_lock_open(c->client, name, NULL, &lock),
               BIT(HF_ENAME));
    api_expect("hf_barrier_open", hf_barrier_open(c->client, name, &barrier),
               BIT(HF_ENAME) | BIT(HF_ENOMEM));
    MUST(lock == NULL && barrier == NULL);
}

void api_misuse(const struct api_step *s)
{
    struct api_client *c = CHOOSE(api.clients, s->a);

    api_expect("hf_client_close", hf_client_close(NULL), BIT(HF_OK));
    hf_lock_free(NULL);
    hf_op_free(NULL);
    hf_tickets_free(NULL);
    hf_mutex_free(NULL);
    hf_rwlock_free(NULL);
    hf_barrier_free(NULL);
    hf_double_barrier_free(NULL);
    hf_election_free(NULL);
    if (c == NULL)
        return;
    c->busy++;
    if (s->b % 4 == 0 && (s->c % 2 == 1 || s->c == 0 || s->c / 2 < s->c))
        misuse_lock(c, s);
    else if (s->b % 4 == 1)
        misuse_mutex(c, s);
    else if (s->b % 4 == 2)
        misuse_election(c, s);
    else
        misuse_name(c, s);
    c->busy--;
}
