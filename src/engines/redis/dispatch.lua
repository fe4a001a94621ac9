-- SPDX-License-Identifier: Apache-2.0
--
-- Removes the expired tickets and runs the operation.

local outcome, more

if #expired > 0 then
    remove_tickets(expired, nil)
end
if redis_py_key then
    pass_redis_py()
end
outcome, more = operations[op]()
if not outcome then
    return {text(now), 'unsupported'}
end
if redis_py_key then
    pass_redis_py()
end
return {text(now), 'ok', outcome, more}
