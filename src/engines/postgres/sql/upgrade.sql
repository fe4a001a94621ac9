-- SPDX-License-Identifier: Apache-2.0
-- Take the schema of an earlier version to this one, in one transaction with
-- the functions, which follow.  The tables have been the same since version 1,
-- and what is in them stays: tickets, and the numbers that were given out.

SET search_path = pg_catalog, pg_temp;

DO $upgrade$
DECLARE
    was integer;
    function regprocedure;
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
END
$upgrade$;
