/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of libsasl2 that another user has made: it leaves a mark when it is
 * loaded. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_mark(void)
{
    const char *path = getenv("HF_TEST_MARK");

    if (path != NULL)
        (void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}
