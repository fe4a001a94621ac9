/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the other programs of this package are: holdfast starts
 * holdfast-torture and holdfast-zk for some of its commands, as git starts the
 * programs in its exec path, and holdfast-torture starts holdfast for one of
 * its workloads.
 */
#ifndef HF_COMMAND_PROGRAM_PATH_H
#define HF_COMMAND_PROGRAM_PATH_H

#include <limits.h>
#include <stdbool.h>

/* A program and where it may be, in this order. */
struct hf_program {
    const char *name;
    /* Besides the directory of the running program: the one that is installed,
     * from the directory of the running program; "": there is no such way,
     * because one of the two was configured as an absolute path. */
    const char *relative_dir;
    const char *configured_dir; /* absolute: where it is to be installed */
};

/* `holdfast`, as holdfast-torture looks for it, and the other way round. */
extern const struct hf_program hf_program_holdfast;
extern const struct hf_program hf_program_torture;
extern const struct hf_program hf_program_zk;

/* Set ${path} to the path of ${program}: beside the running program (as in a
 * build tree), else where it is installed relative to the running program (an
 * installed tree may have been moved), else in .configured_dir.  A directory
 * that every user may write to is passed over, and a set-user-ID program looks
 * only in .configured_dir, because what is found is run with our rights.
 * False if there is none in any of the three. */
bool hf_program_find(const struct hf_program *program, char path[PATH_MAX]);

#endif
