# The server is started again with a lower limit, and takes the sessions up again
# for less.  From then on that is what the holder is promised: it is cut off, and
# told of its loss before the next one is in.
world servers=1 timeout=20000 clients=2
  100    a  want mutex one
  200    b  want mutex one
 1000    s1 stop
 1010    s1 start
 1010    s1 limit 5000
 4000    a  cut
20000    a  mend
30000    b  release m2
40000    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   100.000  a       want m1
   103.000  a       server adds ticket 0 to one
   104.000  a       m1 GRANTED token=4294967301 safe-until=20802
   200.000  b       want m2
   201.000  b       server adds ticket 1 to one
   204.000  b       m2 WAITING ahead=1 holder=a/m1
  1000.000  -       s1 stop
  1001.000  b       engine suspended
  1001.000  b       state SUSPENDED
  1001.000  a       engine suspended
  1001.000  a       state SUSPENDED
  1010.000  -       s1 start
  1010.000  -       s1 limit
  1010.000  -       s1 leads
  1043.000  a       engine resumed to s1
  1043.000  a       state CONNECTED
  1043.000  a       m1 promised until 6991
  1051.000  b       engine resumed to s1
  1051.000  b       state CONNECTED
  1053.000  b       m2 WAITING ahead=1 holder=a/m1
  4000.000  a       link cut
  6202.000  a       m1 LOST
  7086.000  a       engine suspended
  7086.000  a       state SUSPENDED
  7086.000  a       server removes ticket 0000000000 from one
  7087.000  b       m2 GRANTED token=4294967302 safe-until=9702
  8752.000  a       engine session lost
  8752.000  a       state LOST
 12940.000  a       server session expires
 20000.000  a       link mended
 20003.000  a       engine connected to s1
 20003.000  a       state CONNECTED
 30000.000  b       release m2
 30001.000  b       server removes ticket 0000000001 from one
 30002.000  b       m2 RELEASED HF_OK
 30002.000  b       m2 DONE
 40000.000  -       end, tickets left: 0, nodes: 1, watches: 0
