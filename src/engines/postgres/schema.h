/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of sql/, made part of the program when it is built. */
#ifndef HF_ENGINES_POSTGRES_SCHEMA_H
#define HF_ENGINES_POSTGRES_SCHEMA_H

/* What makes the schema, for psql or for one PQsendQuery(). */
extern const char hf_pg_schema[];

/* What takes the schema of an earlier version to this one, for psql: those who
 * use the earlier one are refused from then on, so that no library does it
 * unasked. */
extern const char hf_pg_upgrade[];

/* What gives a role the rights to use the schema, for psql -v role=NAME. */
extern const char hf_pg_grant[];

/* A query with one parameter, the name of a role to be trusted or "": one row
 * with what lets others act as those who use the schema, "" if nothing does.
 * It runs before any other query that names something in the schema. */
extern const char hf_pg_rights[];

/* What prepares the statements of hf_pg_call_send(), for a connection. */
extern const char hf_pg_prepare[];

/* A query that returns the version and the definition of the schema that is
 * there.  The second is hf_pg_definition if nobody has changed the schema: one
 * line each for tables, columns, functions and whatever else decides what they
 * do, sorted by bytes.
 *
 * A change to sql/ raises the version once that one was released, keeps
 * upgrade.sql able to come from there, and needs sql/definition.txt written
 * anew: python3 tests/postgres/schema.py. */
#define HF_PG_VERSION 3
extern const char hf_pg_check[];
extern const char hf_pg_definition[];

#endif
