/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of sql/, which become a part of the program when it is built. */
#ifndef HF_ENGINES_POSTGRES_SCHEMA_H
#define HF_ENGINES_POSTGRES_SCHEMA_H

/* Creates the schema; for psql or for one PQsendQuery(). */
extern const char hf_pg_schema[];

/* Grants a role the rights to use the schema; for psql -v role=NAME. */
extern const char hf_pg_grant[];

/* A query with one parameter, the name of a role that is trusted, or "".  It
 * returns one row: what lets others act as the users of the schema, or "". It
 * runs before any other query that names something in the schema. */
extern const char hf_pg_rights[];

/* Prepares the statements of hf_pg_call_send() on a connection. */
extern const char hf_pg_prepare[];

/* A query that returns what the server says of itself: a head and a row for
 * each finding. */
extern const char hf_pg_examine[];

/*
 * A query that returns the version and the definition of the schema that is
 * there.  The definition is hf_pg_definition if nobody has changed the schema.
 * It has one line for each table, column, function and whatever else decides
 * what these do, sorted by bytes.
 *
 * A schema of another version is refused.  So a change to sql/ must raise the
 * version if that was released, and needs a new sql/definition.txt:
 * python3 tests/postgres/schema.py.
 */
#define HF_PG_VERSION 3
extern const char hf_pg_check[];
extern const char hf_pg_definition[];

#endif
