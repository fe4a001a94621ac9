-- SPDX-License-Identifier: Apache-2.0
-- The calls that every lock takes: an acquire, a release, and the list that the
-- next ticket in the queue needs.  Each has a short path for a lock that no
-- other client wants.  If another one does, it goes on from what the short path
-- has read and locked.
--
-- counter.sole decides between the two.  It is set under the lock of its row,
-- and an UPDATE takes the lock before it computes.  So the UPDATE decides by
-- the row as it is, also after a wait for it.  The clock is read after that.
--
-- To set search_path for a function takes as long as two of its statements, so
-- these do not if the connection has the right one, as a client's has.  Until
-- they know that, they name everything by its schema, also operators and types.

-- Add a ticket behind all others, or find it if it is already there.  Returns
-- what it has to wait for; for a lease, the other kinds of tickets in the
-- queue; for a participant, the participants.
CREATE FUNCTION holdfast_4.enqueue(
    session_id uuid, ttl_ms bigint, not_after_ms bigint, queue_name bytea,
    ticket_id uuid, ticket_kind integer, ticket_weight integer,
    ticket_payload bytea)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
    lowest_there bigint;
    is_sole boolean;
    is_new boolean;
    is_watched boolean;
    lives_until pg_catalog.timestamptz;
    a holdfast_4.answer;
BEGIN
    IF pg_catalog.current_setting('search_path')
       OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        RETURN QUERY SELECT * FROM holdfast_4.enqueue_with_search_path(
            session_id, ttl_ms, not_after_ms, queue_name, ticket_id,
            ticket_kind, ticket_weight, ticket_payload);
        RETURN;
    END IF;
    -- First the lock, so that the ticket with a number is in the queue, or the
    -- number is given up, before the next number is given out.  The ticket
    -- becomes the sole one if the queue is empty.  A participant does not,
    -- because others look for participants.  Nor does a ticket whose session
    -- may end before this statement: half of its lease must be left, which
    -- renewals see to, and a statement is ended after a third of it.
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    UPDATE holdfast.counter
       SET sole = CASE
               WHEN sole = '00000000-0000-0000-0000-000000000000'
                    AND ticket_id <> sole AND ticket_kind <> 8
                    AND EXISTS (SELECT FROM holdfast.session
                                 WHERE id = session_id
                                   AND expires_at > clock_timestamp() +
                                       ttl_ms * interval '0.5 ms')
               THEN ticket_id END,
           -- Of an empty queue, so that no removed ticket is read again.
           lowest = CASE sole WHEN '00000000-0000-0000-0000-000000000000'
               THEN counter ELSE lowest END,
           counter = greatest(counter + 1,
               (date_part('epoch', clock_timestamp()) * 1000000)::bigint)
     WHERE queue = q AND block >= (
           SELECT block FROM holdfast.counter WHERE queue = q
            ORDER BY block DESC LIMIT 1)
    RETURNING counter, lowest, sole IS NOT NULL
      INTO a.sequence, lowest_there, is_sole;
    IF q IS NULL THEN
        q := holdfast_4.lock_queue(queue_name, true);
        a.sequence := holdfast_4.next_sequence(q);
        lowest_there := 0;
        is_sole := false;
    END IF;
    a.code := 0;
    a.server_ms := holdfast_4.epoch_ms(clock_timestamp());
    a.backend := pg_backend_pid();
    -- It may be too late only because it waited for the row.  Then a number was
    -- given out, and nothing else is done.
    IF a.server_ms > not_after_ms THEN
        IF is_sole THEN
            PERFORM holdfast_4.forget_sole(q);
        END IF;
        RETURN NEXT holdfast_4.answer_head(1, NULL);
        RETURN;
    END IF;
    IF is_sole THEN
        INSERT INTO holdfast.ticket
            (queue, sequence, id, session, kind, weight, payload)
        VALUES (q, a.sequence, ticket_id, session_id, ticket_kind,
                ticket_weight, ticket_payload);
    ELSE
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            PERFORM holdfast_4.check_isolation();
        END IF;
        -- A shared lock, so that it cannot end and be opened again meanwhile.
        SELECT expires_at INTO lives_until FROM holdfast.session
         WHERE id = session_id FOR KEY SHARE;
        IF lives_until IS NULL OR
           lives_until < clock_timestamp() + ttl_ms * interval '0.5 ms' THEN
            PERFORM holdfast_4.open_session(session_id, ttl_ms);
        END IF;
        INSERT INTO holdfast.ticket
            (queue, sequence, id, session, kind, weight, payload)
        VALUES (q, a.sequence, ticket_id, session_id, ticket_kind,
                ticket_weight, ticket_payload)
        ON CONFLICT (queue, id) DO NOTHING
        RETURNING EXISTS (SELECT FROM holdfast.watcher w WHERE w.queue = q)
             INTO is_watched;
        is_new := FOUND;
        IF NOT is_new THEN
            SELECT sequence INTO STRICT a.sequence FROM holdfast.ticket
             WHERE queue = q AND id = ticket_id;
        ELSIF is_watched THEN
            PERFORM holdfast_4.notify_watchers(q, queue_name);
        END IF;
        -- Separate statements, because each sees all that was there when it
        -- began.
        IF ticket_kind IN (4, 8) THEN
            PERFORM holdfast_4.remove_ended(q, queue_name);
            RETURN NEXT holdfast_4.answer_head(0, NULL);
            RETURN QUERY SELECT * FROM holdfast_4.read_tickets(
                q, false, ticket_kind = 8);
            RETURN;
        ELSIF NOT is_new OR a.sequence <> (
            SELECT sequence FROM holdfast.ticket
             WHERE queue = q AND sequence >= lowest_there
               AND kind NOT IN (8, 9)
             ORDER BY sequence LIMIT 1) THEN
            RETURN QUERY SELECT * FROM holdfast_4.neighbours(
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
    a.more_ahead := 0;
    RETURN NEXT a;
END
$$;

-- Remove the ticket, whichever session owns it.  Ended tickets are left to
-- those that wait behind them.  evicted_by is NULL, or it says who removes the
-- ticket, which its owner is then notified of if it is another session.
CREATE FUNCTION holdfast_4.remove(
    session_id uuid, not_after_ms bigint, queue_name bytea, ticket_id uuid,
    evicted_by bytea DEFAULT NULL)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    q bigint;
    lowest_there bigint;
    is_empty boolean;
    owner pg_catalog.uuid;
    are_left boolean;
    is_watched boolean;
    gone holdfast.ticket;
    a holdfast_4.answer;
BEGIN
    IF pg_catalog.current_setting('search_path')
       OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        RETURN QUERY SELECT * FROM holdfast_4.remove_with_search_path(
            session_id, not_after_ms, queue_name, ticket_id, evicted_by);
        RETURN;
    END IF;
    -- lowest becomes the number of the first ticket that this statement sees.
    -- Numbers are committed in their order, because of the lock.  So each ticket
    -- below that one is gone, also if this statement had to wait for the row.
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    UPDATE holdfast.counter c
       SET sole = CASE sole WHEN ticket_id
               THEN '00000000-0000-0000-0000-000000000000' ELSE sole END,
           lowest = CASE WHEN sole IS NULL THEN coalesce((
               SELECT t.sequence FROM holdfast.ticket t
                WHERE t.queue = q AND t.sequence >= c.lowest
                ORDER BY t.sequence LIMIT 1), lowest)
               ELSE lowest END
     WHERE queue = q AND block >= (
           SELECT block FROM holdfast.counter WHERE queue = q
            ORDER BY block DESC LIMIT 1)
    RETURNING lowest, sole = '00000000-0000-0000-0000-000000000000'
      INTO lowest_there, is_empty;
    a.code := 0;
    a.server_ms := holdfast_4.epoch_ms(clock_timestamp());
    a.backend := pg_backend_pid();
    -- It may be too late only because it waited for the row.
    IF a.server_ms > not_after_ms THEN
        IF is_empty THEN
            PERFORM holdfast_4.forget_sole(q);
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
            PERFORM holdfast_4.check_isolation();
        END IF;
        DELETE FROM holdfast.ticket WHERE queue = q AND id = ticket_id
        RETURNING * INTO gone;
        a.found := FOUND;
        owner := gone.session;
        SELECT EXISTS (SELECT FROM holdfast.ticket
                        WHERE queue = q AND sequence >= lowest_there),
               EXISTS (SELECT FROM holdfast.watcher WHERE queue = q)
          INTO are_left, is_watched;
        IF NOT a.found THEN
            NULL; -- nothing has changed
        ELSIF are_left THEN
            PERFORM holdfast_4.notify_waiters(q, queue_name, gone.id,
                                              gone.sequence, gone.kind, 0,
                                              gone.sequence = lowest_there);
        ELSIF NOT is_watched THEN
            UPDATE holdfast.counter
               SET sole = '00000000-0000-0000-0000-000000000000'
             WHERE queue = q AND block >= (
                   SELECT block FROM holdfast.counter WHERE queue = q
                    ORDER BY block DESC LIMIT 1);
        END IF;
        IF a.found AND is_watched THEN
            PERFORM holdfast_4.notify_watchers(q, queue_name);
        END IF;
    END IF;
    IF owner <> session_id AND evicted_by IS NOT NULL THEN
        PERFORM holdfast_4.notify_session(
            owner, format('evicted %s %s %s', ticket_id,
                          encode(evicted_by, 'hex'),
                          encode(queue_name, 'hex')));
    ELSIF owner <> session_id THEN
        PERFORM holdfast_4.notify_gone(owner, queue_name, ticket_id, 0);
    END IF;
    RETURN NEXT a;
END
$$;

-- Returns what the ticket has to wait for, or the first ticket if this one is
-- not in the queue.  reads says whether it is the ticket of a reader.
CREATE FUNCTION holdfast_4.list_ahead(
    queue_name bytea, ticket_id uuid, reads boolean)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    instant pg_catalog.timestamptz;
    q bigint;
    n bigint;
    a holdfast_4.answer;
BEGIN
    IF pg_catalog.current_setting('search_path')
       OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        RETURN QUERY SELECT * FROM holdfast_4.list_ahead_with_search_path(
            queue_name, ticket_id, reads);
        RETURN;
    END IF;
    -- The short path:  the ticket, if it is the first one and has not ended.
    -- Not if there are standbys that must have what this returns.
    IF current_setting('synchronous_standby_names') = '' THEN
        instant := clock_timestamp();
        -- One statement, so that all of it was in the queue at one time.
        SELECT t.id, t.sequence, t.kind, t.weight, t.payload,
               holdfast_4.remaining_ms(s.expires_at, instant), t.revoked,
               holdfast_4.epoch_ms(t.created_at)
          INTO a.id, a.sequence, a.kind, a.weight, a.payload, a.expires_in_ms,
               a.revoked, a.created_ms
          FROM holdfast.queue q
          JOIN holdfast.ticket t ON t.queue = q.number
          JOIN holdfast.session s ON s.id = t.session
         WHERE q.name = queue_name AND t.id = ticket_id
           AND t.sequence = (
               SELECT f.sequence FROM holdfast.ticket f
                WHERE f.queue = q.number
                  AND f.sequence >= holdfast_4.lowest(q.number)
                  AND f.kind <> 8 AND f.kind <> 9
                ORDER BY f.sequence LIMIT 1);
        IF a.expires_in_ms > 0 THEN
            a.code := 0;
            a.server_ms := holdfast_4.epoch_ms(clock_timestamp());
            a.backend := pg_backend_pid();
            a.more_ahead := 0;
            RETURN NEXT a;
            RETURN;
        END IF;
    END IF;
    PERFORM holdfast_4.check_isolation();
    SELECT number INTO q FROM holdfast.queue WHERE name = queue_name;
    SELECT sequence INTO n FROM holdfast.ticket
     WHERE queue = q AND id = ticket_id;
    PERFORM holdfast_4.await_standbys();
    RETURN QUERY SELECT * FROM holdfast_4.neighbours(q, queue_name, n, reads,
                                                     false);
END
$$;

-- ------------------------------------------------------ any search_path --

-- The same functions with any search_path.  They are for people, and for a
-- connection that has lost its settings.
CREATE FUNCTION holdfast_4.enqueue_with_search_path(
    session_id uuid, ttl_ms bigint, not_after_ms bigint, queue_name bytea,
    ticket_id uuid, ticket_kind integer, ticket_weight integer,
    ticket_payload bytea)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM holdfast_4.enqueue(
        session_id, ttl_ms, not_after_ms, queue_name, ticket_id, ticket_kind,
        ticket_weight, ticket_payload);
END
$$;

CREATE FUNCTION holdfast_4.remove_with_search_path(
    session_id uuid, not_after_ms bigint, queue_name bytea, ticket_id uuid,
    evicted_by bytea)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM holdfast_4.remove(
        session_id, not_after_ms, queue_name, ticket_id, evicted_by);
END
$$;

CREATE FUNCTION holdfast_4.list_ahead_with_search_path(
    queue_name bytea, ticket_id uuid, reads boolean)
RETURNS SETOF holdfast_4.answer LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM holdfast_4.list_ahead(queue_name, ticket_id,
                                                     reads);
END
$$;
