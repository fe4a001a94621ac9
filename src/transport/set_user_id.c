/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/set_user_id.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* The longest name of a variable that is removed. */
#define NAME_BYTES 128

/* Room for what the password database says of a user. */
#define PASSWD_BYTES 16384

bool hf_set_user_id(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Set ${name} to the first variable whose name begins with ${prefix}.  Names of
 * NAME_BYTES or more are skipped.  Returns false if there is none. */
static bool find(const char *prefix, char name[NAME_BYTES])
{
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        size_t length = strcspn(*entry, "=");

        if (strncmp(*entry, prefix, strlen(prefix)) != 0 ||
            length >= NAME_BYTES)
            continue;
        memcpy(name, *entry, length);
        name[length] = '\0';
        return true;
    }
    return false;
}

void hf_set_user_id_clear(const char *prefix)
{
    char name[NAME_BYTES];

    if (!hf_set_user_id())
        return;
    while (find(prefix, name) && unsetenv(name) == 0)
        ;
}

bool hf_set_user_id_home(const char *file, char *path, size_t bytes)
{
    char memory[PASSWD_BYTES];
    struct passwd entry, *found = NULL;
    const char *home = "/nonexistent"; /* as Debian calls it */
    int length;

    if (getpwuid_r(geteuid(), &entry, memory, sizeof memory, &found) == 0 &&
        found != NULL && found->pw_dir != NULL && found->pw_dir[0] == '/')
        home = found->pw_dir;
    length = snprintf(path, bytes, "%s/%s", home, file);
    return length > 0 && (size_t)length < bytes;
}
