/* SPDX-License-Identifier: Apache-2.0 */
/* <holdfast/holdfast.hpp> as programs use it: with files, or with the server
 * that the environment names. */
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <mutex>
#include <poll.h>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include <holdfast/holdfast.hpp>
#include <holdfast/tickets.h>

using namespace std::chrono_literals;

namespace
{

std::string url()
{
    if (const char *zookeeper = std::getenv("HF_ZK"))
        return std::string("zk://") + zookeeper;
    if (const char *redis = std::getenv("HF_REDIS"))
        return std::string("redis://") + redis;
    if (const char *postgres = std::getenv("HF_PG"))
        return postgres;
    return "file:";
}

/* A name that no other test uses, nor one in another process. */
std::string fresh_name()
{
    static std::atomic<int> count{0};

    return "cplusplus/" + std::to_string(::getpid()) + "/" +
           std::to_string(++count);
}

/* Remove the ticket of the one that holds ${lock}, as an operator does. */
void evict_holder(holdfast::lock &lock)
{
    hf_tickets *tickets;

    REQUIRE(hf_lock_tickets(lock.get(), HF_TICKETS_HOLDERS, HF_FOREVER,
                            &tickets) == HF_OK);
    REQUIRE(hf_tickets_count(tickets) == 1);
    CHECK(hf_lock_evict(lock.get(), hf_tickets_at(tickets, 0)->id, nullptr,
                        HF_FOREVER) == HF_OK);
    hf_tickets_free(tickets);
}

/* What ${call} throws. */
template <typename Call> hf_status thrown(Call call)
{
    try {
        call();
    } catch (const holdfast::error &error) {
        CHECK(error.what()[0] != '\0');
        CHECK(error.code() == error.status());
        return error.status();
    }
    return HF_OK;
}

} // namespace

static_assert(!std::is_copy_constructible_v<holdfast::client>);
static_assert(!std::is_copy_constructible_v<holdfast::grant>);
static_assert(std::is_nothrow_move_constructible_v<holdfast::client>);
static_assert(std::is_nothrow_move_assignable_v<holdfast::client>);
static_assert(std::is_nothrow_move_constructible_v<holdfast::lock>);
static_assert(std::is_nothrow_move_constructible_v<holdfast::grant>);
static_assert(std::is_nothrow_move_assignable_v<holdfast::grant>);
static_assert(std::is_nothrow_move_constructible_v<holdfast::mutex>);
static_assert(std::is_nothrow_move_constructible_v<holdfast::election>);
static_assert(std::is_nothrow_copy_constructible_v<holdfast::error>);

TEST_CASE("a grant releases its lock when it goes")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    std::uint64_t first, second;

    {
        holdfast::grant grant = lock.acquire();

        first = grant.token();
        CHECK(grant.is_valid());
        CHECK(grant.safe_until() > holdfast::boot_clock::now());
        CHECK(grant.token_of(lock) == first);
        CHECK_FALSE(lock.try_acquire());
        CHECK_FALSE(lock.try_acquire_for(1ms));
        CHECK_FALSE(lock.try_acquire_until(std::chrono::steady_clock::now()));
    }
    {
        holdfast::grant grant = lock.try_acquire();

        REQUIRE(grant);
        second = grant.token();
        holdfast::grant moved = std::move(grant);
        CHECK_FALSE(grant);
        CHECK(moved.token() == second);
        moved.release();
        CHECK_FALSE(moved);
    }
    CHECK(second > first);
}

TEST_CASE("assigning to a grant releases what it was")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    holdfast::grant grant = lock.acquire();

    grant = holdfast::grant();
    CHECK(lock.try_acquire());
}

TEST_CASE("failures are thrown with status and text")
{
    CHECK(thrown([] { holdfast::client client("file:?nonsense=1"); }) ==
          HF_EURL);
    holdfast::client client(url());
    CHECK(thrown([&] { holdfast::lock lock(client, "a//b"); }) == HF_ENAME);
    CHECK(thrown([&] { holdfast::mutex mutex(client, "a//b"); }) == HF_ENAME);
    CHECK(thrown([&] { holdfast::shared_mutex mutex(client, ".."); }) ==
          HF_ENAME);
    CHECK(thrown([&] { holdfast::election election(client, "a/"); }) ==
          HF_ENAME);
    CHECK(
        thrown([&] {
            holdfast::lock lock(client, fresh_name(), holdfast::permits{3, 2});
        }) == HF_EINVAL);

    std::error_code code = HF_ETIMEDOUT;
    CHECK(code == std::errc::timed_out);
    CHECK(code.category().name() == std::string("holdfast"));
    CHECK(code.message() == hf_status_text(HF_ETIMEDOUT));
}

TEST_CASE("the twins throw nothing")
{
    hf_error error{};
    holdfast::client bad("file:?nonsense=1", {}, error);

    CHECK(error.status == HF_EURL);
    CHECK(error.text[0] != '\0');
    CHECK_FALSE(bad);

    holdfast::client client(url().c_str(), {}, error);
    REQUIRE(error.status == HF_OK);
    holdfast::lock lock(client, "a//b", HF_KIND_MUTEX, error);
    CHECK(error.status == HF_ENAME);
    CHECK_FALSE(lock);
    lock = holdfast::lock(client, fresh_name().c_str(), HF_KIND_MUTEX, error);
    REQUIRE(error.status == HF_OK);
    holdfast::grant held = lock.acquire({}, error);
    REQUIRE(error.status == HF_OK);
    holdfast::grant none = lock.try_acquire_for(1ms, {}, error);
    CHECK(error.status == HF_ETIMEDOUT);
    CHECK(std::string(error.text).find("hf_lock_acquire") == 0);
    CHECK_FALSE(none);
    CHECK_FALSE(lock.try_acquire({}, error));
    CHECK(error.status == HF_EBUSY);
    CHECK_FALSE(lock.try_acquire_until(std::chrono::steady_clock::now() + 1ms,
                                       {}, error));
    CHECK(error.status == HF_ETIMEDOUT);
    held.release(error);
    CHECK(error.status == HF_OK);
}

TEST_CASE("readers share, a writer is alone, a writer becomes a reader")
{
    holdfast::client client(url());
    std::string name = fresh_name();
    holdfast::lock read(client, name, HF_KIND_READ);
    holdfast::lock write(client, name, HF_KIND_WRITE);
    holdfast::grant writer = write.acquire();

    CHECK_FALSE(read.try_acquire());
    writer.downgrade();
    CHECK(read.try_acquire());
    CHECK_FALSE(write.try_acquire());
}

TEST_CASE("permits of a semaphore")
{
    holdfast::client client(url());
    holdfast::lock two(client, fresh_name(), holdfast::permits{2, 3});
    holdfast::grant grant = two.acquire();

    CHECK_FALSE(two.try_acquire());
}

TEST_CASE("several locks, all or none")
{
    holdfast::client client(url());
    holdfast::lock a(client, fresh_name()), b(client, fresh_name());
    holdfast::grant both = holdfast::acquire({b, a});

    CHECK(both.token_of(a) != 0);
    CHECK_FALSE(a.try_acquire());
    CHECK_FALSE(b.try_acquire());
    both.release();
    CHECK(a.try_acquire());
}

TEST_CASE("an acquire in the background")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    std::promise<std::uint64_t> promise;

    lock.acquire_async([&](holdfast::grant grant, const hf_error &error) {
        promise.set_value(error.status == HF_OK ? grant.token() : 0);
    });
    CHECK(promise.get_future().get() > 0);
    /* The grant went with the callback, whose destructor could not wait. */
    CHECK(lock.acquire());
}

TEST_CASE("an acquire in the background is cancelled")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    holdfast::grant held = lock.acquire();
    std::promise<hf_status> promise;
    holdfast::operation operation =
        lock.acquire_async([&](holdfast::grant grant, const hf_error &error) {
            CHECK_FALSE(grant);
            CHECK(error.text[0] != '\0');
            promise.set_value(error.status);
        });

    operation.cancel();
    CHECK(promise.get_future().get() == HF_ECANCELLED);
}

TEST_CASE("a loss is reported")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    std::promise<hf_error> lost;
    holdfast::acquire_options options;

    options.on_loss = [&](const hf_error &why) { lost.set_value(why); };
    options.text = "the test";
    holdfast::grant grant = lock.acquire(options);
    evict_holder(lock);
    hf_error why = lost.get_future().get();
    CHECK(why.status == HF_ELOST);
    CHECK(why.text[0] != '\0');
    CHECK_FALSE(grant.is_valid());
    hf_error later{};
    grant.check(later);
    CHECK(later.status == HF_ELOST);
    CHECK(later.text == std::string("hf_grant_check: ") + why.text);
    CHECK(grant.safe_until() < holdfast::boot_clock::now());
    struct pollfd poll_fd = {grant.loss_fd(), POLLIN, 0};
    CHECK(::poll(&poll_fd, 1, 10000) == 1);
    CHECK(thrown([&] { grant.release(); }) == HF_ELOST);
    CHECK_FALSE(grant);
}

TEST_CASE("a request to release is reported")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    std::promise<void> asked;
    holdfast::acquire_options options;
    hf_tickets *tickets;

    options.on_revoke = [&] { asked.set_value(); };
    holdfast::grant grant = lock.acquire(options);
    REQUIRE(hf_lock_tickets(lock.get(), HF_TICKETS_HOLDERS, HF_FOREVER,
                            &tickets) == HF_OK);
    CHECK(hf_lock_revoke(lock.get(), hf_tickets_at(tickets, 0)->id,
                         HF_FOREVER) == HF_OK);
    hf_tickets_free(tickets);
    asked.get_future().get();
    CHECK(grant.is_valid());
}

TEST_CASE("a wait is reported")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    holdfast::grant held = lock.acquire();
    std::promise<std::uint32_t> ahead;
    std::promise<hf_status> ended;
    holdfast::acquire_options options;

    options.on_wait = [&, first = true](const hf_wait &wait) mutable {
        if (first)
            ahead.set_value(wait.ahead);
        first = false;
    };
    lock.acquire_async(
        [&](holdfast::grant, const hf_error &error) {
            ended.set_value(error.status);
        },
        options);
    CHECK(ahead.get_future().get() == 1);
    held.release();
    CHECK(ended.get_future().get() == HF_OK);
}

TEST_CASE("std::unique_lock and its kind hold a mutex")
{
    holdfast::client client(url());
    holdfast::mutex mutex(client, fresh_name()), other(client, fresh_name());
    int inside = 0, most = 0;
    std::vector<std::thread> threads;

    for (int i = 0; i < 4; i++)
        threads.emplace_back([&] {
            for (int j = 0; j < 10; j++) {
                std::lock_guard<holdfast::mutex> guard(mutex);

                most = std::max(most, ++inside);
                std::this_thread::yield();
                inside--;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(most == 1);

    std::unique_lock<holdfast::mutex> held(mutex, 10s);
    REQUIRE(held.owns_lock());
    CHECK(mutex.token() != 0);
    CHECK(mutex.try_lock()); /* counted */
    mutex.unlock();
    bool elsewhere = std::async(std::launch::async, [&] {
                         std::unique_lock<holdfast::mutex> tried(mutex, 1ms);
                         return tried.owns_lock();
                     }).get();
    CHECK_FALSE(elsewhere);
    held.unlock();
    CHECK(mutex.token() == 0);
    std::scoped_lock both(mutex, other);
}

TEST_CASE("std::shared_lock reads")
{
    holdfast::client client(url());
    holdfast::shared_mutex mutex(client, fresh_name());
    std::shared_lock<holdfast::shared_mutex> reader(mutex);
    auto elsewhere = [&](auto call) {
        return std::async(std::launch::async, call).get();
    };

    CHECK(elsewhere([&] {
        std::shared_lock<holdfast::shared_mutex> tried(mutex, 10s);
        return tried.owns_lock();
    }));
    CHECK_FALSE(elsewhere([&] {
        std::unique_lock<holdfast::shared_mutex> tried(mutex, std::try_to_lock);
        return tried.owns_lock();
    }));
    CHECK(thrown([&] { mutex.lock(); }) == HF_EREENTRANT);
    reader.unlock();
    CHECK(elsewhere([&] {
        std::unique_lock<holdfast::shared_mutex> tried(mutex, 10s);
        return tried.owns_lock();
    }));
}

TEST_CASE("unlock reports only where it is asked to")
{
    holdfast::client client(url());
    holdfast::mutex mutex(client, fresh_name());
    hf_error error{};

    mutex.unlock(); /* as a destructor calls it */
    mutex.unlock(error);
    CHECK(error.status == HF_EOWNER);
}

TEST_CASE("an election")
{
    holdfast::client client(url());
    std::string name = fresh_name();
    std::promise<std::uint64_t> elected, deposed;
    holdfast::election_options options;

    /* It leads again once the second one has resigned. */
    options.on_elected = [&, once = true](std::uint64_t token) mutable {
        if (once)
            elected.set_value(token);
        once = false;
    };
    options.on_deposed = [&](std::uint64_t token, const hf_error &why) {
        CHECK(why.status == HF_ELOST);
        deposed.set_value(token);
    };
    options.id = "the first";
    holdfast::election first(client, name, options), second(client, name);
    first.campaign();
    CHECK(first.wait_for(10s));
    std::uint64_t token = elected.get_future().get();
    CHECK(first.is_leader());
    CHECK(first.token() == token);
    second.campaign();
    CHECK_FALSE(second.wait_for(1ms));
    hf_error error{};
    CHECK_FALSE(second.wait_for(1ms, error));
    CHECK(error.status == HF_ETIMEDOUT);
#if HOLDFAST_STOP_TOKEN
    std::stop_token leads = first.stop_token();
    CHECK_FALSE(leads.stop_requested());
    CHECK(second.stop_token().stop_requested());
#endif
    holdfast::lock lock(client, name, HF_KIND_ELECTION);
    evict_holder(lock);
    CHECK(deposed.get_future().get() == token);
    second.wait();
    CHECK(second.is_leader());
#if HOLDFAST_STOP_TOKEN
    CHECK(leads.stop_requested());
    leads = second.stop_token();
#endif
    second.resign();
    CHECK_FALSE(second.is_leader());
#if HOLDFAST_STOP_TOKEN
    CHECK(leads.stop_requested());
#endif
}

#if HOLDFAST_STOP_TOKEN
/* Wait without a call that could run callbacks. */
void await_leadership(const holdfast::election &election)
{
    for (int i = 0; i < 30000 && !election.is_leader(); i++)
        std::this_thread::sleep_for(1ms);
    REQUIRE(election.is_leader());
}

/* on_elected cannot run before the program dispatches. */
TEST_CASE("a stop is requested though on_elected was not called in time")
{
    holdfast::client_options dispatched;
    dispatched.dispatch = true;
    holdfast::client client(url(), dispatched), other(url());
    std::string name = fresh_name();
    holdfast::election_options options;
    std::string events;

    options.on_elected = [&](std::uint64_t) { events += "elected "; };
    options.on_deposed = [&](std::uint64_t, const hf_error &) {
        events += "deposed ";
    };
    holdfast::election election(client, name, options), rival(other, name);
    election.campaign();
    await_leadership(election);
    std::stop_token leads = election.stop_token();
    CHECK_FALSE(leads.stop_requested());
    rival.campaign();
    holdfast::lock lock(other, name, HF_KIND_ELECTION);
    evict_holder(lock);
    rival.wait();
    while (election.is_leader())
        std::this_thread::sleep_for(1ms);
    while (!leads.stop_requested()) {
        struct pollfd poll_fd = {client.fd(), POLLIN, 0};

        REQUIRE(::poll(&poll_fd, 1, 30000) == 1);
        client.dispatch();
    }
    CHECK(events == "elected deposed ");
    CHECK(election.stop_token().stop_requested());

    /* And so it is where the next leadership, or the end, hides the loss. */
    rival.resign();
    await_leadership(election);
    leads = election.stop_token();
    CHECK_FALSE(leads.stop_requested());
    std::uint64_t token = election.token();
    evict_holder(lock);
    while (election.token() == token)
        std::this_thread::sleep_for(1ms);
    await_leadership(election);
    std::stop_token leads_again = election.stop_token();
    CHECK(leads.stop_requested());
    CHECK_FALSE(leads_again.stop_requested());
    evict_holder(lock);
    rival.campaign();
    rival.wait();
    while (election.is_leader())
        std::this_thread::sleep_for(1ms);
    election.resign();
    CHECK(leads_again.stop_requested());
}

TEST_CASE("a loss requests a stop")
{
    holdfast::client client(url());
    holdfast::lock lock(client, fresh_name());
    holdfast::grant grant = lock.acquire();
    std::stop_token stop = grant.stop_token();
    std::promise<void> stopped;
    std::stop_callback on_stop(stop, [&] { stopped.set_value(); });

    CHECK_FALSE(stop.stop_requested());
    evict_holder(lock);
    stopped.get_future().get();
    CHECK(stop.stop_requested());
}
#endif

TEST_CASE("callbacks in a loop of one's own")
{
    holdfast::client_options options;
    options.dispatch = true;
    holdfast::client client(url(), options);
    holdfast::lock lock(client, fresh_name());
    bool granted = false;

    lock.acquire_async([&](holdfast::grant grant, const hf_error &) {
        granted = static_cast<bool>(grant);
    });
    while (!granted) {
        struct pollfd poll_fd = {client.fd(), POLLIN, 0};

        REQUIRE(::poll(&poll_fd, 1, 30000) == 1);
        client.dispatch();
    }
}

TEST_CASE("a client can go inside one of its callbacks")
{
    auto client = std::make_unique<holdfast::client>(url());
    holdfast::lock lock(*client, fresh_name());
    std::promise<void> gone;

    lock.acquire_async([&](holdfast::grant, const hf_error &) {
        client.reset();
        gone.set_value();
    });
    gone.get_future().get();
}

TEST_CASE("what it logs and its states reach a program")
{
    std::promise<void> closed;
    {
        holdfast::client_options options;
        std::atomic<bool> connected{false};

        options.on_state = [&](hf_state state) {
            if (state == HF_STATE_CONNECTED)
                connected = true;
            if (state == HF_STATE_CLOSED)
                closed.set_value();
        };
        options.log_level = HF_LOG_DEBUG;
        options.on_log = [](hf_log_level, const char *line) {
            CHECK(line[0] != '\0');
        };
        holdfast::client client(url(), options);
        holdfast::lock lock(client, fresh_name());
        CHECK(lock.acquire());
        holdfast::client moved = std::move(client);
        client = std::move(moved);
    }
    closed.get_future().get();
}

TEST_CASE("durations")
{
    using holdfast::detail::milliseconds;

    CHECK(milliseconds(-1s) == 0);
    CHECK(milliseconds(0s) == 0);
    CHECK(milliseconds(1us) == 1);
    CHECK(milliseconds(1500us) == 2);
    CHECK(milliseconds(24h) == 86400000);
    CHECK(milliseconds(std::chrono::hours::max()) == HF_FOREVER);
    CHECK(milliseconds(std::chrono::nanoseconds::max()) == HF_FOREVER);
    CHECK(milliseconds(std::chrono::hours(1ll << 50)) == HF_FOREVER);
    CHECK(milliseconds(std::chrono::duration<double>(0.0015)) == 2);
}
