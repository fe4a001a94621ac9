/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel makes a random id for each boot. */
#include "engines/file/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "engines/file/syscalls.h"

struct hf_ticket_id hf_file_boot(void)
{
    struct hf_ticket_id boot = {{0}};
    char text[HF_TICKET_ID_TEXT_BYTES - 1];
    int fd = hf_file_sys_open("/proc/sys/kernel/random/boot_id", O_RDONLY, 0);

    if (fd < 0)
        return boot;
    if (hf_file_sys_pread(fd, text, sizeof(text), 0) != (ssize_t)sizeof(text) ||
        !hf_ticket_id_parse(&boot, text, sizeof(text)))
        memset(&boot, 0, sizeof(boot));
    (void)close(fd);
    return boot;
}
