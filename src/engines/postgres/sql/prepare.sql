-- SPDX-License-Identifier: Apache-2.0
-- The calls of a client, prepared for one connection, whose search_path is
-- pg_catalog, pg_temp.  Each is a transaction of its own.
--
-- An acquire and a release of a lock that nobody else wants, and the acquire of
-- the one that is next, are one plan here: a function costs as much again for
-- its own start, for its search_path and for each of its statements.  Where
-- such a plan does not apply it writes nothing, and calls the function.
--
-- A statement reads what was committed before it began.  If it then waits for
-- the queue's row, it decides by that row alone as it is after the wait, and
-- queue.sole says there what has to be known about all tickets.

PREPARE hf_enqueue (uuid, bigint, bigint, bytea, uuid, integer, integer, bytea)
AS WITH entered AS (
    UPDATE holdfast.queue
       SET sole = $5,
           counter = greatest(counter + 1, (date_part(
               'epoch', clock_timestamp()) * 1000000)::bigint)
     WHERE name = $4 AND sole = '00000000-0000-0000-0000-000000000000'
       AND $6 <> 8 -- others look for members
       AND date_part('epoch', clock_timestamp()) * 1000 <= $3
       AND EXISTS (SELECT FROM holdfast.session
                    WHERE id = $1 AND expires_at > clock_timestamp() +
                                                   $2 * interval '0.5 ms')
    RETURNING number, counter
), put AS (
    INSERT INTO holdfast.ticket
           (queue, sequence, id, session, kind, weight, payload)
    SELECT number, counter, $5, $1, $6, $7, $8 FROM entered
    RETURNING sequence
)
SELECT its.* FROM put, LATERAL (VALUES
    (0, floor(date_part('epoch', clock_timestamp()) * 1000)::bigint,
     pg_backend_pid(), NULL::boolean, NULL::bytea, NULL::uuid, NULL::bigint,
     NULL::integer, NULL::integer, NULL::bytea, NULL::bigint, NULL::integer,
     NULL::bigint, 0),
    (NULL, NULL, NULL, NULL, NULL, $5, put.sequence, $6, $7, $8, $2, 0, NULL,
     NULL)) AS its
UNION ALL
SELECT * FROM holdfast.enqueue($1, $2, $3, $4, $5, $6, $7, $8)
 WHERE NOT EXISTS (SELECT FROM entered);

PREPARE hf_withdraw (uuid, bigint, bytea, uuid)
AS WITH emptied AS (
    UPDATE holdfast.queue q
       SET sole = '00000000-0000-0000-0000-000000000000'
      FROM holdfast.ticket t
     WHERE q.name = $3 AND q.sole = $4
       AND t.queue = q.number AND t.id = $4
       AND (t.session = $1) IS TRUE -- so that it is found by its id
       AND date_part('epoch', clock_timestamp()) * 1000 <= $2
    RETURNING q.number
), gone AS (
    DELETE FROM holdfast.ticket t USING emptied
     WHERE t.queue = emptied.number AND t.id = $4 RETURNING true
)
SELECT 0, floor(date_part('epoch', clock_timestamp()) * 1000)::bigint,
       pg_backend_pid(), EXISTS (SELECT FROM gone), NULL::bytea, NULL::uuid,
       NULL::bigint, NULL::integer, NULL::integer, NULL::bytea, NULL::bigint,
       NULL::integer, NULL::bigint, NULL::integer
  FROM emptied
UNION ALL
SELECT * FROM holdfast.withdraw($1, $2, $3, $4)
 WHERE NOT EXISTS (SELECT FROM emptied);

PREPARE hf_ahead (bytea, uuid, boolean)
AS WITH own AS (
    SELECT t.*, holdfast.lives_ms(s.expires_at, clock_timestamp()) AS lives_ms
      FROM holdfast.queue q
      JOIN holdfast.ticket t ON t.queue = q.number
      JOIN holdfast.session s ON s.id = t.session
     WHERE q.name = $1 AND t.id = $2 AND s.expires_at > clock_timestamp()
       AND t.sequence = (SELECT sequence FROM holdfast.ticket
                          WHERE queue = q.number AND kind NOT IN (8, 9)
                          ORDER BY sequence LIMIT 1)
       AND current_setting('synchronous_standby_names') = ''
)
SELECT its.* FROM own, LATERAL (VALUES
    (0, floor(date_part('epoch', clock_timestamp()) * 1000)::bigint,
     pg_backend_pid(), NULL::boolean, NULL::bytea, NULL::uuid, NULL::bigint,
     NULL::integer, NULL::integer, NULL::bytea, NULL::bigint, NULL::integer,
     NULL::bigint, 0),
    (NULL, NULL, NULL, NULL, NULL, own.id, own.sequence, own.kind, own.weight,
     own.payload, own.lives_ms, own.revoked, holdfast.ms(own.made_at),
     NULL)) AS its
UNION ALL
SELECT * FROM holdfast.ahead($1, $2, $3) WHERE NOT EXISTS (SELECT FROM own);

PREPARE hf_renew (uuid, bigint, bigint)
AS SELECT * FROM holdfast.renew($1, $2, $3);
PREPARE hf_renew_without (uuid, bigint, bigint, uuid[])
AS SELECT * FROM holdfast.renew_without($1, $2, $3, $4);
PREPARE hf_list (bytea, boolean, boolean)
AS SELECT * FROM holdfast.list($1, $2, $3);
PREPARE hf_look (uuid, bigint, bigint, bytea, boolean)
AS SELECT * FROM holdfast.look($1, $2, $3, $4, $5);
PREPARE hf_probe (bytea, uuid[])
AS SELECT * FROM holdfast.probe($1, $2);
PREPARE hf_downgrade (uuid, bigint, bytea, uuid)
AS SELECT * FROM holdfast.downgrade($1, $2, $3, $4);
PREPARE hf_revoke (bigint, bytea, uuid)
AS SELECT * FROM holdfast.revoke($1, $2, $3);
PREPARE hf_describe (uuid, bigint, bytea, uuid, bytea)
AS SELECT * FROM holdfast.describe($1, $2, $3, $4, $5);
PREPARE hf_raise (bigint, bytea, integer, uuid)
AS SELECT * FROM holdfast.raise($1, $2, $3, $4);
PREPARE hf_lower (bigint, bytea, integer)
AS SELECT * FROM holdfast.lower($1, $2, $3);
PREPARE hf_stamp (bigint, bytea, uuid, integer, uuid)
AS SELECT * FROM holdfast.stamp($1, $2, $3, $4, $5);
PREPARE hf_goodbye (uuid, bigint)
AS SELECT * FROM holdfast.goodbye($1, $2);
