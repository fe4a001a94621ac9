/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over every file of the directories in its arguments:
 * the corpus as a plain test, with any compiler.  It fails if there is no
 * file. */
#include <dirent.h>
#include <limits.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_BYTES (1 << 20)

static void replay_file(const char *path)
{
    static uint8_t input[INPUT_BYTES];
    FILE *file = fopen(path, "rb");
    size_t bytes;

    MUST(file != NULL);
    bytes = fread(input, 1, sizeof(input), file);
    MUST(!ferror(file));
    MUST(bytes < sizeof(input));
    fclose(file);
    (void)LLVMFuzzerTestOneInput(input, bytes);
}

static unsigned replay_directory(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    unsigned count = 0;

    MUST(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        char file[PATH_MAX];

        if (entry->d_name[0] == '.')
            continue;
        MUST(snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) <
             (int)sizeof(file));
        replay_file(file);
        count++;
    }
    closedir(directory);
    return count;
}

int main(int argc, char **argv)
{
    unsigned count = 0;

    for (int i = 1; i < argc; i++)
        count += replay_directory(argv[i]);
    printf("%u inputs replayed\n", count);
    /* A test over an empty corpus could not fail. */
    return count > 0 ? 0 : 1;
}
