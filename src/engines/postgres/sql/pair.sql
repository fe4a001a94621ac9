-- SPDX-License-Identifier: Apache-2.0
-- The calls that every lock takes: an acquire, a release, and what whoever is
-- next in line asks.  Each takes a short way where nobody else wants the lock,
-- and goes on from what that has found and locked where somebody does.
--
-- queue.sole says which of the two.  It is set under the lock of the queue's
-- row, and an UPDATE takes that lock before it decides.  So the UPDATE decides
-- by what is true, even if it had to wait for the row.  The clock is looked at
-- after that.
--
-- To set search_path for a function takes as long as two of its statements, so
-- these do not where a client's connection has it already.  Before they know
-- that they name all by its schema, operators and declared types too.

-- Put a ticket in behind all others, or find it as it is.  What stands in its
-- way just after; of a lease or a member, the queue.
CREATE FUNCTION holdfast.enqueue(whose uuid, ttl_ms bigint,
                                 not_after_ms bigint, queue_name bytea,
                                 ticket_id uuid, ticket_kind integer,
                                 ticket_weight integer, ticket_payload bytea)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
    is_sole boolean;
    is_new boolean;
    lives_until pg_catalog.timestamptz;
    a holdfast.answer;
BEGIN
    IF pg_catalog.current_setting('search_path')
       OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        RETURN QUERY SELECT * FROM holdfast.enqueue_by_hand(
            whose, ttl_ms, not_after_ms, queue_name, ticket_id, ticket_kind,
            ticket_weight, ticket_payload);
        RETURN;
    END IF;
    -- First the lock, so that a number that was given is in the queue, or
    -- given up, before anybody gets the next one.  The ticket becomes the sole
    -- one if there is none.  Not a member, since others look for members.  Nor
    -- one of a session that may end before this does: a renewal has seen to it
    -- that half of the session's time is left, unless there was nothing to
    -- renew, and a statement that takes a third of it is ended.
    UPDATE holdfast.queue
       SET sole = CASE
               WHEN sole = '00000000-0000-0000-0000-000000000000'
                    AND ticket_id <> sole AND ticket_kind <> 8
                    AND EXISTS (SELECT FROM holdfast.session
                                 WHERE id = whose
                                   AND expires_at > clock_timestamp() +
                                       ttl_ms * interval '0.5 ms')
               THEN ticket_id END,
           counter = greatest(counter + 1,
               (date_part('epoch', clock_timestamp()) * 1000000)::bigint)
     WHERE name = queue_name
    RETURNING number, counter, sole IS NOT NULL INTO q, a.sequence, is_sole;
    IF q IS NULL THEN
        q := holdfast.lock_queue(queue_name, true);
        a.sequence := holdfast.next(q);
        is_sole := false;
    END IF;
    a.code := 0;
    a.server_ms := holdfast.ms(clock_timestamp());
    a.backend := pg_backend_pid();
    -- Perhaps only since it waited for the row.  Then a number was given out,
    -- and no more is done.
    IF a.server_ms > not_after_ms THEN
        IF is_sole THEN
            UPDATE holdfast.queue SET sole = NULL WHERE number = q;
        END IF;
        RETURN NEXT holdfast.head(1, NULL);
        RETURN;
    END IF;
    IF is_sole THEN
        INSERT INTO holdfast.ticket
            (queue, sequence, id, session, kind, weight, payload)
        VALUES (q, a.sequence, ticket_id, whose, ticket_kind, ticket_weight,
                ticket_payload);
    ELSE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            PERFORM holdfast.check_isolation();
        END IF;
        -- Shared, so that it cannot end and begin anew in between.
        SELECT expires_at INTO lives_until FROM holdfast.session
         WHERE id = whose FOR KEY SHARE;
        IF lives_until IS NULL OR
           lives_until < clock_timestamp() + ttl_ms * interval '0.5 ms' THEN
            PERFORM holdfast.begin(whose, ttl_ms);
        END IF;
        INSERT INTO holdfast.ticket
            (queue, sequence, id, session, kind, weight, payload)
        VALUES (q, a.sequence, ticket_id, whose, ticket_kind, ticket_weight,
                ticket_payload)
        ON CONFLICT (queue, id) DO NOTHING;
        is_new := FOUND;
        IF NOT is_new THEN
            SELECT sequence INTO STRICT a.sequence FROM holdfast.ticket
             WHERE queue = q AND id = ticket_id;
        ELSIF ticket_kind = 8 THEN
            PERFORM holdfast.tell_lookers(q, queue_name);
        END IF;
        -- Statements of their own: they see all that was there when they began.
        IF ticket_kind IN (4, 8) THEN
            PERFORM holdfast.purge(q, queue_name);
            RETURN NEXT holdfast.head(0, NULL);
            RETURN QUERY SELECT * FROM holdfast.tickets(q, false,
                                                        ticket_kind = 8);
            RETURN;
        ELSIF NOT is_new OR a.sequence <> (
            SELECT sequence FROM holdfast.ticket
             WHERE queue = q AND kind NOT IN (8, 9)
             ORDER BY sequence LIMIT 1) THEN
            RETURN QUERY SELECT * FROM holdfast.near(
                q, queue_name, a.sequence, ticket_kind = 2, true);
            RETURN;
        END IF;
    END IF;
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

-- Take the ticket out, whoever owns it.  What has ended is left to those who
-- wait behind it.
CREATE FUNCTION holdfast.withdraw(whose uuid, not_after_ms bigint,
                                  queue_name bytea, ticket_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
    is_empty boolean;
    owner pg_catalog.uuid;
    are_left boolean;
    is_looked_at boolean;
    gone holdfast.ticket;
    a holdfast.answer;
BEGIN
    IF pg_catalog.current_setting('search_path')
       OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        RETURN QUERY SELECT * FROM holdfast.withdraw_by_hand(
            whose, not_after_ms, queue_name, ticket_id);
        RETURN;
    END IF;
    UPDATE holdfast.queue
       SET sole = CASE sole WHEN ticket_id
               THEN '00000000-0000-0000-0000-000000000000' ELSE sole END
     WHERE name = queue_name
    RETURNING number, sole = '00000000-0000-0000-0000-000000000000'
      INTO q, is_empty;
    a.code := 0;
    a.server_ms := holdfast.ms(clock_timestamp());
    a.backend := pg_backend_pid();
    -- Perhaps only since it waited for the row.
    IF a.server_ms > not_after_ms THEN
        IF is_empty THEN
            UPDATE holdfast.queue SET sole = NULL WHERE number = q;
        END IF;
        a.code := 1;
        RETURN NEXT a;
        RETURN;
    END IF;
    IF is_empty THEN
        DELETE FROM holdfast.ticket WHERE queue = q AND id = ticket_id
        RETURNING session INTO owner;
        a.found := FOUND;
    ELSE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            PERFORM holdfast.check_isolation();
        END IF;
        DELETE FROM holdfast.ticket WHERE queue = q AND id = ticket_id
        RETURNING * INTO gone;
        a.found := FOUND;
        owner := gone.session;
        SELECT EXISTS (SELECT FROM holdfast.ticket WHERE queue = q),
               EXISTS (SELECT FROM holdfast.look WHERE queue = q)
          INTO are_left, is_looked_at;
        IF NOT a.found THEN
            NULL; -- nothing has changed
        ELSIF are_left THEN
            PERFORM holdfast.tell_waiters(q, queue_name, gone, 0);
        ELSIF NOT is_looked_at THEN
            UPDATE holdfast.queue
               SET sole = '00000000-0000-0000-0000-000000000000'
             WHERE number = q;
        END IF;
        IF a.found AND is_looked_at THEN
            PERFORM holdfast.tell_lookers(q, queue_name);
        END IF;
    END IF;
    IF owner <> whose THEN
        PERFORM holdfast.tell_gone(owner, queue_name, ticket_id, 0);
    END IF;
    RETURN NEXT a;
END
$$;

-- What stands in the way of a ticket, of a reader or not; if it is not there,
-- the first one.
CREATE FUNCTION holdfast.ahead(queue_name bytea, ticket_id uuid, reads boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    at pg_catalog.timestamptz;
    q bigint;
    n bigint;
    a holdfast.answer;
BEGIN
    IF pg_catalog.current_setting('search_path')
       OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        RETURN QUERY SELECT * FROM holdfast.ahead_by_hand(
            queue_name, ticket_id, reads);
        RETURN;
    END IF;
    -- Where there are no standbys that have to have what it shows: the ticket,
    -- if it lives and is the first one.
    IF current_setting('synchronous_standby_names') = '' THEN
        at := clock_timestamp();
        -- One statement, so that all of it stood in the queue at one time.
        SELECT t.id, t.sequence, t.kind, t.weight, t.payload,
               holdfast.lives_ms(s.expires_at, at), t.revoked,
               holdfast.ms(t.made_at)
          INTO a.id, a.sequence, a.kind, a.weight, a.payload, a.expires_in_ms,
               a.revoked, a.made_ms
          FROM holdfast.queue q
          JOIN holdfast.ticket t ON t.queue = q.number
          JOIN holdfast.session s ON s.id = t.session
         WHERE q.name = queue_name AND t.id = ticket_id
           AND t.sequence = (
               SELECT f.sequence FROM holdfast.ticket f
                WHERE f.queue = q.number AND f.kind <> 8 AND f.kind <> 9
                ORDER BY f.sequence LIMIT 1);
        IF a.expires_in_ms > 0 THEN
            a.code := 0;
            a.server_ms := holdfast.ms(clock_timestamp());
            a.backend := pg_backend_pid();
            a.more := 0;
            RETURN NEXT a;
            RETURN;
        END IF;
    END IF;
    PERFORM holdfast.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    SELECT sequence INTO n FROM holdfast.ticket
     WHERE queue = q AND id = ticket_id;
    PERFORM holdfast.await_standbys();
    RETURN QUERY SELECT * FROM holdfast.near(q, queue_name, n, reads, false);
END
$$;

-- --------------------------------------------------------------- by hand --

-- The same, whatever search_path is: for people, and for a connection that has
-- lost its settings.
CREATE FUNCTION holdfast.enqueue_by_hand(whose uuid, ttl_ms bigint,
                                         not_after_ms bigint, queue_name bytea,
                                         ticket_id uuid, ticket_kind integer,
                                         ticket_weight integer,
                                         ticket_payload bytea)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM holdfast.enqueue(
        whose, ttl_ms, not_after_ms, queue_name, ticket_id, ticket_kind,
        ticket_weight, ticket_payload);
END
$$;

CREATE FUNCTION holdfast.withdraw_by_hand(whose uuid, not_after_ms bigint,
                                          queue_name bytea, ticket_id uuid)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM holdfast.withdraw(
        whose, not_after_ms, queue_name, ticket_id);
END
$$;

CREATE FUNCTION holdfast.ahead_by_hand(queue_name bytea, ticket_id uuid,
                                       reads boolean)
RETURNS SETOF holdfast.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM holdfast.ahead(queue_name, ticket_id, reads);
END
$$;
