-- SPDX-License-Identifier: Apache-2.0
-- The tables in which holdfast keeps queues, created when it is first used.
-- All versions of the functions, each in a schema of its own, work on these
-- tables.
--
-- Names of locks and payloads are bytes, as the library takes them, whatever
-- the encoding of the database.

-- No object of another schema can replace one that is named here.
SET search_path = pg_catalog, pg_temp;

CREATE SCHEMA holdfast;

-- The version of the functions that last changed these tables.
CREATE TABLE holdfast.version (version integer NOT NULL);
INSERT INTO holdfast.version VALUES (4);

-- One queue.  Rows are never changed nor deleted.
CREATE TABLE holdfast.queue (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name bytea NOT NULL UNIQUE
);

-- The state of each queue, one row, which every change of the queue locks first.
-- counter is the last number given out, which is both position and fencing
-- token: rows are never deleted, so it only rises.
--
-- An old transaction anywhere in the database keeps VACUUM from removing the
-- versions that an UPDATE leaves behind.  Two columns keep a call from reading
-- them.  block is a part of the counter, and so of the clock, and changes every
-- 65 ms.  A query reads the versions of the greatest block by the index, and no
-- older ones.  And lowest bounds the tickets from below: released ones have left
-- versions in the indexes, too.
CREATE TABLE holdfast.counter (
    queue bigint NOT NULL,
    block bigint NOT NULL GENERATED ALWAYS AS (counter >> 16) STORED,
    counter bigint NOT NULL,
    -- No ticket of the queue has a lower number.
    lowest bigint NOT NULL,
    -- What is known of the queue's tickets, read with the row locked.  Zeros:
    -- there is none.  An id: that is the only one.  NULL: unknown, read the
    -- tickets.  Nobody watches the queue unless it is NULL.
    sole uuid,
    PRIMARY KEY (queue, block)
) WITH (fillfactor = 50);

-- A client.  It has ended when this server's clock reaches expires_at;
-- -infinity means that its tickets are being removed.  expires_at has no index,
-- so that a renewal writes to none.
CREATE TABLE holdfast.session (
    id uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- The first owns the tickets of sessions that ended and were opened again; the
-- second owns flags, which belong to no client and never expire.
INSERT INTO holdfast.session VALUES
    ('00000000-0000-0000-0000-000000000000', '-infinity'),
    ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'infinity');

-- One ticket, or a flag.  The kinds are the library's:  2 is a read ticket, 3 a
-- write ticket, 4 a lease of a semaphore; 8 is a participant of a double
-- barrier and 9 the flag that says that all participants were there.  These two
-- are separate:  they wait for no ticket, no ticket waits for them, and only a
-- list of participants shows them.
--
-- There are no foreign keys, because their triggers take a sixth of an acquire.
-- Queues are never removed, and a ticket without a session has ended.
CREATE TABLE holdfast.ticket (
    queue bigint NOT NULL,
    sequence bigint NOT NULL,
    id uuid NOT NULL,
    session uuid NOT NULL,
    kind integer NOT NULL,
    weight integer NOT NULL,
    payload bytea NOT NULL,
    revoked integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    PRIMARY KEY (queue, sequence),
    UNIQUE (queue, id)
);
CREATE INDEX ticket_session ON holdfast.ticket (session, queue);
-- For what a reader waits for, past all other readers.
CREATE INDEX ticket_before_readers ON holdfast.ticket (queue, sequence)
    WHERE kind NOT IN (2, 8, 9);

-- The last success of a queue that a holder has written: its token, and when
-- that was by this server's clock.  It belongs to no client.
CREATE TABLE holdfast.success (
    queue bigint PRIMARY KEY,
    token bigint NOT NULL,
    succeeded_at timestamptz NOT NULL
);

-- The sessions to notify, once, when a ticket enters the queue or leaves it, a
-- write ticket becomes a read ticket or the flag of the participants is set.
CREATE TABLE holdfast.watcher (
    queue bigint NOT NULL,
    session uuid NOT NULL REFERENCES holdfast.session ON DELETE CASCADE,
    PRIMARY KEY (queue, session)
);
CREATE INDEX watcher_session ON holdfast.watcher (session);
