/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX's strerror_l(), because glibc before 2.32 and musl have no
 * strerrordesc_np(), and because glibc's strerror() before 2.32 shares one
 * buffer between threads.  Neither of the two libraries allocates the locale
 * "C": both return a static object, which needs no freelocale().
 */
#include "base/errno_text.h"

#include <locale.h>
#include <string.h>

const char *hf_errno_text(int number)
{
    return strerror_l(number, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}
