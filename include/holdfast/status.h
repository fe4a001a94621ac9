/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses: how every call ends, and the text of a failure.
 * <holdfast/holdfast.h> says what holds for every call.
 */
#ifndef HOLDFAST_STATUS_H
#define HOLDFAST_STATUS_H

#include <holdfast/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * HF_STATUS_TABLE(X): X(name, number, class, retry, text).
 * Numbers are fixed for ever and never reused.
 */
#define HF_STATUS_TABLE(X)                                                     \
    X(HF_OK, 0, HF_CLASS_OK, HF_RETRY_NEVER, "success")                        \
    X(HF_EBUSY, 1, HF_CLASS_CONTENDED, HF_RETRY_LATER,                         \
      "another owner holds the lock")                                          \
    X(HF_ETIMEDOUT, 2, HF_CLASS_TIMEOUT, HF_RETRY_LATER,                       \
      "the wait ended before a grant")                                         \
    X(HF_ECANCELLED, 3, HF_CLASS_CANCELLED, HF_RETRY_LATER,                    \
      "the wait was cancelled")                                                \
    X(HF_ELOST, 4, HF_CLASS_LOST, HF_RETRY_NEVER,                              \
      "the grant was lost before it was released")                             \
    X(HF_EUNSURE, 5, HF_CLASS_UNKNOWN, HF_RETRY_CHECK,                         \
      "the request may or may not have taken effect")                          \
    X(HF_EUNREACHABLE, 6, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                \
      "the engine could not be reached")                                       \
    X(HF_ECLOSED, 7, HF_CLASS_CANCELLED, HF_RETRY_NEVER,                       \
      "the client was closed")                                                 \
    X(HF_EINVAL, 8, HF_CLASS_USAGE, HF_RETRY_NEVER,                            \
      "an argument is not valid")                                              \
    X(HF_ENAME, 9, HF_CLASS_USAGE, HF_RETRY_NEVER,                             \
      "the lock name is not valid")                                            \
    X(HF_EURL, 10, HF_CLASS_USAGE, HF_RETRY_NEVER,                             \
      "the engine URL is not valid")                                           \
    X(HF_ESTATE, 11, HF_CLASS_USAGE, HF_RETRY_NEVER,                           \
      "the handle is in a state that does not allow this call")                \
    X(HF_EREENTRANT, 12, HF_CLASS_USAGE, HF_RETRY_NEVER,                       \
      "a call that waits was made where it could only wait for itself")        \
    X(HF_EFORKED, 13, HF_CLASS_USAGE, HF_RETRY_NEVER,                          \
      "the handle belongs to the parent process")                              \
    X(HF_EOWNER, 14, HF_CLASS_USAGE, HF_RETRY_NEVER,                           \
      "the caller does not own the mutex")                                     \
    X(HF_EKIND, 15, HF_CLASS_USAGE, HF_RETRY_NEVER,                            \
      "the name is in use for another kind of lock")                           \
    X(HF_EDENIED, 16, HF_CLASS_DENIED, HF_RETRY_NEVER,                         \
      "the engine refused access")                                             \
    X(HF_EFULL, 17, HF_CLASS_STORAGE, HF_RETRY_LATER,                          \
      "no space is left where the engine keeps its tickets")                   \
    X(HF_EDIR, 18, HF_CLASS_STORAGE, HF_RETRY_NEVER,                           \
      "the lock directory cannot be used")                                     \
    X(HF_ELIMIT, 19, HF_CLASS_RESOURCE, HF_RETRY_LATER,                        \
      "the process ran into a limit of the system")                            \
    X(HF_ENOMEM, 20, HF_CLASS_RESOURCE, HF_RETRY_LATER,                        \
      "memory could not be allocated")                                         \
    X(HF_EUNSUPPORTED, 21, HF_CLASS_UNSUPPORTED, HF_RETRY_NEVER,               \
      "this engine or build cannot do that")                                   \
    X(HF_EEXHAUSTED, 22, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                 \
      "the sequence of the queue is exhausted")                                \
    X(HF_EPROTOCOL, 23, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                  \
      "the engine answered something that makes no sense")                     \
    X(HF_EBUG, 24, HF_CLASS_BUG, HF_RETRY_NEVER, "a fault in holdfast itself") \
    X(HF_EGONE, 25, HF_CLASS_GONE, HF_RETRY_NEVER,                             \
      "what was named is not there")                                           \
    X(HF_EDEADLK, 26, HF_CLASS_CONTENDED, HF_RETRY_LATER,                      \
      "the wait is part of a deadlock")                                        \
    X(HF_EEXISTS, 27, HF_CLASS_CONFLICT, HF_RETRY_NEVER,                       \
      "what was to be made is there already")                                  \
    X(HF_EVERSION, 28, HF_CLASS_CONFLICT, HF_RETRY_CHECK,                      \
      "the version is not the one that was expected")                          \
    X(HF_ENOTEMPTY, 29, HF_CLASS_CONFLICT, HF_RETRY_LATER,                     \
      "what was to be removed has something below it")                         \
    X(HF_EREADONLY, 30, HF_CLASS_UNAVAILABLE, HF_RETRY_LATER,                  \
      "the server takes no writes now")

/* clang-format off */
typedef enum hf_status {
#define HF_STATUS_ENUM_(name, number, class_, retry, text) name = number,
    HF_STATUS_TABLE(HF_STATUS_ENUM_)
#undef HF_STATUS_ENUM_
} hf_status;
/* clang-format on */

/* What kind of failure a status is: switch on this. */
enum hf_class {
    HF_CLASS_OK = 0,
    HF_CLASS_CONTENDED = 1,   /* another owner has it */
    HF_CLASS_TIMEOUT = 2,     /* time ran out */
    HF_CLASS_CANCELLED = 3,   /* this program gave up */
    HF_CLASS_LOST = 4,        /* ownership ended while in use */
    HF_CLASS_UNKNOWN = 5,     /* neither yes nor no */
    HF_CLASS_UNAVAILABLE = 6, /* the engine does not answer, or not sensibly */
    HF_CLASS_USAGE = 7,       /* the call was wrong; fix the program */
    HF_CLASS_DENIED = 8,      /* not permitted */
    HF_CLASS_STORAGE = 9,     /* the place for tickets is full or unusable */
    HF_CLASS_RESOURCE = 10,   /* memory, descriptors, processes */
    HF_CLASS_UNSUPPORTED = 11,
    HF_CLASS_BUG = 12,
    HF_CLASS_GONE = 13,    /* what was named is not there, or not any more */
    HF_CLASS_CONFLICT = 14 /* what is there is not what was expected */
};

/* Whether the same call may do better another time. */
enum hf_retry {
    HF_RETRY_NEVER = 0, /* not without a change */
    HF_RETRY_LATER = 1, /* yes */
    HF_RETRY_CHECK = 2  /* look first: it may already have happened */
};

/**
 * hf_status_name(status), hf_status_text(status):
 * The symbol ("HF_EBUSY") and a short sentence for ${status}.  A number that
 * is not in the table gives "HF_?" and "unknown status".
 *   Ownership static; never NULL.
 *   Thread    any; also async-signal-safe.
 */
HF_API const char *hf_status_name(hf_status status);
HF_API const char *hf_status_text(hf_status status);

/**
 * hf_status_class(status), hf_status_retry(status):
 * The class of ${status} and whether trying again can help.  A number that is
 * not in the table is HF_CLASS_BUG and HF_RETRY_NEVER.
 *   Thread    any; also async-signal-safe.
 */
HF_API enum hf_class hf_status_class(hf_status status);
HF_API enum hf_retry hf_status_retry(hf_status status);

/* A status and the text that explains it, in memory of the caller. */
#define HF_ERROR_TEXT_BYTES 480
struct hf_error {
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES]; /* NUL-terminated, valid UTF-8, no secret */
};

/**
 * hf_last_error():
 * The last failure of this thread: its status, and a text that explains it.
 * HF_OK and "" if there was none yet.
 *
 * A call that returns a failure sets it, also one with _start, one that opens,
 * and one in a child of a fork.  The text begins with the name of the call.  A
 * call that succeeds leaves it as it is.
 *
 * A callback that reports a failure finds it here, with the text of the result
 * or the event, which names no call: struct hf_done, hf_zookeeper_done,
 * hf_on_loss and hf_zookeeper_on_registration, and on_deposed and on_ended of
 * an election.  Other callbacks leave it as it is.
 *
 * A thread that learns of a loss in another way, such as hf_grant_loss_fd(),
 * calls hf_grant_check(), which fails with the reason.
 *   Ownership the library's; valid until the next failure on this thread, and
 *             not after the end of the thread.  Never NULL.
 *   Thread    any; each has its own.
 */
HF_API const struct hf_error *hf_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
