-- SPDX-License-Identifier: Apache-2.0
--
-- Flags, which are tickets without an owner: the flag of a barrier that is set;
-- and READY, the flag of a double barrier, which says that all participants
-- were there.

if not operations[op] then
    -- The expiry of a flag, which never comes.
    local NEVER = 9007199254740991

    local function ids_of_kind(kind)
        local found = {}
        local its

        for _, id in ipairs(call('ZRANGE', set_of(kind), 0, -1)) do
            its = ticket(id)
            if its and its.kind == kind then
                found[#found + 1] = id
            end
        end
        return found
    end

    local function add_flag(id, kind)
        append(id, kind, NEVER)
        put(id, {kind = kind, weight = '1', revoked = '0', created = text(now),
                 session = '0', payload = ''})
    end

    -- ARGV: kind, id.  Returns whether the flag was set before.
    function operations.set_flag()
        local found = #ids_of_kind(ARGV[4])

        if found == 0 then
            add_flag(ARGV[5], ARGV[4])
        end
        return found
    end

    -- ARGV: kind.  Returns whether the flag was set before.  READY is not
    -- cleared while there are participants.
    function operations.clear_flag()
        local found

        if ARGV[4] == READY and #ids_of_kind(PARTICIPANT) > 0 then
            return 0
        end
        found = ids_of_kind(ARGV[4])
        remove_tickets(found, nil)
        return #found
    end

    -- ARGV: id of a participant, how many participants there must be, id of the
    -- new flag.  If enough participants are there, and this one is, replaces
    -- READY by the new flag.  Returns whether it did.
    function operations.new_generation()
        local participant = ticket(ARGV[4])

        if not participant or participant.kind ~= PARTICIPANT or
                #ids_of_kind(PARTICIPANT) < tonumber(ARGV[5]) then
            return 0
        end
        remove_tickets(ids_of_kind(READY), nil)
        add_flag(ARGV[6], READY)
        notify_watchers()
        return 1
    end
end
