-- SPDX-License-Identifier: Apache-2.0
-- Write a row, unless somebody with a greater token has written it:
--
--     psql -v token=$HOLDFAST_TOKEN -v name=report -v state=done -f fencing.sql
--
-- with the table
--
--     CREATE TABLE jobs (name text PRIMARY KEY, state text NOT NULL,
--                        token bigint NOT NULL);
--
-- A row comes back if it was written.  None: this holder is not the last any
-- more, and must stop.
INSERT INTO jobs AS job (name, state, token)
VALUES (:'name', :'state', :token)
ON CONFLICT (name) DO UPDATE
SET state = excluded.state, token = excluded.token
WHERE job.token <= excluded.token
RETURNING job.token;
