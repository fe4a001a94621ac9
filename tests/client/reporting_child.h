/* SPDX-License-Identifier: Apache-2.0 */
/* A child of a test that reports what went wrong: for what a test cannot do
 * itself, as closing its descriptors.  It uses the server that the environment
 * names, or files. */
#ifndef HF_TESTS_CLIENT_REPORTING_CHILD_H
#define HF_TESTS_CLIENT_REPORTING_CHILD_H

/* What the child does with ${url}.  It writes what went wrong to ${report}, and
 * ends by _exit(). */
typedef void reporting_child_main(const void *arg, const char *url, int report);

/* Run ${child} in a child with a directory of its own for locks and metrics,
 * which is removed afterwards.  It must report nothing and exit with 0. */
void reporting_child_run(reporting_child_main *child, const void *arg);

#endif
