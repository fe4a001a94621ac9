/* SPDX-License-Identifier: Apache-2.0 */
/* Deliberate faults of the tool, as those of the core in core/plant.h:
 * tests/cli/test_mutations.py selects them one by one, and a test must fail for
 * each. */
#ifndef HF_CLI_MUTATION_H
#define HF_CLI_MUTATION_H

#include <stdbool.h>

/* X(name, what the tool does wrong) */
#define HF_MUTATION_TABLE(X)                                                   \
    X(SWEEP_CHILDREN_ONLY, "SIGTERM is sent to direct children only")          \
    X(SCAN_OMITTED, "a kernel without files of children has no children")      \
    X(NAME_ENDS_EARLY, "the name of a process ends at the first parenthesis")  \
    X(SIGNAL_NOT_RELAYED, "a signal to the inner process is not sent on")      \
    X(COPIES_COUNT, "a signal that is sent to both processes counts twice")    \
    X(ANCESTOR_BY_PID,                                                         \
      "any process with the pid of an ancestor is taken for it")

/* clang-format off */
enum hf_mutation {
    HF_MUTATION_NONE,
#define HF_MUTATION_ENUM_(name, what) HF_MUTATION_##name,
    HF_MUTATION_TABLE(HF_MUTATION_ENUM_)
#undef HF_MUTATION_ENUM_
    HF_MUTATION_COUNT
};
/* clang-format on */

#if defined(HF_PLANTS)
/* The fault in force; set by tests. */
extern enum hf_mutation hf_mutation;
#define HF_MUTATED(name) (hf_mutation == HF_MUTATION_##name)
#else
#define HF_MUTATED(name) (false)
#endif

#endif
