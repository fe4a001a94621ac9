/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of sql/, made part of the program when it is built. */
#ifndef HF_ENGINES_POSTGRES_SCHEMA_H
#define HF_ENGINES_POSTGRES_SCHEMA_H

/* What makes the schema, for psql or for one PQsendQuery(). */
extern const char hf_pg_schema[];

/* Its version, and a query that brings the version and the fingerprint of one
 * that is there: the second is HF_PG_FINGERPRINT unless somebody has changed
 * it.  Whoever changes sql/ raises the version, once it was released, and puts
 * in here what tests/postgres/test_schema.py then says. */
#define HF_PG_VERSION 1
#define HF_PG_FINGERPRINT                                                      \
    "f7dac20635d948d15d05d87adfb192be104c6b78741df09a2f3ca69e3f6ecf06"
extern const char hf_pg_check[];

#endif
