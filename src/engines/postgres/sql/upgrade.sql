-- SPDX-License-Identifier: Apache-2.0
-- Take the schema of an earlier version to this one, in one transaction with
-- the functions, which follow.  What is in the tables stays: tickets, and the
-- numbers that were given out.

SET search_path = pg_catalog, pg_temp;

DO $upgrade$
DECLARE
    was integer;
    function regprocedure;
    its record;
BEGIN
    SELECT version INTO STRICT was FROM holdfast.version FOR UPDATE;
    IF was >= 3 THEN
        RAISE EXCEPTION 'the schema holdfast has version % already', was;
    END IF;
    UPDATE holdfast.version SET version = 3;
    FOR function IN SELECT oid FROM pg_proc
                     WHERE pronamespace = 'holdfast'::regnamespace LOOP
        EXECUTE 'DROP FUNCTION ' || function;
    END LOOP;
    -- Names of constraints and indexes are their owner's.
    FOR its IN SELECT conname, conrelid::regclass AS owner FROM pg_constraint
                WHERE contype = 'f'
                  AND (conrelid = 'holdfast.ticket'::regclass OR
                       (conrelid = 'holdfast.look'::regclass AND
                        confrelid = 'holdfast.queue'::regclass)) LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', its.owner,
                       its.conname);
    END LOOP;
    ALTER TABLE holdfast.queue ADD COLUMN IF NOT EXISTS sole uuid;
    FOR its IN SELECT indexrelid::regclass AS name FROM pg_index
                WHERE indrelid = 'holdfast.session'::regclass
                  AND NOT indisunique LOOP
        EXECUTE 'DROP INDEX ' || its.name;
    END LOOP;
    CREATE INDEX IF NOT EXISTS ticket_before_readers
        ON holdfast.ticket (queue, sequence) WHERE kind NOT IN (2, 8, 9);
    IF NOT EXISTS (SELECT FROM pg_attribute
                    WHERE attrelid = 'holdfast.answer'::regclass
                      AND attname = 'more' AND NOT attisdropped) THEN
        ALTER TYPE holdfast.answer ADD ATTRIBUTE more integer;
    END IF;
END
$upgrade$;
