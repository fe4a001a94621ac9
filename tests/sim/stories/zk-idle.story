# A client that was idle for long: its create is answered, and one write more
# makes it a grant.
world servers=3 timeout=10000 clients=1
  100    -  node one keep
 1000    a  want mutex one
 2000    a  release m1
60000    a  want mutex one
61000    a  release m2
65000    a  want mutex one try
66000    a  release m3
70000    -  end
expect
     0.000  a       open
     4.755  a       engine connected to s1
     4.755  a       state CONNECTED
   100.000  other   node one keep
  1000.000  a       want m1
  1001.380  a       server adds ticket 1 to one
  1002.722  a       m1 GRANTED token=4294967300 safe-until=10902
  2000.000  a       release m1
  2001.631  a       server removes ticket 0000000001 from one
  2002.831  a       m1 RELEASED HF_OK
  2002.831  a       m1 DONE
 60000.000  a       want m2
 60001.576  a       server adds ticket 2 to one
 60003.036  a       m2 WAITING ahead=0 holder=
 60007.866  a       m2 GRANTED token=4294967303 safe-until=66228
 61000.000  a       release m2
 61001.837  a       server removes ticket 0000000002 from one
 61003.046  a       m2 RELEASED HF_OK
 61003.046  a       m2 DONE
 65000.000  a       want m3
 65001.772  a       server adds ticket 3 to one
 65003.098  a       m3 WAITING ahead=0 holder=
 65007.212  a       m3 GRANTED token=4294967307 safe-until=71900
 66000.000  a       release m3
 66001.422  a       server removes ticket 0000000003 from one
 66002.473  a       m3 RELEASED HF_OK
 66002.473  a       m3 DONE
 70000.000  -       end, tickets left: 0, nodes: 2, watches: 0
