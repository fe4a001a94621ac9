-- SPDX-License-Identifier: Apache-2.0
--
-- The short path, for a queue with one ticket.  Most acquires find no other
-- ticket and most releases leave none, so no session has to be notified.  As
-- long as no other call needs such a ticket, it stands behind its sequence in
-- the key "last", so that an acquire and a release each take one GET and one
-- SET.  The value of the key "last" is one of
--
--    NUMBER            the other keys have the tickets, if there are any
--    2 NUMBER          there is no ticket, and nobody watches the queue
--    2 NUMBER TICKET   there is this ticket, and nobody watches the queue;
--                      TICKET is "session id ttl kind weight payload", as in
--                      the call that added it at NUMBER
--
-- NUMBER is the last sequence that was given out; behind "2 " it has 16 digits.
-- Every other operation first moves TICKET to the other keys (common.lua).  In
-- any doubt, the short path does nothing and the script goes on.  Its answer is
-- the server's clock in microseconds behind "2 ", which is also the sequence of
-- a new ticket.
--
-- Where it can, this path compares numbers as texts, because the server takes
-- several times as long to convert them.  Texts with the same number of digits
-- have the order of their numbers.  If ${clock} is less than ARGV[2], the call
-- is not late.  (The reverse does not hold in the last millisecond, or if the
-- clock has fewer than 16 digits; then the script goes on.)

-- ${time}: the reply to TIME.  ${state}: the value of the key "last".
-- ${soonest}: the first tickets by the ends of their leases, with these.  Each
-- is nil until it is read.
local time, state, soonest
local clock

if op == 'enqueue' or op == 'remove' then
    time = call('TIME')
    clock = time[2]
    if #clock < 6 then
        clock = sub('000000', #clock + 1) .. clock
    end
    clock = '2 ' .. time[1] .. clock
end

if op == 'enqueue' and clock < ARGV[2] then
    local before

    state = call('GET', KEYS[1]) or '0'
    if #state == 18 and sub(state, 1, 2) == '2 ' then
        before = state
    elseif #state <= 16 and not string.find(state, '%D') then
        local prefix = sub(KEYS[1], 1, -5)

        soonest = call('ZRANGE', prefix .. 'until', 0, 0, 'WITHSCORES')
        before = #soonest == 0 and
            call('ZCARD', prefix .. 'queue') == 0 and
            call('ZCARD', prefix .. 'watchers') == 0 and
            '2 ' .. sub('0000000000000000', #state + 1) .. state
    end
    if before and before < clock then
        call('SET', KEYS[1], clock .. ' ' .. ARGV[3])
        return clock
    end
end

if op == 'remove' and clock < ARGV[2] then
    state = call('GET', KEYS[1]) or '0'
    if sub(state, 20, 88) == ARGV[3] and sub(state, 1, 2) == '2 ' then
        -- The ticket has certainly not expired if the seconds since NUMBER,
        -- counted with the one that has begun, are at most its ttl.  Within the
        -- same second that holds for a ttl of a second or more, which has four
        -- digits.
        local second = sub(state, 3, 12)
        local alive = second == time[1] and #ARGV[2] >= 20

        if not alive then
            local since = time[1] - second

            alive = since >= 0 and
                (since + 1) * 1000 <= tonumber(string.match(ARGV[2], '%d+$'))
        end
        -- A server that is out of memory refuses this SET.  Then the script
        -- goes on: the path through the other keys begins with a DEL, after
        -- which nothing is refused.
        if alive and
                not redis.pcall('SET', KEYS[1], sub(state, 1, 18)).err then
            return clock
        end
    elseif not string.find(state, '%D') then
        local prefix = sub(KEYS[1], 1, -5)
        local id = sub(ARGV[3], 34)
        local kind, owner

        soonest = call('ZRANGE', prefix .. 'until', 0, 1, 'WITHSCORES')
        if #soonest == 2 and soonest[1] == id and
                tonumber(soonest[2]) > math.floor(sub(clock, 3) / 1000) then
            kind, owner = string.match(
                call('HGET', prefix .. 'tickets', id) or '',
                '^(%d) %d+ %d+ %d+ (%x+) ')
        end
        if owner == sub(ARGV[3], 1, 32) and kind < '8' and
                call('ZCARD', prefix .. 'watchers') == 0 then
            call('DEL', prefix .. 'queue', prefix .. 'until',
                 prefix .. 'tickets', prefix .. 'writers')
            return clock
        end
    end
end
