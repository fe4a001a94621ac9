# A holder dies: its ticket lives until the leader gives the session up.
world clients=2 timeout=3000
   10  a  want mutex one
   20  b  want mutex one
  100  a  crash
 5000  b  release m2
 6000  -  end
expect
     0.000  a       open
     0.000  b       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    12.000  a       m1 GRANTED token=3 safe-until=3970
    20.000  b       want m2
    21.000  b       server adds ticket 2 to one
    22.000  b       m2 WAITING ahead=1 holder=a/m1
   100.000  a       crash
  3001.000  a       server session expires
  3002.000  b       m2 GRANTED token=4 safe-until=6220
  5000.000  b       release m2
  5001.000  b       server removes ticket 2 from one
  5002.000  b       m2 RELEASED HF_OK
  5002.000  b       m2 DONE
  6000.000  -       end, tickets left: 0
