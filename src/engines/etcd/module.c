/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol of the module engine-etcd.so. */
#include "engines/etcd/etcd.h"

extern const struct hf_engine_ops hf_engine_module;

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = HF_ETCD_OPS;
