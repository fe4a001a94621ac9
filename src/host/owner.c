/* SPDX-License-Identifier: Apache-2.0 */
#include "host/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BOOT_DIGITS 8
#define VALUE_BYTES 128 /* so that four of them fit any payload */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char host[VALUE_BYTES];
static char command[VALUE_BYTES];
static char boot[BOOT_DIGITS + 1];

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* Encode ${text} to ${value}, leaving out what does not fit. */
static void encode(char value[VALUE_BYTES], const char *text)
{
    size_t length = 0;

    for (; *text != '\0' && length + 4 <= VALUE_BYTES; text++) {
        if (is_plain(*text))
            value[length++] = *text;
        else
            length += (size_t)snprintf(value + length, 4, "%%%02X",
                                       (unsigned)(unsigned char)*text);
    }
    value[length] = '\0';
}

static void read_boot_id(void)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (read(fd, boot, BOOT_DIGITS) != BOOT_DIGITS)
        boot[0] = '\0';
    close(fd);
}

static void learn(void)
{
    struct utsname names;

    if (uname(&names) == 0)
        encode(host, names.nodename);
    encode(command, program_invocation_short_name);
    read_boot_id();
}

void hf_owner_describe(char payload[HF_PAYLOAD_BYTES], uint64_t now_ms)
{
    (void)pthread_once(&once, learn);
    (void)snprintf(payload, HF_PAYLOAD_BYTES,
                   "host=%s pid=%ld command=%s since=%llu@%s", host,
                   (long)getpid(), command, (unsigned long long)now_ms, boot);
}
