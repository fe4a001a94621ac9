/* SPDX-License-Identifier: Apache-2.0 */
/* See program_exec.h. */
#include "cli/program_exec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "command/exit_status.h"
#include "command/ui.h"

int hf_program_exec(const struct hf_program *program, int argc, char **argv)
{
    char **words = hf_alloc(((size_t)argc + 2) * sizeof *words);
    char *name = hf_strdup(program->name), path[PATH_MAX];
    int exit_code = HF_EXIT_NOT_FOUND;

    if (words == NULL || name == NULL) {
        hf_ui_print("no memory is left to start %s", program->name);
        exit_code = HF_EXIT_LIMIT;
    } else if (!hf_program_find(program, path)) {
        hf_ui_print("%s: there is no program %s, which does it; expected it "
                    "beside this one or in %s; install all programs of the "
                    "package, or build all of them",
                    argv[0], program->name, program->configured_dir);
    } else {
        words[0] = name;
        memcpy(words + 1, argv, ((size_t)argc + 1) * sizeof *words);
        execv(path, words);
        hf_ui_print("%s cannot be run: %s; expected the program of this "
                    "package",
                    path, strerror(errno));
        exit_code = HF_EXIT_NOT_RUN;
    }
    hf_free(words);
    hf_free(name);
    return exit_code;
}
