-- SPDX-License-Identifier: Apache-2.0
-- What a role needs to use the schema, for psql -v role=NAME, and no more: with
-- it the role can create nothing in the schema and change nothing about it.

GRANT USAGE ON SCHEMA holdfast TO :"role";
GRANT SELECT ON holdfast.version TO :"role";
GRANT SELECT, INSERT, UPDATE ON holdfast.queue TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.session, holdfast.ticket
    TO :"role";
GRANT SELECT, INSERT, DELETE ON holdfast.look TO :"role";
-- PUBLIC has this, unless default privileges are other ones.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA holdfast TO :"role";
