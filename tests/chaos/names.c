/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getaddrinfo() for a program that is linked with this file.  It reads the file
 * HF_NAMES, which has a line for each name:
 *
 *     NAME ADDRESS    it has that address
 *     NAME gone       it does not resolve
 *     NAME hangs      the call makes the file HF_NAMES.hangs, and waits until
 *                     the line changes
 *
 * Names that are not in the file, and all without HF_NAMES, are resolved by the
 * real one.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 64

typedef int resolver(const char *, const char *, const struct addrinfo *,
                     struct addrinfo **);

/* What the file says of ${name}; "" if nothing. */
static void look_up(const char *name, char answer[WORD_BYTES])
{
    const char *path = getenv("HF_NAMES");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char known[WORD_BYTES];

    answer[0] = '\0';
    if (file == NULL)
        return;
    while (fscanf(file, "%63s %63s", known, answer) == 2 &&
           strcmp(known, name) != 0)
        answer[0] = '\0';
    (void)fclose(file);
}

/* Show that a call hangs now. */
static void make_hangs_file(void)
{
    char path[4096];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s.hangs", getenv("HF_NAMES"));
    if ((file = fopen(path, "we")) != NULL)
        (void)fclose(file);
}

int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *hints, struct addrinfo **found)
{
    union {
        void *object;
        resolver *function;
    } real = {dlsym(RTLD_NEXT, "getaddrinfo")};
    char answer[WORD_BYTES];

    look_up(name, answer);
    if (strcmp(answer, "hangs") == 0)
        make_hangs_file();
    for (; strcmp(answer, "hangs") == 0; look_up(name, answer))
        (void)poll(NULL, 0, 20);
    if (strcmp(answer, "gone") == 0)
        return EAI_NONAME;
    return real.function(answer[0] != '\0' ? answer : name, service, hints,
                         found);
}
