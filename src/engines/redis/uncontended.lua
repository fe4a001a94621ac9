-- SPDX-License-Identifier: Apache-2.0
--
-- The short path for a queue with one ticket.  Most acquires find no other
-- ticket, and most releases leave none, so no session has to be notified.  A
-- ticket that nobody else has asked about is in the key "last" alone, behind
-- its sequence, so that an acquire and a release are one GET and one SET.  The
-- key has
--
--     NUMBER            the other keys have the tickets, if there are any
--     2 NUMBER          there is no ticket, and nobody watches the queue
--     2 NUMBER TICKET   nobody watches the queue, and there is this ticket:
--                       "session id ttl kind weight payload", as in the call
--                       that has added it at NUMBER
--
-- NUMBER is the last sequence that was given out.  Behind "2 " it has 16
-- digits.  Every other operation moves the ticket to the other keys first
-- (common.lua).  This path leaves to them whatever is in doubt.  Its answer is
-- the server's clock in microseconds behind "2 ", as it stands in the key: the
-- sequence of a new ticket, too.
--
-- Where it can, this path compares texts, because it takes the server several
-- times as long to make numbers of them.  Texts of as many digits are in the
-- order of their numbers.  ${clock} is less than ARGV[2] only if the call is
-- not late.  In the last millisecond, or if the clock has fewer than 16 digits,
-- it is not less.

-- What TIME answers; what the key "last" has; and the first tickets by the ends
-- of their leases, with these.  nil if it was not read.
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
        -- The ticket has surely not expired while the seconds that have begun
        -- since NUMBER are less than its ttl, which has four digits if it is a
        -- second or more.
        local second = sub(state, 3, 12)
        local alive = second == time[1] and #ARGV[2] >= 20

        if not alive then
            local since = time[1] - second

            alive = since >= 0 and
                (since + 1) * 1000 <= tonumber(string.match(ARGV[2], '%d+$'))
        end
        -- A server that is out of memory refuses the SET, and nothing that the
        -- other keys need after the DEL with which their path begins.
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
