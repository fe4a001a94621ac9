# The same where a mark is a node: what is written into it wakes for nothing, and
# so does whatever a server has to say when a connection comes back.  s1, which
# has not heard of a barrier that is up, does not say that it is down.
world clients=3 servers=3
    6  c  only s1
    6  a  only s2
    7  a  break
    8  c  break
   50  a  raise gates/one
  100  b  wait gates/one
  110  -  touch gates/one
  150  b  break
  300  -  touch gates/one
  400  a  lower gates/one
  500     s1 cut in
  520  a  raise gates/one
  600  c  wait gates/one
 1200     s1 mend
 1500  a  lower gates/one
 2000  -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  c       open
     4.305  c       engine connected to s3
     4.305  c       state CONNECTED
     4.974  a       engine connected to s1
     4.974  a       state CONNECTED
     4.974  b       engine connected to s1
     4.974  b       state CONNECTED
     7.000  a       link breaks
     8.000  a       engine suspended
     8.000  a       state SUSPENDED
     8.000  c       link breaks
     9.000  c       engine suspended
     9.000  c       state SUSPENDED
    12.522  a       engine resumed to s2
    12.522  a       state CONNECTED
    13.289  c       engine resumed to s1
    13.289  c       state CONNECTED
    50.000  a       raise gates/one
    54.100  -       server raises gates/one
    55.519  a       raise ANSWERED HF_OK
   100.000  b       wait at gates/one
   110.000  other   touch gates/one
   150.000  b       link breaks
   151.000  b       engine suspended
   151.000  b       state SUSPENDED
   155.000  b       engine resumed to s3
   155.000  b       state CONNECTED
   300.000  other   touch gates/one
   400.000  a       lower gates/one
   401.517  -       server lowers gates/one
   402.584  a       lower ANSWERED HF_OK found
   404.517  b       wait ANSWERED HF_OK
   500.000  -       s1 cut off in
   520.000  a       raise gates/one
   522.190  -       server raises gates/one
   523.656  a       raise ANSWERED HF_OK
   600.000  c       wait at gates/one
  1200.000  -       s1 mend
  1500.000  a       lower gates/one
  1501.541  -       server lowers gates/one
  1503.039  a       lower ANSWERED HF_OK found
  1505.491  c       wait ANSWERED HF_OK
  2000.000  -       end, tickets left: 0, nodes: 1, watches: 0
