/* SPDX-License-Identifier: Apache-2.0 */
/* See torture_exec.h. */
#include "cli/torture_exec.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit_status.h"
#include "cli/program_path.h"
#include "cli/ui.h"
#include "core/memory.h"

int hf_torture_exec_main(int argc, char **argv)
{
    const struct hf_program *program = &hf_program_torture;
    char **words = hf_alloc(((size_t)argc + 2) * sizeof *words);
    char name[] = "holdfast-torture", path[PATH_MAX];
    int error;

    if (!hf_program_find(program, path)) {
        hf_ui_print("%s: there is no program %s, which does it; expected it "
                    "beside this one or in %s; install all programs of the "
                    "package, or build all of them",
                    argv[0], program->name, program->configured_dir);
        hf_free(words);
        return HF_EXIT_NOT_FOUND;
    }
    if (words == NULL) {
        hf_ui_print("no memory is left to start %s", path);
        return HF_EXIT_LIMIT;
    }
    words[0] = name;
    memcpy(words + 1, argv, ((size_t)argc + 1) * sizeof *words);
    execv(path, words);
    error = errno;
    hf_free(words);
    hf_ui_print("%s cannot be run: %s; expected the program of this package",
                path, strerror(error));
    return HF_EXIT_NOT_RUN;
}
