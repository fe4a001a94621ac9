-- SPDX-License-Identifier: Apache-2.0
--
-- One's place in a queue.

-- The queue, or if ${kind} is MEMBER what is apart in it; payloads of the
-- first, or of all if ${whole}.
local function list(whole, kind)
    local order = redis.call('ZRANGE', queue, 0, -1, 'WITHSCORES')
    local ends = map(redis.call('ZRANGE', untils, 0, -1, 'WITHSCORES'))
    local all = map(redis.call('HGETALL', tickets))
    local rows = {}
    local members = kind == MEMBER
    local other = stranger()
    local id, data

    if other and not members then
        rows[1] = {other, '0', text(GLANCE), '1 1 0 0 0 '}
    end
    for i = 1, #order, 2 do
        id = order[i]
        data = all[id]
        if data and ends[id] and
                is_apart(string.match(data, '^%d+')) == members then
            if #rows > 0 and not whole then
                data = string.match(data, '^%d+ %d+ %d+ %d+ %x+ ') or data
            end
            rows[#rows + 1] = {id, order[i + 1], text(ends[id] - now), data}
        end
    end
    return rows
end

-- The end of the queue, until then.  The number rises even where the counter was
-- lost, or the clock set back.
local function place(id, ends)
    local number = math.max(
        micros, (tonumber(redis.call('GET', last) or '0') or 0) + 1)

    redis.call('SET', last, text(number))
    redis.call('ZADD', queue, text(number), id)
    redis.call('ZADD', untils, text(ends), id)
end

-- ARGV: id, kind, weight, payload
function operations.enqueue()
    local id = ARGV[6]

    if plain and ARGV[7] ~= MUTEX then
        return nil
    end
    if redis.call('HEXISTS', tickets, id) == 0 then
        place(id, now + ttl)
        put(id, {kind = ARGV[7], weight = ARGV[8], revoked = '0',
                 created = text(now), session = session, payload = ARGV[9]})
        keep()
        settle()
        if ARGV[7] == MEMBER then
            tell_lookers()
        end
    end
    return list(false, ARGV[7])
end

-- ARGV: look, whole, '1' or '0'; kind
function operations.list()
    if ARGV[6] == '1' then
        look()
    end
    return list(ARGV[7] == '1', ARGV[8])
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

-- ARGV: id
function operations.withdraw()
    local found = those_there(6)

    remove(found, session)
    return #found > 0 and 1 or evict(ARGV[6])
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
