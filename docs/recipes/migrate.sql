-- SPDX-License-Identifier: Apache-2.0
-- The steps of migrate.sh, in one transaction.
SET client_min_messages = warning;
CREATE TABLE IF NOT EXISTS schema_version (
    version integer NOT NULL,
    token bigint NOT NULL
);
INSERT INTO schema_version
SELECT 0, 0 WHERE NOT EXISTS (SELECT FROM schema_version);

-- The fence.  A holder with a lower token than the last one stops here, because
-- it has lost the lock.  The row is locked until the end of the transaction.
UPDATE schema_version SET token = :token WHERE token <= :token;
SELECT :ROW_COUNT = 0 AS overtaken, version AS found FROM schema_version \gset
\if :overtaken
DO $$ BEGIN
    RAISE 'a later holder of the lock has been here; this one has to stop';
END $$;
\endif

SELECT :found < 1 AS missing \gset
\if :missing
CREATE TABLE customer (id bigserial PRIMARY KEY, name text NOT NULL);
UPDATE schema_version SET version = 1;
\echo migrated to version 1
\endif

SELECT :found < 2 AS missing \gset
\if :missing
ALTER TABLE customer ADD COLUMN email text;
UPDATE schema_version SET version = 2;
\echo migrated to version 2
\else
\echo nothing to migrate: version :found
\endif
