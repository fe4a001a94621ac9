-- SPDX-License-Identifier: Apache-2.0
-- Write a value, unless somebody with a greater token has written it; 1 if it
-- was written, 0 if this holder is not the last any more and must stop:
--
--     redis-cli --eval fencing.lua report , $HOLDFAST_TOKEN done
--
-- Tokens are compared as text, for numbers in Lua are exact to 53 bits only.
local token, value = ARGV[1], ARGV[2]
local seen = redis.call('HGET', KEYS[1], 'token') or '0'
if #token < #seen or (#token == #seen and token < seen) then
  return 0
end
redis.call('HSET', KEYS[1], 'token', token, 'value', value)
return 1
