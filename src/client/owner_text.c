/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and parsing what a ticket says of its owner.  The form is in
 * docs/ticket-text.md.
 *
 * A text that is written is plain ASCII.  A text that is read may be by
 * anybody, so every parser has a bound and accepts anything.
 */
#include "client/owner_text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/tickets.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "core/ticket_text.h"
#include "monitor/fork.h"

#define BOOT_DIGITS 8
#define TIME_BYTES 21 /* "2026-11-21T16:33:00Z" and the NUL */
#define DAY_S 86400

/* The words from host= to thread=, and a NUL. */
#define THREAD_BYTES                                                           \
    (sizeof("host= pid= command= thread=") +                                   \
     (size_t)2 * HF_OWNER_VALUE_BYTES + (size_t)2 * 20)

/* With these bounds, and numbers of at most twenty digits, all words fit. */
#define TEXT_BYTES (3 * HF_OWNER_TEXT_BYTES + 1)
_Static_assert(sizeof("host= pid= command= thread= since=@ at= text= limit= "
                      "permits= ends detect") +
                       (size_t)2 * HF_OWNER_VALUE_BYTES + (size_t)5 * 20 +
                       BOOT_DIGITS + TIME_BYTES + TEXT_BYTES +
                       HF_OWNER_INHERITED_BYTES <
                   HF_OWNER_HOLDS_END,
               "a payload has room for everything");

/* What is the same for all tickets of the process, encoded. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char host[HF_OWNER_VALUE_BYTES];
static char command[HF_OWNER_VALUE_BYTES];
static char boot[BOOT_DIGITS + 1];

/* -------------------------------------------------------------- writing -- */

/* Control characters are refused because people print what a ticket says. */
hf_status hf_owner_text_check_value(const char *what, const char *value,
                                    size_t max_bytes, struct hf_error *error)
{
    size_t bytes = strlen(value);
    uint32_t code;

    if (bytes > max_bytes)
        return hf_error_set(error, HF_EINVAL,
                            "the %s has %zu bytes; expected %zu at most", what,
                            bytes, max_bytes);
    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(value + at, bytes - at, &code);
        if (length == 0 || hf_utf8_control(code))
            return hf_error_set(error, HF_EINVAL,
                                "the %s %s is not valid UTF-8 or has a "
                                "control character at byte %zu; leave that out",
                                what, hf_quote(value, bytes).text, at);
    }
    return HF_OK;
}

hf_status hf_owner_text_check(const char *text, struct hf_error *error)
{
    return hf_owner_text_check_value("text", text, HF_OWNER_TEXT_BYTES, error);
}

/* Is ${c} a character that is not encoded? */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* Percent-encode ${text} to ${value}, which has room for ${bytes}; the end of
 * ${text} that does not fit is left out. */
static void encode(char *value, size_t bytes, const char *text)
{
    size_t length = 0;

    for (; *text != '\0' && length + 4 <= bytes; text++) {
        if (is_plain(*text))
            value[length++] = *text;
        else
            length += (size_t)snprintf(value + length, 4, "%%%02X",
                                       (unsigned)(unsigned char)*text);
    }
    value[length] = '\0';
}

/* Set .boot to the first digits of the id of this boot of the machine; "" if
 * the kernel does not say it. */
static void read_boot_id(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (read(fd, boot, BOOT_DIGITS) != BOOT_DIGITS)
        boot[0] = '\0';
    close(fd);
}

/* The host, the program and the boot: once for each process. */
static void read_process_names(void)
{
    struct utsname names;

    if (uname(&names) == 0)
        encode(host, sizeof(host), names.nodename);
    encode(command, sizeof(command), program_invocation_short_name);
    read_boot_id();
}

/* Days since 1970 as a date of the Gregorian calendar. gmtime_r() would take a
 * lock of the C library, which a fork may have left locked.  See Howard
 * Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days. */
static void date_of_days(int64_t days, int *year, int *month, int *day)
{
    int64_t shifted = days + 719468; /* since the first of March in year 0 */
    int64_t era = shifted / 146097;
    int64_t of_era = shifted % 146097;
    int64_t y =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153; /* from March */

    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int)(y + era * 400 + (*month <= 2));
}

/* Write ${number} in decimal, with zeros in front up to ${digits}, and a NUL.
 * Returns the address of the NUL.  Without printf(), because this is done for
 * each acquire. */
static char *put_number(char *at, uint64_t number, size_t digits)
{
    char reversed[20];
    size_t count = 0;

    for (; number > 0 || count < digits; number /= 10)
        reversed[count++] = (char)('0' + number % 10);
    while (count > 0)
        *at++ = reversed[--count];
    *at = '\0';
    return at;
}

/* Write ${before} and then ${number}, with at least ${digits}.  Returns the
 * end. */
static char *put_field(char *at, const char *before, uint64_t number,
                       size_t digits)
{
    return put_number(stpcpy(at, before), number, digits);
}

/* Write ${second}, counted from 1970, as in "2026-11-21T16:33:00Z". */
static void write_time(char text[TIME_BYTES], time_t second)
{
    int year, month, day;
    unsigned second_of_day = (unsigned)(second % DAY_S);

    date_of_days(second / DAY_S, &year, &month, &day);
    text = put_number(text, (unsigned)year % 10000, 4);
    text = put_field(text, "-", (unsigned)month, 2);
    text = put_field(text, "-", (unsigned)day, 2);
    text = put_field(text, "T", second_of_day / 3600, 2);
    text = put_field(text, ":", second_of_day / 60 % 60, 2);
    text = put_field(text, ":", second_of_day % 60, 2);
    (void)stpcpy(text, "Z");
}

/* Append the time of day in UTC.  Returns the end.  The text is cached, because
 * many are written in a second. */
static char *put_time(char *at)
{
    static _Thread_local char text[TIME_BYTES];
    static _Thread_local time_t second;
    struct timespec now;

    /* The coarse clock is the cheapest, and the time need not be exact. */
    if (clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 || now.tv_sec < 0)
        now.tv_sec = 0;
    if (text[0] == '\0' || second != now.tv_sec)
        write_time(text, second = now.tv_sec);
    memcpy(at, text, TIME_BYTES);
    return at + TIME_BYTES - 1;
}

/* Append what is the same for all tickets of the calling thread: the words from
 * host= to thread=.  Returns the end.  They are cached, because getpid() and
 * gettid() are system calls, and written again after a fork. */
static char *put_thread(char *at)
{
    static _Thread_local char text[THREAD_BYTES];
    static _Thread_local size_t bytes; /* 0: not written yet */
    static _Thread_local uint64_t generation;
    char *end = text;

    (void)pthread_once(&once, read_process_names);
    if (bytes == 0 || generation != hf_fork_generation()) {
        end = stpcpy(stpcpy(end, "host="), host);
        end = put_field(end, " pid=", (uint64_t)getpid(), 1);
        end = stpcpy(stpcpy(end, " command="), command);
        end = put_field(end, " thread=", (uint64_t)gettid(), 1);
        bytes = (size_t)(end - text);
        generation = hf_fork_generation();
    }
    memcpy(at, text, bytes);
    return at + bytes;
}

void hf_owner_text_write(char payload[HF_PAYLOAD_BYTES], uint64_t now_ms,
                         const char *text)
{
    char *at = put_thread(payload);

    at = put_field(at, " since=", now_ms, 1);
    at = stpcpy(stpcpy(at, "@"), boot);
    at = put_time(stpcpy(at, " at="));
    if (text != NULL)
        encode(stpcpy(at, " text="), TEXT_BYTES, text);
}

/* The key cannot be part of a value, because spaces are encoded. */
void hf_owner_text_add_asked(char payload[HF_PAYLOAD_BYTES])
{
    static const char key[] = " asked=";
    size_t length = strlen(payload);

    if (strncmp(payload, "host=", strlen("host=")) != 0 ||
        strstr(payload, key) != NULL ||
        length + strlen(key) + TIME_BYTES > HF_PAYLOAD_BYTES)
        return;
    (void)put_time(stpcpy(payload + length, key));
}

void hf_owner_text_add_limit(char payload[HF_PAYLOAD_BYTES], uint32_t limit,
                             uint32_t permits)
{
    size_t length = strlen(payload);

    (void)snprintf(payload + length, HF_PAYLOAD_BYTES - length, " limit=%lu",
                   (unsigned long)limit);
    if (permits == 1)
        return;
    length = strlen(payload);
    (void)snprintf(payload + length, HF_PAYLOAD_BYTES - length, " permits=%lu",
                   (unsigned long)permits);
}

void hf_owner_text_add_ends(char payload[HF_PAYLOAD_BYTES])
{
    size_t length = strlen(payload);

    (void)snprintf(payload + length, HF_PAYLOAD_BYTES - length, " ends");
}

void hf_owner_text_add_detect(char payload[HF_PAYLOAD_BYTES])
{
    size_t length = strlen(payload);

    (void)snprintf(payload + length, HF_PAYLOAD_BYTES - length, " detect");
}

/* Append ${name} and ${id} to the list of the word ${key}, which is the last
 * word or is begun here.  If they do not fit, a '+' is appended instead, for
 * which one byte is always kept. */
static bool add_to_list(char *payload, size_t bytes, const char *key,
                        const char *name, const char *id)
{
    char encoded[3 * HF_NAME_BYTES + 1];
    bool begun = strstr(payload, key) != NULL;
    size_t length = strlen(payload);
    int added;

    if (begun && payload[length - 1] == '+')
        return false;
    encode(encoded, sizeof(encoded), name);
    added = snprintf(payload + length, bytes - length, "%s%s:%.*s",
                     begun ? "," : key, encoded, HF_TICKET_HOLD_DIGITS, id);
    /* One byte is kept for the '+' of the next. */
    if (added > 0 && (size_t)added + 1 < bytes - length)
        return true;
    (void)snprintf(payload + length, bytes - length, "%s+", begun ? "" : key);
    return false;
}

bool hf_owner_text_add_hold(char *payload, size_t bytes, const char *name,
                            const char *id)
{
    return add_to_list(payload, bytes, " holds=", name, id);
}

bool hf_owner_text_add_outer(char *payload, size_t bytes, const char *name,
                             const char *id)
{
    return add_to_list(payload, bytes, " outer=", name, id);
}

/* -------------------------------------------------------------- reading -- */

/* Copy a value without decoding it.  False if not all of it fits. */
static bool copy_value(char *text, size_t bytes, const char *value,
                       size_t length)
{
    size_t taken = length < bytes ? length : bytes - 1;

    memcpy(text, value, taken);
    text[taken] = '\0';
    return taken == length;
}

/* since=: how long ago that was, if this is still the same boot of the
 * machine. */
static void parse_since(struct hf_owner *owner, const char *value,
                        size_t length, uint64_t now_ms)
{
    const char *end = value + length;
    uint64_t since_ms;

    (void)pthread_once(&once, read_process_names);
    if (!hf_ticket_text_parse_number(&value, &since_ms) || *value != '@' ||
        end - value != 1 + BOOT_DIGITS || boot[0] == '\0' ||
        memcmp(value + 1, boot, BOOT_DIGITS) != 0)
        return;
    owner->age_ms = now_ms > since_ms ? now_ms - since_ms : 0;
}

/* Days since 1970 of a date: days_from_civil of the same source. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t of_era = y % 400;
    int64_t of_year =
        (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return y / 400 * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
           of_year - 719468;
}

/* at=, in milliseconds since 1970; nothing if ${value} has another form. */
static void parse_time(struct hf_owner *owner, const char *value, size_t length)
{
    static const char pattern[] = "dddd-dd-ddTdd:dd:ddZ";
    int64_t fields[6] = {0}, seconds;
    size_t n = 0;

    if (length != sizeof(pattern) - 1)
        return;
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] != 'd') {
            if (value[i] != pattern[i])
                return;
            n++;
        } else if (value[i] < '0' || value[i] > '9') {
            return;
        } else {
            fields[n] = fields[n] * 10 + (value[i] - '0');
        }
    }
    if (fields[0] < 1970 || fields[1] < 1 || fields[1] > 12 || fields[2] < 1)
        return;
    seconds = days_of_date(fields[0], fields[1], fields[2]) * DAY_S +
              fields[3] * 3600 + fields[4] * 60 + fields[5];
    owner->at_utc_ms = (uint64_t)seconds * 1000;
}

/* Set ${text} to the decoded value of ${key}, if it is there. */
static void parse_text(const char *payload, const char *key, char *text,
                       size_t bytes)
{
    const char *value;
    size_t length;

    if (hf_ticket_text_find(payload, key, &value, &length))
        (void)hf_ticket_text_decode(text, bytes, value, length);
}

/* Each word is looked for by its key, so order and unknown words do not
 * matter. */
bool hf_owner_text_parse(const char *payload, uint64_t now_ms,
                         struct hf_owner *owner)
{
    const char *value;
    size_t length;

    *owner = (struct hf_owner){.age_ms = HF_FOREVER};
    parse_text(payload, "host", owner->host, sizeof(owner->host));
    parse_text(payload, "command", owner->command, sizeof(owner->command));
    parse_text(payload, "text", owner->text, sizeof(owner->text));
    owner->pid = hf_ticket_text_number(payload, "pid");
    owner->thread = hf_ticket_text_number(payload, "thread");
    owner->limit = hf_ticket_text_number(payload, "limit");
    if (hf_ticket_text_find(payload, "since", &value, &length))
        parse_since(owner, value, length, now_ms);
    if (hf_ticket_text_find(payload, "at", &value, &length))
        parse_time(owner, value, length);
    return owner->pid != 0;
}

bool hf_owner_text_is_of_host(const char *payload, const char *name)
{
    char encoded[HF_OWNER_VALUE_BYTES],
        named[sizeof "host= pid=1" + HF_OWNER_VALUE_BYTES];
    struct hf_owner owner, wanted;

    (void)pthread_once(&once, read_process_names);
    if (name != NULL)
        encode(encoded, sizeof(encoded), name);
    /* Decoded before they are compared, because others may encode more. */
    (void)snprintf(named, sizeof(named), "host=%s pid=1",
                   name != NULL ? encoded : host);
    return hf_owner_text_parse(payload, 0, &owner) &&
           hf_owner_text_parse(named, 0, &wanted) &&
           strcmp(owner.host, wanted.host) == 0;
}

/* Is the value of ${key} a list of names?  Then it is not decoded, because a
 * decoded name could look like two. */
static bool is_list(const char *key)
{
    return strcmp(key, "holds") == 0 || strcmp(key, "outer") == 0;
}

/* A word without a value is found and gives "". */
static hf_status get_text(const char *owner, const char *key, char *text,
                          size_t bytes, struct hf_error *error)
{
    const char *value;
    size_t length;
    bool fits;

    if (bytes > 0)
        text[0] = '\0';
    if (!hf_ticket_text_find(owner, key, &value, &length))
        return hf_error_set(error, HF_EGONE, "there is no %.40s= in the text",
                            key);
    fits = bytes > 0 &&
           (is_list(key) ? copy_value(text, bytes, value, length)
                         : hf_ticket_text_decode(text, bytes, value, length));
    if (fits)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%zu bytes are too few for the value of %.40s=; "
                        "expected up to %d",
                        bytes, key, HF_OWNER_VALUE_MAX);
}

hf_status hf_owner_text_get(const char *owner, const char *key, char *text,
                            size_t bytes)
{
    struct hf_error error;

    if (get_text(owner, key, text, bytes, &error) == HF_OK)
        return HF_OK;
    return hf_fail("hf_owner_text_get", &error);
}
