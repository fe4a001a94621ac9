/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of the other programs of this package.  holdfast starts
 * holdfast-torture and holdfast-zk for some of its commands, as git starts the
 * programs in its exec path.  holdfast-torture starts holdfast for one of its
 * workloads.
 */
#ifndef HF_COMMAND_PROGRAM_PATH_H
#define HF_COMMAND_PROGRAM_PATH_H

#include <limits.h>
#include <stdbool.h>

/* A program, and the directories where it is searched for after that of the
 * running program, in this order. */
struct hf_program {
    const char *name;
    /* where it is installed, as a path from the directory of the running
     * program; "": there is no relative path, because one of the two
     * directories was configured as an absolute path */
    const char *relative_dir;
    const char *configured_dir; /* the absolute path of the directory where
                                   it is to be installed */
};

/* `holdfast`, which holdfast-torture starts, and the programs that holdfast
 * starts. */
extern const struct hf_program hf_program_holdfast;
extern const struct hf_program hf_program_torture;
extern const struct hf_program hf_program_zk;

/* Set ${path} to the path of ${program}.  It is searched for beside the running
 * program (as in a build tree); then where it is installed, relative to the
 * running program (an installed tree may have been moved); then in
 * .configured_dir.  What is found is run with our rights.  So a directory that
 * every user may write to is skipped, and a set-user-ID program searches only
 * .configured_dir.  Returns false if the program is in none of them. */
bool hf_program_find(const struct hf_program *program, char path[PATH_MAX]);

#endif
