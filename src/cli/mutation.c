/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mutation.h"

#if defined(HF_PLANTS)
enum hf_mutation hf_mutation = HF_MUTATION_NONE;
#endif
