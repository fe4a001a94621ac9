-- SPDX-License-Identifier: Apache-2.0
-- The rights that a role needs to use the schemas, for psql -v role=NAME, and no
-- more: the role can create nothing in them and change nothing about them.

GRANT USAGE ON SCHEMA holdfast, holdfast_4 TO :"role";
GRANT SELECT ON holdfast.version TO :"role";
GRANT SELECT, INSERT ON holdfast.queue TO :"role";
GRANT SELECT, INSERT, UPDATE ON holdfast.counter, holdfast.success TO :"role";
GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.session, holdfast.ticket
    TO :"role";
GRANT SELECT, INSERT, DELETE ON holdfast.watcher TO :"role";
-- PUBLIC has this, unless default privileges are other ones.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA holdfast_4 TO :"role";
