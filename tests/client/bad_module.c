/* SPDX-License-Identifier: Apache-2.0 */
/* An engine module that the client must refuse.  It is built twice: once with
 * another version of the engine interface, once with another scheme than its
 * file name says. */
#include "core/engine.h"

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = {
    .abi = MODULE_ABI,
    .scheme = MODULE_SCHEME,
};
