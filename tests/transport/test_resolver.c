/* SPDX-License-Identifier: Apache-2.0 */
/* Names that resolve, fail, hang, and change. getaddrinfo() is the one of
 * this file. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "link_fixture.h"

/* ------------------------------------------------------ the name service -- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hangs;       /* every lookup waits */
static int failure;      /* of every lookup; 0: none */
static unsigned calls;   /* begun */
static unsigned inside;  /* begun and not ended */
static unsigned signals; /* lookups on threads that take signals */

int __real_getaddrinfo(const char *node, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found);
int __wrap_getaddrinfo(const char *node, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found);

static void note_call(void)
{
    sigset_t blocked;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    calls++;
    inside++;
    if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGALRM))
        signals++;
    (void)pthread_cond_broadcast(&changed);
}

/* "two.test" has two addresses, all others one, with port 0. */
int __wrap_getaddrinfo(const char *node, const char *service,
                       const struct addrinfo *hints, struct addrinfo **found)
{
    struct addrinfo numeric = *hints;
    struct addrinfo *second = NULL;
    int answer;

    pthread_mutex_lock(&lock);
    note_call();
    while (hangs)
        (void)pthread_cond_wait(&changed, &lock);
    answer = failure;
    inside--;
    pthread_mutex_unlock(&lock);
    if (answer == EAI_SYSTEM)
        errno = EMFILE;
    if (answer != 0)
        return answer;
    numeric.ai_flags = AI_NUMERICHOST;
    answer = __real_getaddrinfo("127.0.0.1", service, &numeric, found);
    if (answer == 0 && strcmp(node, "two.test") == 0)
        answer = __real_getaddrinfo("127.0.0.2", service, &numeric, &second);
    if (second != NULL)
        (*found)->ai_next = second;
    return answer;
}

static void set_service(bool hang, int fail)
{
    pthread_mutex_lock(&lock);
    hangs = hang;
    failure = fail;
    calls = 0;
    (void)pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static unsigned count_calls(void)
{
    unsigned count;

    pthread_mutex_lock(&lock);
    count = calls;
    pthread_mutex_unlock(&lock);
    return count;
}

static void await_inside(unsigned count)
{
    pthread_mutex_lock(&lock);
    while (inside != count)
        (void)pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------- asking -- */

struct asker {
    struct hf_resolver_request ask;
    bool answered;
    char address[64]; /* "" for none */
    char why[HF_RESOLVER_TEXT_BYTES];
    /* What to do from inside the callback. */
    struct hf_resolver *again;
    struct asker *forget;
};

static void set_address(struct asker *asker, const union hf_address *address)
{
    assert_int_equal(address->any.sa_family, AF_INET);
    assert_non_null(inet_ntop(AF_INET, &address->in.sin_addr, asker->address,
                              sizeof(asker->address)));
}

static enum hf_resolver_result find(struct hf_resolver *resolver,
                                    const char *host, struct asker *asker);

static void on_answer(void *arg, const union hf_address *address,
                      const char *why)
{
    struct asker *asker = arg;
    struct hf_resolver *again = asker->again;

    assert_false(asker->answered);
    asker->answered = true;
    if (address != NULL)
        set_address(asker, address);
    else
        (void)snprintf(asker->why, sizeof(asker->why), "%s", why);
    if (asker->forget != NULL)
        hf_resolver_cancel(&asker->forget->ask);
    asker->again = NULL;
    if (again != NULL)
        assert_int_equal(find(again, "one.test", asker), HF_RESOLVER_PENDING);
}

static enum hf_resolver_result find(struct hf_resolver *resolver,
                                    const char *host, struct asker *asker)
{
    union hf_address address;
    enum hf_resolver_result answer;

    asker->answered = false;
    asker->address[0] = asker->why[0] = '\0';
    asker->ask = (struct hf_resolver_request){.fn = on_answer, .arg = asker};
    answer =
        hf_resolver_find(resolver, host, &asker->ask, &address, asker->why);
    if (answer == HF_RESOLVER_FOUND)
        set_address(asker, &address);
    return answer;
}

static bool is_answered(void *arg)
{
    return ((const struct asker *)arg)->answered;
}

static bool is_either_answered(void *arg)
{
    struct asker *const *both = arg;

    return both[0]->answered || both[1]->answered;
}

static bool has_asked_again(void *arg)
{
    return ((const struct asker *)arg)->again == NULL;
}

/* Let the results of earlier lookups become too old to be used again. */
static void pass_interval(struct link_fixture *fixture)
{
    fixture->resolver_ms += HF_RESOLVER_INTERVAL_MS;
}

/* Ask, when it is time for another lookup, and wait. */
static void resolve(struct link_fixture *fixture, const char *host,
                    struct asker *asker)
{
    pass_interval(fixture);
    assert_int_equal(find(fixture->resolver, host, asker), HF_RESOLVER_PENDING);
    assert_false(asker->answered);
    loop_run_until(&fixture->loop, is_answered, asker);
}

/* ----------------------------------------------------------------- tests -- */

TEST(an_address_is_not_looked_up)
{
    struct asker asker = {.answered = false};
    union hf_address address;
    struct link_fixture fixture;

    set_service(false, 0);
    link_fixture_start(&fixture);
    assert_int_equal(find(fixture.resolver, "127.0.0.9", &asker),
                     HF_RESOLVER_FOUND);
    assert_string_equal(asker.address, "127.0.0.9");
    assert_int_equal(hf_resolver_find(fixture.resolver, "::1", &asker.ask,
                                      &address, asker.why),
                     HF_RESOLVER_FOUND);
    assert_int_equal(address.any.sa_family, AF_INET6);
    assert_true(IN6_IS_ADDR_LOOPBACK(&address.in6.sin6_addr));
    assert_int_equal(hf_resolver_find(fixture.resolver, "fe80::1%lo",
                                      &asker.ask, &address, asker.why),
                     HF_RESOLVER_FOUND);
    assert_true(address.in6.sin6_scope_id != 0);
    assert_int_equal(count_calls(), 0);
    link_fixture_stop(&fixture);
}

TEST(a_name_is_looked_up_on_a_thread_without_signals)
{
    struct asker asker = {.answered = false};
    struct link_fixture fixture;

    set_service(false, 0);
    link_fixture_start(&fixture);
    resolve(&fixture, "one.test", &asker);
    assert_string_equal(asker.address, "127.0.0.1");
    assert_int_equal(count_calls(), 1);
    assert_int_equal(signals, 0);
    /* A name is looked up again, because addresses change. */
    resolve(&fixture, "one.test", &asker);
    assert_int_equal(count_calls(), 2);
    link_fixture_stop(&fixture);
}

TEST(a_name_is_looked_up_at_most_once_a_second)
{
    struct asker asker = {.answered = false};
    struct link_fixture fixture;

    set_service(false, 0);
    link_fixture_start(&fixture);
    resolve(&fixture, "two.test", &asker);
    fixture.resolver_ms += HF_RESOLVER_INTERVAL_MS - 1;
    assert_int_equal(find(fixture.resolver, "two.test", &asker),
                     HF_RESOLVER_FOUND);
    assert_string_equal(asker.address, "127.0.0.1");
    /* The other address has its turn without a lookup. */
    hf_resolver_address_failed(fixture.resolver, "two.test");
    assert_int_equal(find(fixture.resolver, "two.test", &asker),
                     HF_RESOLVER_FOUND);
    assert_string_equal(asker.address, "127.0.0.2");
    assert_int_equal(count_calls(), 1);
    /* Another name has a second of its own. */
    assert_int_equal(find(fixture.resolver, "one.test", &asker),
                     HF_RESOLVER_PENDING);
    loop_run_until(&fixture.loop, is_answered, &asker);
    assert_int_equal(count_calls(), 2);
    fixture.resolver_ms++;
    assert_int_equal(find(fixture.resolver, "two.test", &asker),
                     HF_RESOLVER_PENDING);
    loop_run_until(&fixture.loop, is_answered, &asker);
    assert_int_equal(count_calls(), 3);
    link_fixture_stop(&fixture);
}

TEST(a_lookup_that_failed_is_repeated_after_a_second)
{
    struct asker asker = {.answered = false};
    struct link_fixture fixture;

    set_service(false, EAI_NONAME);
    link_fixture_start(&fixture);
    resolve(&fixture, "one.test", &asker);
    assert_int_equal(find(fixture.resolver, "one.test", &asker),
                     HF_RESOLVER_FAILED);
    assert_string_equal(asker.why, "no address: Name or service not known");
    assert_int_equal(count_calls(), 1);
    set_service(false, 0);
    resolve(&fixture, "one.test", &asker);
    assert_string_equal(asker.address, "127.0.0.1");
    /* From now on a failure leaves it the address that it had. */
    set_service(false, EAI_AGAIN);
    resolve(&fixture, "one.test", &asker);
    assert_int_equal(find(fixture.resolver, "one.test", &asker),
                     HF_RESOLVER_FOUND);
    assert_string_equal(asker.address, "127.0.0.1");
    assert_int_equal(count_calls(), 1);
    assert_int_equal(fixture.logged, 1);
    link_fixture_stop(&fixture);
}

TEST(a_name_that_does_not_resolve_says_why)
{
    struct asker asker = {.answered = false};
    struct link_fixture fixture;

    link_fixture_start(&fixture);
    set_service(false, EAI_NONAME);
    resolve(&fixture, "none.test", &asker);
    assert_string_equal(asker.address, "");
    assert_string_equal(asker.why, "no address: Name or service not known");
    set_service(false, EAI_SYSTEM);
    resolve(&fixture, "none.test", &asker);
    assert_string_equal(asker.why, "no address: Too many open files");
    assert_int_equal(fixture.logged, 0);
    link_fixture_stop(&fixture);
}

/* Every failure of a lookup is one that passes, because a name server, a record
 * and a descriptor may come; the texts are those of getaddrinfo(3), and of
 * errno where it says EAI_SYSTEM.  docs/engines.md has the rows. */
TEST(each_failure_of_a_lookup_passes_and_says_what_it_is)
{
    static const struct {
        int code;
        const char *text;
    } failures[] = {
        {EAI_NONAME, "no address: Name or service not known"},
        {EAI_NODATA, "no address: No address associated with hostname"},
        {EAI_AGAIN, "no address: Temporary failure in name resolution"},
        {EAI_FAIL, "no address: Non-recoverable failure in name resolution"},
        {EAI_FAMILY, "no address: ai_family not supported"},
        {EAI_ADDRFAMILY, "no address: Address family for hostname not "
                         "supported"},
        {EAI_MEMORY, "no address: Memory allocation failure"},
        {EAI_SYSTEM, "no address: Too many open files"},
    };
    int threads = count_threads();

    for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++) {
        struct link_fixture fixture;

        set_service(false, failures[i].code);
        link_fixture_start(&fixture);
        fixture.close_when_down = true;
        assert_true(link_fixture_open(&fixture, "one.test", 1));
        link_fixture_await_down(&fixture);
        assert_string_equal(fixture.why, failures[i].text);
        assert_int_equal(fixture.status, HF_EUNREACHABLE);
        link_fixture_stop(&fixture);
        await_threads(threads);
    }
}

TEST(addresses_take_turns_when_they_fail)
{
    struct asker asker = {.answered = false};
    struct link_fixture fixture;

    set_service(false, 0);
    link_fixture_start(&fixture);
    resolve(&fixture, "two.test", &asker);
    assert_string_equal(asker.address, "127.0.0.1");
    resolve(&fixture, "two.test", &asker);
    assert_string_equal(asker.address, "127.0.0.1");
    hf_resolver_address_failed(fixture.resolver, "two.test");
    resolve(&fixture, "two.test", &asker);
    assert_string_equal(asker.address, "127.0.0.2");
    hf_resolver_address_failed(fixture.resolver, "two.test");
    resolve(&fixture, "two.test", &asker);
    assert_string_equal(asker.address, "127.0.0.1");
    hf_resolver_address_failed(fixture.resolver, "unheard.of.test");
    link_fixture_stop(&fixture);
}

TEST(what_was_known_is_used_when_a_name_stops_resolving)
{
    struct asker asker = {.answered = false};
    struct link_fixture fixture;

    link_fixture_start(&fixture);
    set_service(false, 0);
    resolve(&fixture, "one.test", &asker);
    set_service(false, EAI_AGAIN);
    resolve(&fixture, "one.test", &asker);
    assert_string_equal(asker.address, "127.0.0.1");
    assert_int_equal(fixture.logged, 1);
    assert_non_null(strstr(fixture.log, "one.test"));
    assert_non_null(strstr(fixture.log, "Temporary failure"));
    resolve(&fixture, "one.test", &asker);
    assert_int_equal(fixture.logged, 1); /* said once */
    set_service(false, 0);
    resolve(&fixture, "one.test", &asker);
    set_service(false, EAI_AGAIN);
    resolve(&fixture, "one.test", &asker);
    assert_int_equal(fixture.logged, 2); /* and again the next time */
    link_fixture_stop(&fixture);
}

TEST(what_was_known_is_used_when_lookups_hang)
{
    struct asker asker = {.answered = false};
    struct asker other = {.answered = false};
    int threads = count_threads();
    struct link_fixture fixture;

    link_fixture_start(&fixture);
    set_service(false, 0);
    resolve(&fixture, "one.test", &asker);
    resolve(&fixture, "two.test", &other);
    await_threads(threads);
    set_service(true, 0);
    pass_interval(&fixture);
    /* The first one waits and is taken back. */
    assert_int_equal(find(fixture.resolver, "one.test", &asker),
                     HF_RESOLVER_PENDING);
    hf_resolver_cancel(&asker.ask);
    /* No lookup does from then on. */
    assert_int_equal(find(fixture.resolver, "two.test", &other),
                     HF_RESOLVER_FOUND);
    assert_int_equal(find(fixture.resolver, "one.test", &asker),
                     HF_RESOLVER_FOUND);
    assert_string_equal(asker.address, "127.0.0.1");
    assert_int_equal(fixture.logged, 2);
    await_inside(2); /* one.test was not looked up twice */
    set_service(false, 0);
    await_threads(threads);
    loop_turn(&fixture.loop);
    assert_false(asker.answered || other.answered);
    link_fixture_stop(&fixture);
}

TEST(all_who_ask_are_answered_by_one_lookup)
{
    struct asker askers[3] = {{.answered = false}};
    struct link_fixture fixture;

    link_fixture_start(&fixture);
    set_service(true, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(find(fixture.resolver, "one.test", &askers[i]),
                         HF_RESOLVER_PENDING);
    await_inside(1);
    hf_resolver_cancel(&askers[1].ask);
    hf_resolver_cancel(&askers[1].ask); /* harmless */
    set_service(false, 0);
    loop_run_until(&fixture.loop, is_answered, &askers[0]);
    assert_true(askers[2].answered);
    assert_false(askers[1].answered);
    link_fixture_stop(&fixture);
}

TEST(an_answer_may_ask_and_forget)
{
    struct asker first = {.answered = false};
    struct asker second = {.answered = false};
    struct asker *both[] = {&first, &second};
    struct link_fixture fixture;

    link_fixture_start(&fixture);
    set_service(true, 0);
    assert_int_equal(find(fixture.resolver, "one.test", &first),
                     HF_RESOLVER_PENDING);
    assert_int_equal(find(fixture.resolver, "one.test", &second),
                     HF_RESOLVER_PENDING);
    await_inside(1);
    /* The one whose answer is first takes the other one back. */
    first.forget = &second;
    second.forget = &first;
    set_service(false, EAI_NONAME);
    loop_run_until(&fixture.loop, is_either_answered, both);
    assert_true(first.answered != second.answered);
    /* A resolve from inside the callback, a second later, is another lookup. */
    first.forget = NULL;
    set_service(true, 0);
    pass_interval(&fixture);
    assert_int_equal(find(fixture.resolver, "one.test", &first),
                     HF_RESOLVER_PENDING);
    first.again = fixture.resolver;
    await_inside(1);
    pass_interval(&fixture);
    set_service(false, 0);
    loop_run_until(&fixture.loop, has_asked_again, &first);
    loop_run_until(&fixture.loop, is_answered, &first);
    assert_string_equal(first.address, "127.0.0.1");
    link_fixture_stop(&fixture);
}

TEST(lookups_are_bounded)
{
    struct asker askers[HF_RESOLVER_THREADS_MAX + 1] = {{.answered = false}};
    int threads = count_threads();
    struct link_fixture fixture;
    char host[32];

    link_fixture_start(&fixture);
    set_service(true, 0);
    for (int i = 0; i < HF_RESOLVER_THREADS_MAX; i++) {
        snprintf(host, sizeof(host), "n%d.test", i);
        assert_int_equal(find(fixture.resolver, host, &askers[i]),
                         HF_RESOLVER_PENDING);
    }
    await_inside(HF_RESOLVER_THREADS_MAX);
    assert_int_equal(
        find(fixture.resolver, "more.test", &askers[HF_RESOLVER_THREADS_MAX]),
        HF_RESOLVER_FAILED);
    assert_non_null(strstr(askers[HF_RESOLVER_THREADS_MAX].why, "under way"));
    for (int i = 0; i < HF_RESOLVER_THREADS_MAX; i++)
        hf_resolver_cancel(&askers[i].ask);
    link_fixture_stop(&fixture); /* it waits for none of them */
    assert_int_equal(count_threads(), threads + HF_RESOLVER_THREADS_MAX);
    set_service(false, 0);
    await_threads(threads);
}

TEST(a_link_waits_for_its_name_and_can_be_closed_meanwhile)
{
    int threads = count_threads();
    struct link_fixture fixture;
    struct fake_server server;

    fake_server_listen(&server, 8);
    set_service(true, 0);
    link_fixture_start(&fixture);
    assert_true(link_fixture_open(&fixture, "one.test", server.port));
    await_inside(1);
    loop_turn(&fixture.loop);
    link_fixture_stop(&fixture);
    set_service(false, 0);
    await_threads(threads);
    /* The same for a name that resolves, */
    link_fixture_start(&fixture);
    assert_true(link_fixture_open(&fixture, "one.test", server.port));
    link_fixture_await_up(&fixture);
    link_fixture_stop(&fixture);
    /* and for one that does not. */
    set_service(false, EAI_NONAME);
    link_fixture_start(&fixture);
    fixture.close_when_down = true;
    assert_true(link_fixture_open(&fixture, "one.test", server.port));
    link_fixture_await_down(&fixture);
    assert_string_equal(fixture.why, "no address: Name or service not known");
    link_fixture_stop(&fixture);
    fake_server_stop(&server);
    await_threads(threads);
}

/* 127.0.0.1 refuses, 127.0.0.2 listens. */
TEST(a_link_takes_the_next_address_at_the_next_attempt)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(address);
    struct fake_server server = {.fd = -1};
    struct link_fixture fixture;

    set_service(false, 0);
    assert_int_equal(inet_pton(AF_INET, "127.0.0.2", &address.sin_addr), 1);
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server.listener, (struct sockaddr *)&address, bytes),
                     0);
    assert_int_equal(listen(server.listener, 8), 0);
    assert_int_equal(
        getsockname(server.listener, (struct sockaddr *)&address, &bytes), 0);
    link_fixture_start(&fixture);
    assert_true(
        link_fixture_open(&fixture, "two.test", ntohs(address.sin_port)));
    link_fixture_await_down(&fixture);
    assert_string_equal(fixture.why, "connection refused");
    link_fixture_close(&fixture, HF_CONNECTION_ABORT);
    /* The next connect uses the address that worked. */
    for (int i = 0; i < 2; i++) {
        assert_true(
            link_fixture_open(&fixture, "two.test", ntohs(address.sin_port)));
        link_fixture_await_up(&fixture);
        link_fixture_close(&fixture, HF_CONNECTION_ABORT);
    }
    link_fixture_stop(&fixture);
    fake_server_stop(&server);
}

TEST(a_process_may_end_while_a_lookup_is_under_way)
{
    assert_int_equal(test_run_self("exit"), 0);
    assert_int_equal(test_run_self("leave"), 0);
}

/* In a process of its own: exit in the middle of a lookup. */
static int end_in_the_middle(const char *how)
{
    static struct asker asker; /* static: so that they are no leak */
    static struct link_fixture fixture;

    set_service(true, 0);
    link_fixture_start(&fixture);
    (void)find(fixture.resolver, "one.test", &asker);
    await_inside(1);
    if (strcmp(how, "leave") == 0) {
        hf_resolver_cancel(&asker.ask);
        link_fixture_stop(&fixture);
    }
    return 0;
}

TEST_FILE(resolver)
{
    if (test_argument() != NULL)
        return end_in_the_middle(test_argument());
    return RUN_TESTS(NULL, NULL);
}
