-- SPDX-License-Identifier: Apache-2.0
-- The calls of a client, prepared for one connection, whose search_path is
-- pg_catalog, pg_temp.  Each is a transaction of its own.

PREPARE hf_enqueue (uuid, bigint, bigint, bytea, uuid, integer, integer, bytea)
AS SELECT * FROM holdfast_4.enqueue($1, $2, $3, $4, $5, $6, $7, $8);
PREPARE hf_remove (uuid, bigint, bytea, uuid, bytea)
AS SELECT * FROM holdfast_4.remove($1, $2, $3, $4, $5);
PREPARE hf_list_ahead (bytea, uuid, boolean)
AS SELECT * FROM holdfast_4.list_ahead($1, $2, $3);
PREPARE hf_renew (uuid, bigint, bigint)
AS SELECT * FROM holdfast_4.renew($1, $2, $3);
PREPARE hf_renew_and_remove (uuid, bigint, bigint, uuid[])
AS SELECT * FROM holdfast_4.renew_and_remove($1, $2, $3, $4);
PREPARE hf_list (bytea, boolean, boolean)
AS SELECT * FROM holdfast_4.list($1, $2, $3);
-- The detailed list, with the payloads of the first $4 tickets from the sequence
-- $3 on, so that a client that lists repeatedly reads each payload once.
PREPARE hf_list_texts (bytea, boolean, bigint, bigint)
AS SELECT code, server_ms, backend, found, own_ids, id, sequence, kind, weight,
          CASE WHEN sequence IS NULL OR
                    (sequence >= $3 AND
                     row_number() OVER (PARTITION BY sequence >= $3
                                        ORDER BY sequence) <= $4)
               THEN payload ELSE ''::bytea END,
          expires_in_ms, revoked, created_ms, more_ahead
     FROM holdfast_4.list($1, true, $2) ORDER BY sequence NULLS FIRST;
PREPARE hf_list_and_watch (uuid, bigint, bigint, bytea, boolean)
AS SELECT * FROM holdfast_4.list_and_watch($1, $2, $3, $4, $5);
PREPARE hf_find_tickets (bytea, uuid[])
AS SELECT * FROM holdfast_4.find_tickets($1, $2);
PREPARE hf_downgrade (uuid, bigint, bytea, uuid)
AS SELECT * FROM holdfast_4.downgrade($1, $2, $3, $4);
PREPARE hf_request_release (bigint, bytea, uuid)
AS SELECT * FROM holdfast_4.request_release($1, $2, $3);
PREPARE hf_describe (uuid, bigint, bytea, uuid, bytea)
AS SELECT * FROM holdfast_4.describe($1, $2, $3, $4, $5);
PREPARE hf_read_success (bytea)
AS SELECT * FROM holdfast_4.read_success($1);
PREPARE hf_write_success (uuid, bigint, bytea, uuid, bigint)
AS SELECT * FROM holdfast_4.write_success($1, $2, $3, $4, $5);
PREPARE hf_set_flag (bigint, bytea, integer, uuid)
AS SELECT * FROM holdfast_4.set_flag($1, $2, $3, $4);
PREPARE hf_clear_flag (bigint, bytea, integer)
AS SELECT * FROM holdfast_4.clear_flag($1, $2, $3);
PREPARE hf_new_generation (bigint, bytea, uuid, integer, uuid)
AS SELECT * FROM holdfast_4.new_generation($1, $2, $3, $4, $5);
-- The names behind $1, from $2 on and before $3: of at most $4 rows those that
-- have tickets.  The head has the last row that was read.  Each other row has a
-- name, and whether it has tickets, and participants.
PREPARE hf_names (bytea, bytea, bytea, integer)
AS WITH page AS MATERIALIZED (
    SELECT q.number, q.name FROM holdfast.queue q
     WHERE q.name > $1 AND q.name >= $2 AND q.name < $3
     ORDER BY q.name LIMIT $4
), answer (code, server_ms, backend, found, own_ids, id, sequence, kind, weight,
           payload, expires_in_ms, revoked, created_ms, more_ahead) AS (
    SELECT 0, holdfast_4.epoch_ms(clock_timestamp()), pg_backend_pid(),
           count(*) = $4, NULL::bytea, NULL::uuid, count(*), NULL::integer,
           NULL::integer,
           (SELECT name FROM page ORDER BY name DESC LIMIT 1),
           NULL::bigint, NULL::integer, NULL::bigint, NULL::integer
      FROM page
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL,
           '00000000-0000-0000-0000-000000000000'::uuid, NULL, t.queue_there,
           t.participants_there, p.name, NULL, NULL, NULL, NULL
      FROM page p, LATERAL (
          SELECT EXISTS (SELECT FROM holdfast.ticket
                          WHERE queue = p.number
                            AND sequence >= holdfast_4.lowest(p.number)
                            AND kind NOT IN (8, 9))::integer,
                 EXISTS (SELECT FROM holdfast.ticket
                          WHERE queue = p.number
                            AND sequence >= holdfast_4.lowest(p.number)
                            AND kind = 8)::integer
      ) AS t (queue_there, participants_there)
     WHERE t.queue_there + t.participants_there > 0
)
SELECT * FROM answer ORDER BY code NULLS LAST;
PREPARE hf_close_in_part (uuid, bigint, uuid[])
AS SELECT * FROM holdfast_4.close_in_part($1, $2, $3);
PREPARE hf_close_session (uuid, bigint)
AS SELECT * FROM holdfast_4.close_session($1, $2);
