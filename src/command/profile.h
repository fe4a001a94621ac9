/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: short names for URLs, in a file of the user and in one of the
 * machine.  "-c @prod" uses the URL of the profile "prod".
 *
 * A line of such a file is a name and a URL with blanks between them.  Empty
 * lines and lines that begin with '#' are ignored.
 */
#ifndef HF_COMMAND_PROFILE_H
#define HF_COMMAND_PROFILE_H

#include <holdfast/status.h>

/* The longest line of a file. */
#define HF_PROFILE_LINE_BYTES 4096

/* Set ${url} to the URL of the profile ${name}; the caller frees it with
 * free().  The profile is searched for in $XDG_CONFIG_HOME/holdfast/profiles
 * or, without that variable, in $HOME/.config/holdfast/profiles; then in
 * HF_PROFILES_OF_MACHINE.  In a file the first line with that name counts.
 * Fails with HF_EINVAL if there is no such profile, or if a line in front of it
 * is wrong; HF_EDENIED if the file cannot be read, or if the URL has a password
 * and others may read the file; HF_ENOMEM. */
hf_status hf_profile_find(const char *name, char **url, struct hf_error *error);

#endif
