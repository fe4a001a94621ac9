/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holdfast for C++17 and later: <holdfast/holdfast.h> with objects that free
 * what they own, std::chrono, std::function and exceptions.  The library
 * behind it is the same; this header needs no other library.
 *
 *     holdfast::client client;                  // the engine of HOLDFAST_URL
 *     holdfast::lock lock(client, "nightly-report");
 *
 *     holdfast::grant grant = lock.acquire();
 *     write_report(grant.token());
 *
 * An object can be moved and not copied.  One that was moved from, or whose
 * constructor reported a failure, is empty: false as a bool, and nothing but
 * assigning to it and destroying it is allowed.  get() returns the handle in C,
 * for every call that is not here; the object goes on owning it.
 *
 * Failures   Each function that can fail throws holdfast::error.  Its twin
 *            with a last argument of hf_error & throws nothing and fills that:
 *            HF_OK if it did what it should.  try_lock() and its kind, which
 *            the standard names, have no twin.  In a program that is built
 *            without exceptions a failure that would be thrown is printed and
 *            ends the program.
 * Callbacks  They run where those in C do: on a thread of the client, or in
 *            client::dispatch().  A callback that throws ends the program, as
 *            an exception that leaves a noexcept function does, because there
 *            is C between it and anybody who could catch it.
 * Times      A duration is rounded up to milliseconds.  One that is negative is
 *            0: one answer of the engine and no wait for others.  The
 *            duration's max() is no limit.
 */
#ifndef HOLDFAST_HOLDFAST_HPP
#define HOLDFAST_HOLDFAST_HPP

#if __cplusplus < 201703L
#error "holdfast.hpp needs C++17: -std=c++17 or later"
#endif

#include <time.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

/* gcc takes a function for a constructor of the struct that has its name, as
 * hf_client_stats(), and says with -Wshadow that it hides one. */
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#include <holdfast/election.h>
#include <holdfast/holdfast.h>
#include <holdfast/mutex.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif
#if defined(__cpp_lib_jthread)
#define HOLDFAST_STOP_TOKEN 1
#else
#define HOLDFAST_STOP_TOKEN 0
#endif

/* ----------------------------------------------- statuses as error codes -- */

template <> struct std::is_error_code_enum<hf_status> : std::true_type {
};

namespace holdfast
{

/* Statuses as std::error_code: .value() is the hf_status, .message() its
 * sentence.  Those that POSIX has too compare equal to std::errc. */
class status_category : public std::error_category
{
  public:
    const char *name() const noexcept override
    {
        return "holdfast";
    }

    std::string message(int value) const override
    {
        return hf_status_text(static_cast<hf_status>(value));
    }

    std::error_condition
    default_error_condition(int value) const noexcept override
    {
        switch (value) {
        case HF_EBUSY:
            return std::errc::device_or_resource_busy;
        case HF_ETIMEDOUT:
            return std::errc::timed_out;
        case HF_ECANCELLED:
            return std::errc::operation_canceled;
        case HF_EINVAL:
            return std::errc::invalid_argument;
        case HF_EDENIED:
            return std::errc::permission_denied;
        case HF_ENOMEM:
            return std::errc::not_enough_memory;
        case HF_EUNSUPPORTED:
            return std::errc::not_supported;
        case HF_EDEADLK:
            return std::errc::resource_deadlock_would_occur;
        default:
            return {value, *this};
        }
    }

    static const status_category &instance() noexcept
    {
        static const status_category category;
        return category;
    }
};

/* A failure: what() is the text, which says what was wrong, what was expected
 * and what to do; code() its status. */
class error : public std::system_error
{
  public:
    explicit error(const hf_error &failure)
        : std::system_error(failure.status, status_category::instance()),
          text_(std::make_shared<const std::string>(
              failure.text[0] != '\0' ? failure.text
                                      : hf_status_text(failure.status)))
    {
    }

    hf_status status() const noexcept
    {
        return static_cast<hf_status>(code().value());
    }

    const char *what() const noexcept override
    {
        return text_->c_str();
    }

  private:
    std::shared_ptr<const std::string> text_; /* a copy must not throw */
};

} // namespace holdfast

inline std::error_code make_error_code(hf_status status) noexcept
{
    return {status, holdfast::status_category::instance()};
}

namespace holdfast
{

/* What C++20 adds to the objects changes their layout, so that the two must not
 * be taken for each other by a linker. */
#if HOLDFAST_STOP_TOKEN
inline namespace cxx20
{
#else
inline namespace cxx17
{
#endif

namespace detail
{

[[noreturn]] inline void fail(const hf_error &failure)
{
#if defined(__cpp_exceptions)
    throw error(failure);
#else
    std::fprintf(stderr, "holdfast: %s\n", failure.text);
    std::abort();
#endif
}

/* Throw ${failure} if it is one. */
inline void check(const hf_error &failure)
{
    if (failure.status != HF_OK)
        fail(failure);
}

/* Call ${call} with an error to fill, and throw what it fills in. */
template <typename Call> void checked(Call call)
{
    hf_error error{};

    call(error);
    check(error);
}

/* The end of a call in C on this thread, as ${error}. */
inline void set(hf_error &error, hf_status status) noexcept
{
    error = hf_error{};
    if (status == HF_OK)
        return;
    error = *hf_last_error();
    error.status = status;
}

template <typename Rep, typename Period>
std::uint64_t milliseconds(std::chrono::duration<Rep, Period> duration)
{
    using duration_type = std::chrono::duration<Rep, Period>;
    using milliseconds_type = std::chrono::duration<double, std::milli>;

    if (duration <= duration_type::zero())
        return 0;
    /* Nobody waits that long; what is shorter fits into 63 bits. */
    if (duration == duration_type::max() ||
        milliseconds_type(duration).count() >= 9e18)
        return HF_FOREVER;
    return static_cast<std::uint64_t>(
        std::chrono::ceil<std::chrono::duration<std::int64_t, std::milli>>(
            duration)
            .count());
}

template <typename Clock, typename Duration>
std::uint64_t
milliseconds_until(const std::chrono::time_point<Clock, Duration> &end)
{
    if (end == std::chrono::time_point<Clock, Duration>::max())
        return HF_FOREVER;
    return milliseconds(end - Clock::now());
}

/* A function of C++ as .fn, .arg and .drop of a callback in C.  .drop frees
 * it, also if the call that was given it fails. */
template <typename Function> class callback
{
  public:
    /* ${target}'s .fn is ${fn} unless ${function} is empty. */
    template <typename Target, typename Trampoline>
    static void set(Target &target, Function function, Trampoline trampoline)
    {
        if (!function)
            return;
        target.fn = trampoline;
        target.arg = new Function(std::move(function));
        target.drop = [](void *arg) noexcept {
            delete static_cast<Function *>(arg);
        };
    }

    static Function &of(void *arg)
    {
        return *static_cast<Function *>(arg);
    }
};

struct free_lock {
    void operator()(hf_lock *lock) const noexcept
    {
        hf_lock_free(lock);
    }
};
struct free_mutex {
    void operator()(hf_mutex *mutex) const noexcept
    {
        hf_mutex_free(mutex);
    }
};
struct free_rwlock {
    void operator()(hf_rwlock *lock) const noexcept
    {
        hf_rwlock_free(lock);
    }
};
struct free_election {
    void operator()(hf_election *election) const noexcept
    {
        hf_election_free(election);
    }
};
struct free_op {
    void operator()(hf_op *op) const noexcept
    {
        hf_op_free(op);
    }
};

using log_function = std::function<void(hf_log_level, const char *)>;

/* Inside a callback these two cannot wait, and go on in the background. */
struct close_client {
    /* Kept until nothing can be logged any more. */
    std::unique_ptr<log_function> on_log;

    void operator()(hf_client *client) noexcept
    {
        hf_done done{};

        if (hf_client_close(client) != HF_EREENTRANT)
            return;
        done.arg = on_log.release();
        done.drop = [](void *arg) noexcept {
            delete static_cast<log_function *>(arg);
        };
        (void)!hf_client_close_start(client, done);
    }
};
struct release_grant {
    void operator()(hf_grant *grant) const noexcept
    {
        if (hf_grant_release(grant) == HF_EREENTRANT)
            (void)!hf_grant_release_start(grant, hf_done{});
    }
};

} // namespace detail

/* CLOCK_BOOTTIME, which all instants of the library are on: it goes on while
 * the machine sleeps, and nobody sets it. */
struct boot_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept
    {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return time_point(std::chrono::duration_cast<duration>(
            std::chrono::seconds(now.tv_sec) +
            std::chrono::nanoseconds(now.tv_nsec)));
    }

    /* HF_FOREVER is time_point::max(). */
    static time_point from_ms(std::uint64_t at_ms) noexcept
    {
        if (at_ms > static_cast<std::uint64_t>(duration::max().count()))
            return time_point::max();
        return time_point(duration(static_cast<rep>(at_ms)));
    }
};

/* ---------------------------------------------------------------- client -- */

struct client_options {
    std::function<void(hf_state)> on_state;
    std::function<void(hf_log_level, const char *)> on_log;
    hf_log_level log_level = HF_LOG_WARNING;
    /* client::fd() and client::dispatch() are used, and no thread is made. */
    bool dispatch = false;
    std::chrono::milliseconds connect{15000};
    /* As .loss_at of struct hf_client_opts. */
    hf_loss_at loss_at = HF_LOSS_AT_LOST;
};

/* A connection to an engine and its session.  Locks and elections of it must
 * not be used once it is gone; grants of it are lost then. */
class client
{
  public:
    /* hf_client_open(): of the engine of HOLDFAST_URL, or at ${url}. */
    client() : client(client_options{})
    {
    }
    explicit client(client_options options) : client(nullptr, options)
    {
    }
    explicit client(const std::string &url, client_options options = {})
        : client(url.c_str(), options)
    {
    }
    client(const char *url, client_options options)
    {
        hf_error error{};

        open(url, std::move(options), error);
        detail::check(error);
    }
    client(const char *url, client_options options, hf_error &error)
    {
        open(url, std::move(options), error);
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    hf_client *get() const noexcept
    {
        return handle_.get();
    }

    hf_state state() const
    {
        return hf_client_state(get());
    }

    /* With client_options::dispatch: a descriptor for a loop of your own, and
     * what to call when it is readable. */
    int fd() const
    {
        return hf_client_fd(get());
    }
    void dispatch()
    {
        detail::checked([this](hf_error &error) { dispatch(error); });
    }
    void dispatch(hf_error &error) noexcept
    {
        detail::set(error, hf_client_dispatch(get()));
    }

  private:
    void open(const char *url, client_options options, hf_error &error)
    {
        hf_client_opts opts = HF_CLIENT_OPTS_INIT;
        std::unique_ptr<detail::log_function> on_log;
        hf_client *handle;

        opts.delivery =
            options.dispatch ? HF_DELIVER_DISPATCH : HF_DELIVER_THREAD;
        opts.connect_ms = detail::milliseconds(options.connect);
        opts.loss_at = options.loss_at;
        if (options.on_log) {
            on_log = std::make_unique<detail::log_function>(
                std::move(options.on_log));
            opts.on_log.fn = [](void *arg, hf_log_level level,
                                const char *line) noexcept {
                (*static_cast<detail::log_function *>(arg))(level, line);
            };
            opts.on_log.arg = on_log.get();
            opts.on_log.level = options.log_level;
        }
        using state_callback = detail::callback<std::function<void(hf_state)>>;
        state_callback::set(opts.on_state, std::move(options.on_state),
                            [](void *arg, hf_state state) noexcept {
                                state_callback::of(arg)(state);
                            });
        hf_status status = hf_client_open(url, &opts, &handle);
        if (status == HF_OK)
            handle_ = {handle, detail::close_client{std::move(on_log)}};
        detail::set(error, status);
    }

    std::unique_ptr<hf_client, detail::close_client> handle_;
};

/* ----------------------------------------------------------------- grant -- */

class lock;

/* The proof that you were admitted.  Its destructor releases the lock: it waits
 * for one answer of the engine, or in a callback leaves that to the background.
 * It reports no loss: call release() where it matters that there was none. */
class grant
{
  public:
    grant() = default;

    /* Take over ${handle}, for instance one that a call in C has returned. */
    explicit grant(hf_grant *handle) noexcept : handle_(handle)
    {
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    hf_grant *get() const noexcept
    {
        return handle_.get();
    }

    /* The fencing token: hf_grant_token(). */
    std::uint64_t token() const
    {
        return hf_grant_token(get());
    }
    std::uint64_t token_of(const lock &lock) const;

    /* Before this instant no other client can have been admitted:
     * hf_grant_safe_until_ms(). */
    boot_clock::time_point safe_until() const
    {
        return boot_clock::from_ms(hf_grant_safe_until_ms(get()));
    }

    /* Is it valid, as far as the engine has said so far?  hf_grant_check().  If
     * not, check() says why: HF_ELOST and the reason. */
    bool is_valid()
    {
        hf_error error{};

        check(error);
        if (error.status == HF_ELOST)
            return false;
        detail::check(error);
        return true;
    }
    void check(hf_error &error) noexcept
    {
        detail::set(error, hf_grant_check(get()));
    }

    /* Readable once it is lost.  The grant owns it. */
    int loss_fd()
    {
        hf_error error{};
        int fd = loss_fd(error);

        detail::check(error);
        return fd;
    }
    int loss_fd(hf_error &error) noexcept
    {
        int fd = -1;

        detail::set(error, hf_grant_loss_fd(get(), &fd));
        return fd;
    }

    /* From a writer to a reader: hf_grant_downgrade(). */
    void downgrade()
    {
        detail::checked([this](hf_error &error) { downgrade(error); });
    }
    void downgrade(hf_error &error) noexcept
    {
        detail::set(error, hf_grant_downgrade(get()));
    }

    /* Release it.  No failure means that nobody else was admitted before this
     * call: hf_grant_release(). */
    void release()
    {
        detail::checked([this](hf_error &error) { release(error); });
    }
    void release(hf_error &error) noexcept
    {
        hf_status status = hf_grant_release(get());

        detail::set(error, status);
        if (status != HF_EREENTRANT && status != HF_EFORKED)
            (void)handle_.release();
    }

#if HOLDFAST_STOP_TOKEN
    /* A stop is requested when it is lost.  Only of a grant that
     * lock::acquire() and the like returned. */
    std::stop_token stop_token() const noexcept
    {
        return lost_.get_token();
    }
#endif

  private:
    friend class lock;
    friend grant acquire(std::initializer_list<std::reference_wrapper<lock>>,
                         struct acquire_options, hf_error &);

    std::unique_ptr<hf_grant, detail::release_grant> handle_;
#if HOLDFAST_STOP_TOKEN
    std::stop_source lost_{std::nostopstate};
#endif
};

/* ------------------------------------------------------------------ lock -- */

/* Some of the permits of a semaphore: ${take} of the ${of} that it has. */
struct permits {
    std::uint32_t take;
    std::uint32_t of;
};

struct acquire_options {
    /* The grant was lost; ${why} is the reason.  At most once, and not after
     * its release. */
    std::function<void(const hf_error &why)> on_loss;
    /* Somebody asks for its release. */
    std::function<void()> on_revoke;
    /* While it waits: hf_on_wait. */
    std::function<void(const hf_wait &)> on_wait;
    std::chrono::milliseconds on_wait_every{0};
    /* For people who list the queue. */
    std::string text;
    std::uint64_t owner = 0;
    /* hf_acquire_opts: .owner must be given. */
    bool detect_deadlock = false;
};

/* An acquire under way.  Its destructor leaves it under way. */
class operation
{
  public:
    operation() = default;
    explicit operation(hf_op *handle) noexcept : handle_(handle)
    {
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    void cancel()
    {
        hf_op_cancel(handle_.get());
    }

  private:
    std::unique_ptr<hf_op, detail::free_op> handle_;
};

/* A name that can be acquired, and a kind.  It is not recursive, and the grant
 * is its only owner: any thread may release it.  holdfast::mutex is for
 * std::unique_lock. */
class lock
{
  public:
    lock(client &client, const std::string &name, hf_kind kind = HF_KIND_MUTEX)
    {
        hf_error error{};

        open(client, name.c_str(), kind, {1, 1}, error);
        detail::check(error);
    }
    lock(client &client, const char *name, hf_kind kind,
         hf_error &error) noexcept
    {
        open(client, name, kind, {1, 1}, error);
    }
    lock(client &client, const std::string &name, permits permits)
    {
        hf_error error{};

        open(client, name.c_str(), HF_KIND_SEMAPHORE, permits, error);
        detail::check(error);
    }
    lock(client &client, const char *name, permits permits,
         hf_error &error) noexcept
    {
        open(client, name, HF_KIND_SEMAPHORE, permits, error);
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    hf_lock *get() const noexcept
    {
        return handle_.get();
    }
    const char *name() const
    {
        return hf_lock_name(get());
    }

    /* Wait until admitted: hf_lock_acquire(). */
    [[nodiscard]] grant acquire(acquire_options options = {})
    {
        return checked(HF_FOREVER, std::move(options), {});
    }
    [[nodiscard]] grant acquire(acquire_options options, hf_error &error)
    {
        return acquire_within(HF_FOREVER, std::move(options), error);
    }

    /* An empty grant if another owner has it. */
    [[nodiscard]] grant try_acquire(acquire_options options = {})
    {
        return checked(0, std::move(options), {HF_EBUSY});
    }
    [[nodiscard]] grant try_acquire(acquire_options options, hf_error &error)
    {
        return acquire_within(0, std::move(options), error);
    }

    /* An empty grant if ${timeout} passes, or ${end} comes, before. */
    template <typename Rep, typename Period>
    [[nodiscard]] grant
    try_acquire_for(std::chrono::duration<Rep, Period> timeout,
                    acquire_options options = {})
    {
        return checked(detail::milliseconds(timeout), std::move(options),
                       {HF_EBUSY, HF_ETIMEDOUT});
    }
    template <typename Rep, typename Period>
    [[nodiscard]] grant
    try_acquire_for(std::chrono::duration<Rep, Period> timeout,
                    acquire_options options, hf_error &error)
    {
        return acquire_within(detail::milliseconds(timeout), std::move(options),
                              error);
    }
    template <typename Clock, typename Duration>
    [[nodiscard]] grant
    try_acquire_until(const std::chrono::time_point<Clock, Duration> &end,
                      acquire_options options = {})
    {
        return checked(detail::milliseconds_until(end), std::move(options),
                       {HF_EBUSY, HF_ETIMEDOUT});
    }
    template <typename Clock, typename Duration>
    [[nodiscard]] grant
    try_acquire_until(const std::chrono::time_point<Clock, Duration> &end,
                      acquire_options options, hf_error &error)
    {
        return acquire_within(detail::milliseconds_until(end),
                              std::move(options), error);
    }

    /* Begin to acquire it; ${done} is called once, with a grant and HF_OK or
     * with why there is none.  A failure to begin is thrown, and ${done} is not
     * called then. */
    using done_function = std::function<void(grant, const hf_error &)>;
    operation acquire_async(done_function done, acquire_options options = {})
    {
        hf_error error{};
        operation operation =
            acquire_async(std::move(done), std::move(options), error);

        detail::check(error);
        return operation;
    }
    operation acquire_async(done_function done, acquire_options options,
                            hf_error &error);

  private:
    friend grant acquire(std::initializer_list<std::reference_wrapper<lock>>,
                         acquire_options, hf_error &);

    void open(client &client, const char *name, hf_kind kind, permits permits,
              hf_error &error) noexcept
    {
        hf_lock_opts opts = HF_LOCK_OPTS_INIT;
        hf_lock *handle;

        opts.kind = kind;
        opts.permits = permits.take;
        opts.limit = permits.of;
        hf_status status = hf_lock_open(client.get(), name, &opts, &handle);
        if (status == HF_OK)
            handle_.reset(handle);
        detail::set(error, status);
    }

    /* ${options}.text must live as long as ${opts}. */
    static void fill(hf_acquire_opts &opts, acquire_options &options,
                     grant &grant);

    grant acquire_within(std::uint64_t wait_ms, acquire_options options,
                         hf_error &error);

    /* Throws failures, but for ${expected}, which give an empty grant. */
    grant checked(std::uint64_t wait_ms, acquire_options options,
                  std::initializer_list<hf_status> expected)
    {
        hf_error error{};
        grant grant = acquire_within(wait_ms, std::move(options), error);

        for (hf_status status : expected)
            if (error.status == status)
                return grant;
        detail::check(error);
        return grant;
    }

    std::unique_ptr<hf_lock, detail::free_lock> handle_;
};

inline void lock::fill(hf_acquire_opts &opts, acquire_options &options,
                       grant &grant)
{
    using loss = detail::callback<std::function<void(const hf_error &)>>;
    using revoke = detail::callback<std::function<void()>>;
    using wait = detail::callback<std::function<void(const hf_wait &)>>;
    std::function<void(const hf_error &)> on_loss = std::move(options.on_loss);

#if HOLDFAST_STOP_TOKEN
    grant.lost_ = std::stop_source{};
    on_loss = [lost = grant.lost_,
               next = std::move(on_loss)](const hf_error &why) mutable {
        lost.request_stop();
        if (next)
            next(why);
    };
#else
    (void)grant;
#endif
    loss::set(opts.on_loss, std::move(on_loss),
              [](void *arg, hf_grant *) noexcept {
                  const hf_error why = *hf_last_error();

                  loss::of(arg)(why);
              });
    revoke::set(opts.on_revoke, std::move(options.on_revoke),
                [](void *arg, hf_grant *) noexcept { revoke::of(arg)(); });
    wait::set(opts.on_wait, std::move(options.on_wait),
              [](void *arg, const hf_wait *state) noexcept {
                  wait::of(arg)(*state);
              });
    opts.on_wait_every_ms = detail::milliseconds(options.on_wait_every);
    opts.text = options.text.empty() ? nullptr : options.text.c_str();
    opts.owner = options.owner;
    opts.detect_deadlock = options.detect_deadlock;
}

inline grant lock::acquire_within(std::uint64_t wait_ms,
                                  acquire_options options, hf_error &error)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_grant *handle;
    grant result;

    fill(opts, options, result);
    opts.wait_ms = wait_ms;
    hf_status status = hf_lock_acquire(get(), &opts, &handle);
    detail::set(error, status);
    if (status != HF_OK)
        return {};
    result.handle_.reset(handle);
    return result;
}

inline operation lock::acquire_async(done_function done,
                                     acquire_options options, hf_error &error)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    hf_done end{};
    hf_op *handle = nullptr;
    /* Shared, because what is in a std::function can be copied. */
    auto result = std::make_shared<grant>();
    using end_callback =
        detail::callback<std::function<void(const hf_result &)>>;

    fill(opts, options, *result);
    end_callback::set(
        end,
        [result, done = std::move(done)](const hf_result &ended) {
            hf_error failure{};

            failure.status = ended.status;
            if (ended.status != HF_OK)
                std::snprintf(failure.text, sizeof failure.text, "%s",
                              ended.text);
            result->handle_.reset(ended.grant);
            done(ended.status == HF_OK ? std::move(*result) : grant{}, failure);
        },
        [](void *arg, const hf_result *ended) noexcept {
            end_callback::of(arg)(*ended);
        });
    detail::set(error, hf_lock_acquire_start(get(), &opts, end, &handle));
    return operation(handle);
}

inline std::uint64_t grant::token_of(const lock &lock) const
{
    return hf_grant_token_of(get(), lock.get());
}

/* All of ${locks}, of any kinds, or none: hf_locks_acquire(), which takes them
 * in an order of its own, so that callers never wait for each other. */
[[nodiscard]] inline grant
acquire(std::initializer_list<std::reference_wrapper<lock>> locks,
        acquire_options options, hf_error &error)
{
    hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    std::vector<hf_lock *> handles;
    hf_grant *handle;
    grant result;

    for (lock &each : locks)
        handles.push_back(each.get());
    lock::fill(opts, options, result);
    hf_status status =
        hf_locks_acquire(handles.data(), handles.size(), &opts, &handle);
    detail::set(error, status);
    if (status != HF_OK)
        return {};
    result.handle_.reset(handle);
    return result;
}
[[nodiscard]] inline grant
acquire(std::initializer_list<std::reference_wrapper<lock>> locks,
        acquire_options options = {})
{
    hf_error error{};
    grant result = acquire(locks, std::move(options), error);

    detail::check(error);
    return result;
}

/* ------------------------------------------------ mutex and shared_mutex -- */

/* The options that hf_mutex and hf_rwlock share; an owner is a thread. */
struct mutex_options {
    /* How often a ticket passes from one thread of this client to the next. A
     * shared_mutex has none. */
    std::uint32_t handoffs = HF_MUTEX_HANDOFFS;
    std::string text;
    bool detect_deadlock = false;
    /* How long a ticket that no thread of this client needs is kept at most; 0:
     * it is not kept.  A shared_mutex keeps none. */
    std::chrono::milliseconds keep{0};
};

namespace detail
{

/* Did a call that locks get the lock?  Any failure but HF_EBUSY and
 * HF_ETIMEDOUT is thrown. */
inline bool locked(hf_status status)
{
    hf_error error{};

    if (status == HF_OK)
        return true;
    if (status == HF_EBUSY || status == HF_ETIMEDOUT)
        return false;
    set(error, status);
    fail(error);
}

} // namespace detail

/* A lock that is counted per thread: TimedLockable, so that std::unique_lock,
 * std::lock_guard and std::scoped_lock hold it.  A thread that has it may lock
 * it again.  unlock() reports nothing, because these call it in destructors:
 * call unlock(error) where the end of the work depends on that the lock was
 * not lost. */
class mutex
{
  public:
    mutex(client &client, const std::string &name, mutex_options options = {})
    {
        hf_error error{};

        open(client, name.c_str(), options, error);
        detail::check(error);
    }
    mutex(client &client, const char *name, mutex_options options,
          hf_error &error) noexcept
    {
        open(client, name, options, error);
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    hf_mutex *get() const noexcept
    {
        return handle_.get();
    }

    void lock()
    {
        detail::checked([this](hf_error &error) { lock(error); });
    }
    void lock(hf_error &error) noexcept
    {
        detail::set(error, hf_mutex_lock(get()));
    }
    bool try_lock()
    {
        return detail::locked(hf_mutex_trylock(get()));
    }
    template <typename Rep, typename Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> timeout)
    {
        return detail::locked(
            hf_mutex_timedlock(get(), detail::milliseconds(timeout)));
    }
    template <typename Clock, typename Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end)
    {
        return detail::locked(
            hf_mutex_timedlock(get(), detail::milliseconds_until(end)));
    }
    void unlock() noexcept
    {
        (void)hf_mutex_unlock(get());
    }
    void unlock(hf_error &error) noexcept
    {
        detail::set(error, hf_mutex_unlock(get()));
    }

    /* The fencing token of this thread's grant; 0 if it has none. */
    std::uint64_t token() const
    {
        return hf_mutex_token(get());
    }

  private:
    void open(client &client, const char *name, const mutex_options &options,
              hf_error &error) noexcept
    {
        hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
        hf_mutex *handle;

        opts.handoffs = options.handoffs;
        opts.text = options.text.empty() ? nullptr : options.text.c_str();
        opts.detect_deadlock = options.detect_deadlock;
        opts.keep_ms = detail::milliseconds(options.keep);
        hf_status status = hf_mutex_open(client.get(), name, &opts, &handle);
        if (status == HF_OK)
            handle_.reset(handle);
        detail::set(error, status);
    }

    std::unique_ptr<hf_mutex, detail::free_mutex> handle_;
};

/* A read/write lock that is counted per thread: SharedTimedLockable, so that
 * std::shared_lock reads and std::unique_lock writes.  A thread that writes may
 * also read; one that only reads and wants to write is refused, because it
 * could only wait for itself. */
class shared_mutex
{
  public:
    shared_mutex(client &client, const std::string &name,
                 mutex_options options = {})
    {
        hf_error error{};

        open(client, name.c_str(), options, error);
        detail::check(error);
    }
    shared_mutex(client &client, const char *name, mutex_options options,
                 hf_error &error) noexcept
    {
        open(client, name, options, error);
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    hf_rwlock *get() const noexcept
    {
        return handle_.get();
    }

    void lock()
    {
        detail::checked([this](hf_error &error) { lock(error); });
    }
    void lock(hf_error &error) noexcept
    {
        detail::set(error, hf_rwlock_wrlock(get()));
    }
    bool try_lock()
    {
        return detail::locked(hf_rwlock_trywrlock(get()));
    }
    template <typename Rep, typename Period>
    bool try_lock_for(std::chrono::duration<Rep, Period> timeout)
    {
        return detail::locked(
            hf_rwlock_timedwrlock(get(), detail::milliseconds(timeout)));
    }
    template <typename Clock, typename Duration>
    bool try_lock_until(const std::chrono::time_point<Clock, Duration> &end)
    {
        return detail::locked(
            hf_rwlock_timedwrlock(get(), detail::milliseconds_until(end)));
    }
    void unlock() noexcept
    {
        (void)hf_rwlock_wrunlock(get());
    }
    void unlock(hf_error &error) noexcept
    {
        detail::set(error, hf_rwlock_wrunlock(get()));
    }

    void lock_shared()
    {
        detail::checked([this](hf_error &error) { lock_shared(error); });
    }
    void lock_shared(hf_error &error) noexcept
    {
        detail::set(error, hf_rwlock_rdlock(get()));
    }
    bool try_lock_shared()
    {
        return detail::locked(hf_rwlock_tryrdlock(get()));
    }
    template <typename Rep, typename Period>
    bool try_lock_shared_for(std::chrono::duration<Rep, Period> timeout)
    {
        return detail::locked(
            hf_rwlock_timedrdlock(get(), detail::milliseconds(timeout)));
    }
    template <typename Clock, typename Duration>
    bool
    try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &end)
    {
        return detail::locked(
            hf_rwlock_timedrdlock(get(), detail::milliseconds_until(end)));
    }
    void unlock_shared() noexcept
    {
        (void)hf_rwlock_rdunlock(get());
    }
    void unlock_shared(hf_error &error) noexcept
    {
        detail::set(error, hf_rwlock_rdunlock(get()));
    }

    /* The fencing token of this thread's grant; 0 if it has none. */
    std::uint64_t token() const
    {
        return hf_rwlock_token(get());
    }

  private:
    void open(client &client, const char *name, const mutex_options &options,
              hf_error &error) noexcept
    {
        hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
        hf_rwlock *handle;

        opts.text = options.text.empty() ? nullptr : options.text.c_str();
        opts.detect_deadlock = options.detect_deadlock;
        hf_status status = hf_rwlock_open(client.get(), name, &opts, &handle);
        if (status == HF_OK)
            handle_.reset(handle);
        detail::set(error, status);
    }

    std::unique_ptr<hf_rwlock, detail::free_rwlock> handle_;
};

/* -------------------------------------------------------------- election -- */

struct election_options {
    /* This candidate leads; it does not lead any more, because of ${why}: as in
     * hf_election_opts. */
    std::function<void(std::uint64_t token)> on_elected;
    std::function<void(std::uint64_t token, const hf_error &why)> on_deposed;
    /* Somebody asks the leader to resign. */
    std::function<void(std::uint64_t token)> on_revoke;
    /* The campaign has ended without a resignation. */
    std::function<void(const hf_error &why)> on_ended;
    /* HF_KIND_MUTEX: in the queue of Curator's LeaderSelector. */
    hf_kind kind = HF_KIND_ELECTION;
    /* .text and .id of hf_election_opts, which exclude each other. */
    std::string text;
    std::string id;
};

/* A candidate that campaigns in the background. */
class election
{
  public:
    election(client &client, const std::string &name,
             election_options options = {})
    {
        hf_error error{};

        open(client, name.c_str(), std::move(options), error);
        detail::check(error);
    }
    election(client &client, const char *name, election_options options,
             hf_error &error)
    {
        open(client, name, std::move(options), error);
    }
    election(election &&) noexcept = default;
    election &operator=(election &&other) noexcept
    {
        stop();
#if HOLDFAST_STOP_TOKEN
        state_ = std::move(other.state_);
#endif
        handle_ = std::move(other.handle_);
        return *this;
    }
    ~election()
    {
        stop();
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    hf_election *get() const noexcept
    {
        return handle_.get();
    }

    /* Begin the campaign: hf_election_campaign_start(). */
    void campaign()
    {
        detail::checked([this](hf_error &error) { campaign(error); });
    }
    void campaign(hf_error &error) noexcept
    {
        detail::set(error, hf_election_campaign_start(get()));
    }

    /* Wait until it leads; with a limit, whether it does.  A wait may return
     * before on_elected is called. */
    void wait()
    {
        detail::checked([this](hf_error &error) { wait(error); });
    }
    void wait(hf_error &error) noexcept
    {
        detail::set(error, hf_election_wait(get(), HF_FOREVER));
    }
    template <typename Rep, typename Period>
    bool wait_for(std::chrono::duration<Rep, Period> timeout)
    {
        return detail::locked(
            hf_election_wait(get(), detail::milliseconds(timeout)));
    }
    template <typename Rep, typename Period>
    bool wait_for(std::chrono::duration<Rep, Period> timeout,
                  hf_error &error) noexcept
    {
        detail::set(error,
                    hf_election_wait(get(), detail::milliseconds(timeout)));
        return error.status == HF_OK;
    }

    /* End the campaign and the leadership: hf_election_resign(). */
    void resign()
    {
        detail::checked([this](hf_error &error) { resign(error); });
    }
    void resign(hf_error &error) noexcept
    {
        stop();
        detail::set(error, hf_election_resign(get()));
        stop(); // also what another thread has taken meanwhile
    }

    bool is_leader() const
    {
        return hf_election_is_leader(get());
    }
    std::uint64_t token() const
    {
        return hf_election_token(get());
    }
    boot_clock::time_point safe_until() const
    {
        return boot_clock::from_ms(hf_election_safe_until_ms(get()));
    }

#if HOLDFAST_STOP_TOKEN
    /* A stop is requested when the present leadership ends: where callbacks
     * run, or in resign(), the destructor, or the next call of this.  If this
     * candidate does not lead, it has been requested already. */
    std::stop_token stop_token() const
    {
        return state_->get(get());
    }
#endif

  private:
#if HOLDFAST_STOP_TOKEN
    /* The leadership for which stop_token() was called last.  The end of a
     * leadership changes hf_election_token() before a callback reports it.
     * After the loss of a leadership whose token was read, on_deposed or
     * on_ended is called, though perhaps for another leadership.  So both
     * compare .token with the present one. */
    struct leadership {
        std::mutex mutex;
        std::uint64_t token = 0; /* 0: none */
        std::stop_source over{std::nostopstate};

        /* The stop token of the present leadership of ${election}. */
        std::stop_token get(const hf_election *election)
        {
            std::stop_source past{std::nostopstate}, present;
            std::uint64_t now;
            {
                std::lock_guard<std::mutex> guard(mutex);

                now = hf_election_token(election);
                if (now != 0 && now == token)
                    return over.get_token();
                past = over;
                token = now;
                over = present;
            }
            past.request_stop();
            if (now == 0)
                present.request_stop();
            return present.get_token();
        }

        /* Request the stop if that leadership of ${election} is over, or in any
         * case if that is NULL.  What a stop calls runs without .mutex. */
        void stop(const hf_election *election)
        {
            std::stop_source past{std::nostopstate};
            {
                std::lock_guard<std::mutex> guard(mutex);

                if (election == nullptr || token != hf_election_token(election))
                    past = over;
            }
            past.request_stop();
        }
    };
    std::shared_ptr<leadership> state_ = std::make_shared<leadership>();
#endif

    /* We end the leadership ourselves, or no loss is reported any more: no
     * callback follows. */
    void stop() noexcept
    {
#if HOLDFAST_STOP_TOKEN
        if (handle_ != nullptr)
            state_->stop(nullptr);
#endif
    }

    using token_callback = detail::callback<std::function<void(std::uint64_t)>>;
    using deposed_callback = detail::callback<
        std::function<void(hf_election *, std::uint64_t, const hf_error &)>>;
    using ended_callback =
        detail::callback<std::function<void(hf_election *, const hf_error &)>>;

    /* A callback that requests the stop that is due, and then calls ${next},
     * which may be empty. */
    template <typename... Arguments>
    std::function<void(hf_election *, Arguments...)>
    stops(std::function<void(Arguments...)> next)
    {
#if HOLDFAST_STOP_TOKEN
        return [state = state_, next = std::move(next)](hf_election *from,
                                                        Arguments... with) {
            state->stop(from);
            if (next)
                next(with...);
        };
#else
        if (!next)
            return nullptr;
        return [next = std::move(next)](hf_election *, Arguments... with) {
            next(with...);
        };
#endif
    }

    void open(client &client, const char *name, election_options options,
              hf_error &error)
    {
        hf_election_opts opts = HF_ELECTION_OPTS_INIT;
        hf_election *handle;
        const auto on_token = [](void *arg, hf_election *,
                                 std::uint64_t token) noexcept {
            token_callback::of(arg)(token);
        };

        opts.kind = options.kind;
        opts.text = options.text.empty() ? nullptr : options.text.c_str();
        opts.id = options.id.empty() ? nullptr : options.id.c_str();
        token_callback::set(opts.on_elected, std::move(options.on_elected),
                            on_token);
        token_callback::set(opts.on_revoke, std::move(options.on_revoke),
                            on_token);
        deposed_callback::set(
            opts.on_deposed, stops(std::move(options.on_deposed)),
            [](void *arg, hf_election *from, std::uint64_t token) noexcept {
                const hf_error why = *hf_last_error();

                deposed_callback::of(arg)(from, token, why);
            });
        ended_callback::set(
            opts.on_ended, stops(std::move(options.on_ended)),
            [](void *arg, hf_election *from, const hf_error *why) noexcept {
                ended_callback::of(arg)(from, *why);
            });
        hf_status status = hf_election_open(client.get(), name, &opts, &handle);
        if (status == HF_OK)
            handle_.reset(handle);
        detail::set(error, status);
    }

    std::unique_ptr<hf_election, detail::free_election> handle_;
};

} // namespace cxx20 or cxx17
} // namespace holdfast

#endif
