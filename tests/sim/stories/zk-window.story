# A request begins only while fewer than two calls are under way.  The release
# goes before all that waits: b is granted long before the last enqueue is sent.
world servers=1 timeout=6000 clients=2 window=2
  100    a  want mutex one
  110    b  want mutex one
  200    a  want mutex two
  200    a  want mutex three
  200    a  want mutex four
  200    a  want mutex five
  200    a  want mutex six
  200    a  release m1
  500    -  end
expect
     0.000  a       open
     0.000  b       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
     4.000  b       engine connected to s1
     4.000  b       state CONNECTED
   100.000  a       want m1
   103.000  a       server adds ticket 0 to one
   104.000  a       m1 GRANTED token=4294967301 safe-until=6942
   110.000  b       want m2
   111.000  b       server adds ticket 1 to one
   114.000  b       m2 WAITING ahead=1 holder=a/m1
   200.000  a       want m3
   200.000  a       want m4
   200.000  a       want m5
   200.000  a       want m6
   200.000  a       want m7
   200.000  a       release m1
   201.000  a       server removes ticket 0000000000 from one
   202.000  b       m2 GRANTED token=4294967302 safe-until=6942
   202.000  a       m1 RELEASED HF_OK
   202.000  a       m1 DONE
   203.000  a       server adds ticket 0 to two
   204.000  a       m3 GRANTED token=4294967306 safe-until=6942
   207.000  a       server adds ticket 0 to three
   208.000  a       m4 GRANTED token=4294967310 safe-until=6942
   209.000  a       server adds ticket 0 to four
   210.000  a       m5 GRANTED token=4294967312 safe-until=6942
   213.000  a       server adds ticket 0 to five
   214.000  a       m6 GRANTED token=4294967316 safe-until=6942
   215.000  a       server adds ticket 0 to six
   216.000  a       m7 GRANTED token=4294967318 safe-until=6942
   500.000  -       end, tickets left: 6, nodes: 12, watches: 6
