-- SPDX-License-Identifier: Apache-2.0
--
-- One's place in a queue.

-- So many of the nearest tickets are shown to who waits: HF_ADMISSION_NEAREST.
local NEAREST = 3

-- A ticket without its payload.
local function bare(data)
    return string.match(data, '^%d+ %d+ %d+ %d+ %x+ ') or data
end

-- The queue, or if ${kind} is MEMBER what is apart in it; payloads of the
-- first, or if ${whole} of all, or of the first ${most} from the number
-- ${from} on, unless ${most} is 0.
local function list(whole, kind, from, most)
    local order = redis.call('ZRANGE', line_of(kind), 0, -1, 'WITHSCORES')
    local ends = map(redis.call('ZRANGE', untils, 0, -1, 'WITHSCORES'))
    local all = map(redis.call('HGETALL', tickets))
    local rows = {}
    local other = stranger()
    local given = 0
    local id, data

    if other and not is_apart(kind) then
        rows[1] = {other, '0', text(GLANCE), '1 1 0 0 0 '}
    end
    for i = 1, #order, 2 do
        id = order[i]
        data = all[id]
        if data and ends[id] then
            if whole and most > 0 then
                if tonumber(order[i + 1]) >= from and given < most then
                    given = given + 1
                else
                    data = bare(data)
                end
            elseif #rows > 0 and not whole then
                data = bare(data)
            end
            rows[#rows + 1] = {id, order[i + 1], text(ends[id] - now), data}
        end
    end
    return rows
end

-- A ticket as it is listed, or nil: somebody else can have put something there.
local function row(id, sequence)
    local data = redis.call('HGET', tickets, id)
    local ends = data and redis.call('ZSCORE', untils, id)

    if not ends or not string.match(data, '^[1-5] %d+ %d+ %d+ %x+ ') then
        return nil
    end
    return {id, sequence, text(ends - now), data}
end

-- The first ${most} tickets of the sorted set ${set} from the place ${at} on, in
-- steps of ${by}.
local function walk(set, at, by, most)
    local rows = {}
    local found

    while at >= 0 and #rows < most do
        found = redis.call('ZRANGE', set, at, at, 'WITHSCORES')
        if #found == 0 then
            break
        end
        rows[#rows + 1] = row(found[1], found[2])
        at = at + by
    end
    return rows
end

-- The nearest tickets ahead of the one at ${rank}, with that sequence, which may
-- be in the way of one of ${kind}: of a READ only WRITEs.  What is of another
-- kind of lock is in the way of nobody unless it is the first.
local function nearest(rank, sequence, kind)
    if kind ~= READ then
        return walk(queue, rank - 1, -1, NEAREST)
    end
    rank = redis.call('ZCOUNT', writers, '-inf', '(' .. sequence)
    return walk(writers, rank - 1, -1, NEAREST)
end

-- What who waits with ${id}, a ticket of ${kind}, has to know of the queue: the
-- first ticket, the nearest that may be in its way, and itself, in order; and
-- how many more are ahead of it.  Where it is not there: the first ticket.
local function part(id, kind)
    local first = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
    local other = stranger()
    local rank, sequence, own, rows, near, more

    if first[1] == id and not other then
        return {row(id, first[2])}, '0'
    end
    rank = redis.call('ZRANK', queue, id)
    sequence = rank and redis.call('ZSCORE', queue, id)
    own = row(id, sequence) -- a user without the right to hashes is refused
    rows = other and {{other, '0', text(GLANCE), '1 1 0 0 0 '}} or
        walk(queue, 0, 1, 1)
    if not own or not rank then
        return rows, '0'
    end
    if #rows == 0 or rows[1][1] == id then
        return {own}, '0'
    end
    near = nearest(rank, sequence, kind)
    for i = #near, 1, -1 do
        if near[i][1] ~= rows[1][1] then
            rows[#rows + 1] = near[i]
        end
    end
    more = rank + (other and 1 or 0) - #rows
    if kind ~= READ and #near < NEAREST then
        more = 0 -- the rest is no tickets
    end
    rows[#rows + 1] = own
    for i = 2, #rows do
        rows[i][4] = bare(rows[i][4])
    end
    return rows, text(more)
end

-- The end of the queue, until then.  The number rises even where the counter was
-- lost, or the clock set back.
local function place(id, kind, ends)
    local number = math.max(
        micros, (tonumber(redis.call('GET', last) or '0') or 0) + 1)

    redis.call('SET', last, text(number))
    redis.call('ZADD', line_of(kind), text(number), id)
    if kind == WRITE then
        redis.call('ZADD', writers, text(number), id)
    end
    redis.call('ZADD', untils, text(ends), id)
end

-- ARGV: id, kind, weight, payload
function operations.enqueue()
    local id = ARGV[6]

    if plain and ARGV[7] ~= MUTEX then
        return nil
    end
    if redis.call('HEXISTS', tickets, id) == 0 then
        place(id, ARGV[7], now + ttl)
        put(id, {kind = ARGV[7], weight = ARGV[8], revoked = '0',
                 created = text(now), session = session, payload = ARGV[9]})
        keep()
        settle()
        if ARGV[7] == MEMBER then
            keep_along(members)
            tell_lookers()
        elseif ARGV[7] == WRITE then
            keep_along(writers)
        end
    end
    if ARGV[7] == LEASE or ARGV[7] == MEMBER then
        return list(false, ARGV[7])
    end
    return part(id, ARGV[7])
end

-- ARGV: look, whole, '1' or '0'; kind; the id of a ticket that asks for what it
-- has to know, or ''; of whole, from which number on payloads are wanted, and
-- of how many tickets; 0: of all
function operations.list()
    if ARGV[6] == '1' then
        look()
    end
    if ARGV[9] ~= '' then
        return part(ARGV[9], ARGV[8])
    end
    return list(ARGV[7] == '1', ARGV[8], tonumber(ARGV[10]), tonumber(ARGV[11]))
end

-- ARGV: ids
function operations.probe()
    local rows = {}
    local until_ms, data

    for i = 6, #ARGV do
        if ARGV[i] == stranger() then
            rows[#rows + 1] = {ARGV[i], text(GLANCE), MUTEX}
        end
        until_ms = redis.call('ZSCORE', untils, ARGV[i])
        data = until_ms and ticket(ARGV[i])
        if data then
            rows[#rows + 1] = {ARGV[i], text(until_ms - now), data.kind}
        end
    end
    return rows
end

-- ARGV: id; and, if that is said, who evicts it, in hexadecimal digits
function operations.withdraw()
    if not redis.call('ZSCORE', untils, ARGV[6]) then
        return evict(ARGV[6])
    end
    remove({ARGV[6]}, session, ARGV[7])
    return 1
end

-- ARGV: id.  Whether it is a read ticket now.
function operations.downgrade()
    local found = ticket(ARGV[6])

    if not found or found.session ~= session then
        return 0
    end
    if found.kind == WRITE then
        tell_waiters(ARGV[6], WRITE, {}, WRITE)
        found.kind = READ
        put(ARGV[6], found)
        redis.call('ZREM', writers, ARGV[6])
    end
    return found.kind == READ and 1 or 0
end

-- ARGV: id
function operations.revoke()
    local found = ticket(ARGV[6])

    if not found then
        return 0
    end
    found.revoked = text(tonumber(found.revoked) + 1)
    put(ARGV[6], found)
    tell(found.session,
         table.concat({'revoked', found.revoked, ARGV[6], name}, ' '))
    return 1
end

-- ARGV: id, payload.  Of a ticket of this session; nobody is told.
function operations.describe()
    local found = ticket(ARGV[6])

    if not found or found.session ~= session then
        return 0
    end
    found.payload = ARGV[7]
    put(ARGV[6], found)
    return 1
end
