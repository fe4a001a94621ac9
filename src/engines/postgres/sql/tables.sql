-- SPDX-License-Identifier: Apache-2.0
-- Where holdfast keeps queues in PostgreSQL, made when it is first used.
--
-- Names of locks and payloads are bytes, as the library takes them, whatever
-- the encoding of the database.

-- What is named here is what is meant, whatever else the database has.
SET search_path = pg_catalog, pg_temp;

CREATE SCHEMA holdfast;

CREATE TABLE holdfast.version (version integer NOT NULL);
INSERT INTO holdfast.version VALUES (3);

-- A queue, and the number it gave last, which is both place and token: so a
-- row is never removed, nor is its number ever lowered.
CREATE TABLE holdfast.queue (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name bytea NOT NULL UNIQUE,
    counter bigint NOT NULL,
    -- What is known of its tickets to whoever has locked the row: zeros, there
    -- is none; an id, there is no other than that one; NULL, nothing.  Unless
    -- it is NULL nobody looks at the queue.
    sole uuid
) WITH (fillfactor = 50);

-- What tickets are tied to.  It has ended once this server's clock has come to
-- expires_at; -infinity there means that somebody acts on that already.
-- No index on expires_at, so that a renewal need not write to one.
CREATE TABLE holdfast.session (
    id uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Whose tickets are those of a session that has ended and begun again; and
-- whose are marks, which belong to nobody and never run out.
INSERT INTO holdfast.session VALUES
    ('00000000-0000-0000-0000-000000000000', '-infinity'),
    ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'infinity');

-- One contender's place, or a mark.  The kinds are the library's: 2 is a read
-- ticket, 3 a write ticket, 4 a lease of a semaphore; 8 a member of a double
-- barrier and 9 the mark that its members have made.  These two are apart: they
-- wait for nobody, nobody waits for them, and only who asks for them sees them.
--
-- There are no foreign keys, whose triggers take a sixth of an acquire: queues
-- are never removed, and a ticket without a session has ended.
CREATE TABLE holdfast.ticket (
    queue bigint NOT NULL,
    sequence bigint NOT NULL,
    id uuid NOT NULL,
    session uuid NOT NULL,
    kind integer NOT NULL,
    weight integer NOT NULL,
    payload bytea NOT NULL,
    revoked integer NOT NULL DEFAULT 0,
    made_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    PRIMARY KEY (queue, sequence),
    UNIQUE (queue, id)
);
CREATE INDEX ticket_session ON holdfast.ticket (session, queue);
-- Whom a reader waits for, past all other readers.
CREATE INDEX ticket_before_readers ON holdfast.ticket (queue, sequence)
    WHERE kind NOT IN (2, 8, 9);

-- Who wants to hear, once, that a ticket has left the queue, that a member has
-- come or that members have made their mark.
CREATE TABLE holdfast.look (
    queue bigint NOT NULL,
    session uuid NOT NULL REFERENCES holdfast.session ON DELETE CASCADE,
    PRIMARY KEY (queue, session)
);
CREATE INDEX look_session ON holdfast.look (session);

-- What each call answers: one row of the first five columns, the head, and one
-- of the others for each ticket.  The head may have the first ticket as well.
CREATE TYPE holdfast.answer AS (
    code integer,       -- 0: done; 1: it came too late and was not done
    server_ms bigint,   -- this server's clock
    backend integer,    -- the process that did it
    found boolean,
    own bytea,          -- renew: the ids of the session's tickets
    id uuid,
    sequence bigint,
    kind integer,
    weight integer,
    payload bytea,
    expires_in_ms bigint,
    revoked integer,
    made_ms bigint,
    more integer        -- of the head: tickets ahead that have no row
);
