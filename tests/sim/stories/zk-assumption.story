# What a plain proof assumes, broken: the leader's questions are held up from
# before a heartbeat until just behind it, so that its answer is not late, and
# what the holder's server says to them is held up from then on.  The holder
# trusts a promise that the leader does not know of, and another is admitted
# while it does.  The token closes this, or a strict proof does: see
# zk-assumption-strict.story.
world servers=3 timeout=6900 clients=2 unsafe
   10    b  only s3
   20    b  break
  610    a  only s1
  620    a  break
 1000    a  want mutex one
 1500    b  want mutex one
 3600    s1 cut in
 5190    s1 cut out
15000    s1 mend
16000    a  release m1
17000    b  release m2
30000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  b       link breaks
    21.000  b       engine suspended
    21.000  b       state SUSPENDED
    25.000  b       engine resumed to s3
    25.000  b       state CONNECTED
   620.000  a       link breaks
   621.000  a       engine suspended
   621.000  a       state SUSPENDED
   671.515  a       engine resumed to s1
   671.515  a       state CONNECTED
  1000.000  a       want m1
  1004.400  a       server adds ticket 0 to one
  1005.489  a       m1 GRANTED token=4294967301 safe-until=8500
  1500.000  b       want m2
  1501.322  b       server adds ticket 1 to one
  1504.322  b       m2 WAITING ahead=1 holder=a/m1
  3600.000  -       s1 cut off in
  5190.000  -       s1 cut off out
  5191.000  CHECK   invariant 1 broken: m1 is promised 11283 (10283000 us), but its session may end at 9965000 us
  9791.000  a       engine suspended
  9791.000  a       state SUSPENDED
  9965.000  a       server session expires
  9965.201  a       server removes ticket 0000000000 from one
  9966.201  b       m2 GRANTED token=4294967302 safe-until=14733
 10283.000  a       m1 LOST
 12077.000  a       engine session lost
 12077.000  a       state LOST
 15000.000  -       s1 mend
 15001.964  a       engine connected to s1
 15001.964  a       state CONNECTED
 16000.000  a       release m1
 16000.000  a       m1 RELEASED HF_ELOST
 16000.000  a       m1 DONE
 17000.000  b       release m2
 17001.451  b       server removes ticket 0000000001 from one
 17002.451  b       m2 RELEASED HF_OK
 17002.451  b       m2 DONE
 21965.000  a       server session expires
 21965.000  a       server session expires
 30000.000  -       end, tickets left: 0, nodes: 1, watches: 0
