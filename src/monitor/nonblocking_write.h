/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a text without waiting for its reader, to a descriptor whose open
 * file description other programs share: standard error.  O_NONBLOCK belongs to
 * the description, so it would be set for those programs too.
 */
#ifndef HF_MONITOR_NONBLOCKING_WRITE_H
#define HF_MONITOR_NONBLOCKING_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* A text that is longer is cut.  A pipe takes one of this length whole or not
 * at all. */
#define HF_NONBLOCKING_WRITE_BYTES 4096

/* Write ${text} to ${fd}.  False if there is no room for it now, or if it
 * cannot be written; a terminal or a socket may then have a part of it.  It
 * waits only for a file on a file system that does not answer, and perhaps
 * where the kernel offers nothing better, if others take the room at the same
 * moment.  Any thread. */
bool hf_write_nonblocking(int fd, const char *text, size_t bytes);

#endif
