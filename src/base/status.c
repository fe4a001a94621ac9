/* SPDX-License-Identifier: Apache-2.0 */
/* The table of statuses, HF_STATUS_TABLE, as an array.  Everything here is
 * constant data, so the functions are safe in a signal handler. */
#include <stddef.h>

#include <holdfast/holdfast.h>

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

/* The row of ${status}, or that of an unknown status. */
static const struct status_row *find(hf_status status)
{
    /* Through int: the enum may be unsigned, and callers pass any number. */
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
