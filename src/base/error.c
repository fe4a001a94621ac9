/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <assert.h>
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "base/secret.h"
#include "base/utf8.h"

/* ------------------------------------------------------------- statuses -- */

/* The table of statuses, HF_STATUS_TABLE, as an array.  Everything here is
 * constant data, so the functions are safe in a signal handler. */
struct status_row {
    const char *name;
    const char *text;
    enum hf_class class_;
    enum hf_retry retry;
};

/* Indexed by number; a number that was retired leaves a row without a name. */
static const struct status_row rows[] = {
#define ROW(name, number, class_, retry, text)                                 \
    [number] = {#name, text, class_, retry},
    HF_STATUS_TABLE(ROW)
#undef ROW
};

static const struct status_row unknown = {"HF_?", "unknown status",
                                          HF_CLASS_BUG, HF_RETRY_NEVER};

/* Return the row of ${status}, or ${unknown} if there is none. */
static const struct status_row *find(hf_status status)
{
    /* Compared as an int, because the enum may be unsigned and callers may pass
     * any number. */
    int number = (int)status;

    if (number < 0 || (size_t)number >= sizeof(rows) / sizeof(rows[0]) ||
        rows[number].name == NULL)
        return &unknown;
    return &rows[number];
}

const char *hf_status_name(hf_status status)
{
    return find(status)->name;
}

const char *hf_status_text(hf_status status)
{
    return find(status)->text;
}

enum hf_class hf_status_class(hf_status status)
{
    return find(status)->class_;
}

enum hf_retry hf_status_retry(hf_status status)
{
    return find(status)->retry;
}

int hf_version(void)
{
    return HF_VERSION;
}

/* --------------------------------------------------------------- errors -- */

hf_status hf_error_set(struct hf_error *error, hf_status status,
                       const char *format, ...)
{
    /* Not formatted directly into ${error}, because an argument may be the text
     * that ${error} has now. */
    char text[HF_ERROR_TEXT_BYTES];
    va_list args;
    int wanted;

    assert(status != HF_OK);
    if (error == NULL)
        return status;
    va_start(args, format);
    wanted = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(wanted >= 0);
    /* The text may quote paths, answers of servers and names, and is printed to
     * terminals.  A quoted path or name may be a mistyped URL with a password.
     */
    hf_utf8_make_printable(text, (size_t)wanted >= sizeof(text));
    hf_secret_hide(text);
    error->status = status;
    memcpy(error->text, text, strlen(text) + 1);
    return status;
}

void hf_error_prefix(struct hf_error *error, const char *context)
{
    if (error != NULL && error->status != HF_OK)
        (void)hf_error_set(error, error->status, "%s: %s", context,
                           error->text);
}

/* ---------------------------------------------------------------- errno -- */

/* POSIX's strerror_l(), because glibc before 2.32 and musl have no
 * strerrordesc_np(), and because glibc's strerror() before 2.32 shares one
 * buffer between threads.  Neither of the two libraries allocates the locale
 * "C": both return a static object, which needs no freelocale(). */
const char *hf_errno_text(int number)
{
    return strerror_l(number, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

/* -------------------------------------------------- the last of a thread -- */

/* The last error of this thread.  Being thread-local, it needs no memory when
 * something fails, and nothing has to be freed when the thread ends. */
static _Thread_local struct hf_error last;

hf_status hf_fail(const char *api_name, const struct hf_error *error)
{
    return hf_error_set(&last, error->status, "%s: %s", api_name,
                        error->text[0] != '\0' ? error->text
                                               : hf_status_text(error->status));
}

void hf_last_error_report(hf_status status, const char *text)
{
    if (status != HF_OK)
        (void)hf_error_set(&last, status, "%s", text);
}

const struct hf_error *hf_last_error(void)
{
    return &last;
}
