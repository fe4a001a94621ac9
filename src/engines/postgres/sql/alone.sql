-- SPDX-License-Identifier: Apache-2.0
-- The calls that a lock takes which nobody else wants, and the one of whoever is
-- next in line: each tries with two statements at most, and leaves what they do
-- not cover to the function of calls.sql that covers all.
--
-- None of them sets search_path, which takes as long as two statements do.  So
-- all that they name, operators too, they name by its schema.
--
-- queue.sole is set under the lock of its row, which an UPDATE takes before it
-- decides.  So it decides by what is true, even if it had to wait for the row.

-- Put a ticket in where no other one is: see enqueue_among().
CREATE FUNCTION holdfast.enqueue(whose uuid, ttl_ms bigint,
                                 not_after_ms bigint, queue_name bytea,
                                 ticket_id uuid, ticket_kind integer,
                                 ticket_weight integer, ticket_payload bytea)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
    a holdfast.answer;
    now_s double precision := pg_catalog.date_part(
        'epoch', pg_catalog.clock_timestamp());
BEGIN
    -- Others look for members.  A renewal has seen to it that half of the
    -- session's time is left, unless there was nothing to renew; a statement
    -- that takes a third of it is ended.
    UPDATE holdfast.queue
       SET sole = ticket_id,
           counter = greatest(counter OPERATOR(pg_catalog.+) 1,
               (now_s OPERATOR(pg_catalog.*) 1000000)::bigint)
     WHERE name OPERATOR(pg_catalog.=) queue_name
       AND sole OPERATOR(pg_catalog.=)
           '00000000-0000-0000-0000-000000000000'::pg_catalog.uuid
       AND ticket_kind OPERATOR(pg_catalog.<>) 8
       AND now_s OPERATOR(pg_catalog.*) 1000
           OPERATOR(pg_catalog.<=) not_after_ms
       AND EXISTS (SELECT FROM holdfast.session
                    WHERE id OPERATOR(pg_catalog.=) whose
                      AND expires_at OPERATOR(pg_catalog.>)
                          (pg_catalog.clock_timestamp()
                           OPERATOR(pg_catalog.+)
                           (ttl_ms OPERATOR(pg_catalog.*)
                            interval '0.5 ms')))
    RETURNING number, counter INTO q, a.sequence;
    IF q IS NULL THEN
        RETURN QUERY SELECT * FROM holdfast.enqueue_among(
            whose, ttl_ms, not_after_ms, queue_name, ticket_id, ticket_kind,
            ticket_weight, ticket_payload);
        RETURN;
    END IF;
    INSERT INTO holdfast.ticket
        (queue, sequence, id, session, kind, weight, payload)
    VALUES (q, a.sequence, ticket_id, whose, ticket_kind, ticket_weight,
            ticket_payload);
    a.code := 0;
    a.server_ms := pg_catalog.floor(now_s OPERATOR(pg_catalog.*) 1000);
    a.backend := pg_catalog.pg_backend_pid();
    a.id := ticket_id;
    a.kind := ticket_kind;
    a.weight := ticket_weight;
    a.payload := ticket_payload;
    a.expires_in_ms := ttl_ms;
    a.revoked := 0;
    a.more := 0;
    RETURN NEXT a;
END
$$;

-- Take the only ticket out, whoever owns it: see withdraw_among().
CREATE FUNCTION holdfast.withdraw(whose uuid, not_after_ms bigint,
                                  queue_name bytea, ticket_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
    owner pg_catalog.uuid;
    a holdfast.answer;
    now_s double precision := pg_catalog.date_part(
        'epoch', pg_catalog.clock_timestamp());
BEGIN
    UPDATE holdfast.queue
       SET sole = '00000000-0000-0000-0000-000000000000'::pg_catalog.uuid
     WHERE name OPERATOR(pg_catalog.=) queue_name
       AND sole OPERATOR(pg_catalog.=) ticket_id
       AND now_s OPERATOR(pg_catalog.*) 1000
           OPERATOR(pg_catalog.<=) not_after_ms
    RETURNING number INTO q;
    IF q IS NULL THEN
        RETURN QUERY SELECT * FROM holdfast.withdraw_among(
            whose, not_after_ms, queue_name, ticket_id);
        RETURN;
    END IF;
    DELETE FROM holdfast.ticket
     WHERE queue OPERATOR(pg_catalog.=) q
       AND id OPERATOR(pg_catalog.=) ticket_id RETURNING session INTO owner;
    a.found := FOUND;
    IF owner OPERATOR(pg_catalog.<>) whose THEN
        PERFORM holdfast.tell_gone(owner, queue_name, ticket_id, 0);
    END IF;
    a.code := 0;
    a.server_ms := pg_catalog.floor(now_s OPERATOR(pg_catalog.*) 1000);
    a.backend := pg_catalog.pg_backend_pid();
    RETURN NEXT a;
END
$$;

-- The ticket, if it lives and is the first one, and where there are no standbys
-- that would have to have what it shows: see ahead_among().
CREATE FUNCTION holdfast.ahead(queue_name bytea, ticket_id uuid, reads boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    a holdfast.answer;
BEGIN
    IF pg_catalog.current_setting('synchronous_standby_names')
       OPERATOR(pg_catalog.=) '' THEN
        -- One statement, so that all of it stood in the queue at one time.
        SELECT t.id, t.sequence, t.kind, t.weight, t.payload,
               holdfast.lives_ms(s.expires_at, pg_catalog.clock_timestamp()),
               t.revoked, holdfast.ms(t.made_at)
          INTO a.id, a.sequence, a.kind, a.weight, a.payload, a.expires_in_ms,
               a.revoked, a.made_ms
          FROM holdfast.queue q
          JOIN holdfast.ticket t ON t.queue OPERATOR(pg_catalog.=) q.number
          JOIN holdfast.session s ON s.id OPERATOR(pg_catalog.=) t.session
         WHERE q.name OPERATOR(pg_catalog.=) queue_name
           AND t.id OPERATOR(pg_catalog.=) ticket_id
           AND t.sequence OPERATOR(pg_catalog.=) (
               SELECT f.sequence FROM holdfast.ticket f
                WHERE f.queue OPERATOR(pg_catalog.=) q.number
                  AND f.kind OPERATOR(pg_catalog.<>) 8
                  AND f.kind OPERATOR(pg_catalog.<>) 9
                ORDER BY f.sequence LIMIT 1);
    END IF;
    IF a.expires_in_ms OPERATOR(pg_catalog.>) 0 THEN
        a.code := 0;
        a.server_ms := holdfast.ms(pg_catalog.clock_timestamp());
        a.backend := pg_catalog.pg_backend_pid();
        a.more := 0;
        RETURN NEXT a;
    ELSE
        RETURN QUERY SELECT * FROM holdfast.ahead_among(
            queue_name, ticket_id, reads);
    END IF;
END
$$;
