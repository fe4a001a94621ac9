/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the codes of gRPC: https://grpc.github.io/grpc/core,
 * "statuscodes". */
#include "grpc/grpc.h"

const char *hf_grpc_status_name(enum hf_grpc_status status)
{
    static const char *const names[] = {
        [HF_GRPC_OK] = "OK",
        [HF_GRPC_CANCELLED] = "CANCELLED",
        [HF_GRPC_UNKNOWN] = "UNKNOWN",
        [HF_GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
        [HF_GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
        [HF_GRPC_NOT_FOUND] = "NOT_FOUND",
        [HF_GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
        [HF_GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
        [HF_GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
        [HF_GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
        [HF_GRPC_ABORTED] = "ABORTED",
        [HF_GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
        [HF_GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
        [HF_GRPC_INTERNAL] = "INTERNAL",
        [HF_GRPC_UNAVAILABLE] = "UNAVAILABLE",
        [HF_GRPC_DATA_LOSS] = "DATA_LOSS",
        [HF_GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
    };

    return (unsigned)status < sizeof names / sizeof *names ? names[status]
                                                           : "UNKNOWN";
}
