# The leader hears nothing more of the holder's server, which hears all.  It goes
# on answering heartbeats, which prove nothing: the grant is lost by the holder's
# own clock before the leader ends its session.  timeout=6s.
world servers=3 timeout=6000 clients=2
   10    a  only s1
   10    b  only s3
   20    a  break
   20    b  break
 1000    a  want mutex one
 1500    b  want mutex one
 3300    s1 cut out
30000    s1 mend
31000    a  release m1
31000    b  release m2
35000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  a       link breaks
    20.000  b       link breaks
    21.000  a       engine suspended
    21.000  a       state SUSPENDED
    21.000  b       engine suspended
    21.000  b       state SUSPENDED
    25.000  b       engine resumed to s3
    25.000  b       state CONNECTED
    71.515  a       engine resumed to s1
    71.515  a       state CONNECTED
  1000.000  a       want m1
  1004.400  a       server adds ticket 0 to one
  1005.489  a       m1 GRANTED token=4294967301 safe-until=7009
  1500.000  b       want m2
  1501.322  b       server adds ticket 1 to one
  1504.339  b       m2 WAITING ahead=1 holder=a/m1
  3300.000  -       s1 cut off out
  7004.000  a       engine suspended
  7004.000  a       state SUSPENDED
  7442.000  a       m1 LOST
  9002.000  a       engine session lost
  9002.000  a       state LOST
  9965.000  a       server session expires
  9965.797  a       server removes ticket 0000000000 from one
  9966.797  b       m2 GRANTED token=4294967302 safe-until=14442
 30000.000  -       s1 mend
 30546.228  -       s1 follows s3
 30824.127  a       engine connected to s1
 30824.127  a       state CONNECTED
 31000.000  a       release m1
 31000.000  a       m1 RELEASED HF_ELOST
 31000.000  a       m1 DONE
 31000.000  b       release m2
 31001.505  b       server removes ticket 0000000001 from one
 31002.505  b       m2 RELEASED HF_OK
 31002.505  b       m2 DONE
 35000.000  -       end, tickets left: 0, nodes: 1, watches: 0
