# The wait ends when it was said to, and the ticket is withdrawn first.
world clients=2
  10  a  want mutex one
  20  b  want mutex one 100
 200  a  release m1
 400  -  end
expect
     0.000  a       open
     0.000  b       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    12.000  a       m1 GRANTED token=3 safe-until=10900
    20.000  b       want m2
    21.000  b       server adds ticket 2 to one
    22.000  b       m2 WAITING ahead=1 holder=a/m1
   121.000  b       server removes ticket 2 from one
   122.000  b       m2 ENDED HF_ETIMEDOUT
   122.000  b       m2 DONE
   200.000  a       release m1
   201.000  a       server removes ticket 1 from one
   202.000  a       m1 RELEASED HF_OK
   202.000  a       m1 DONE
   400.000  -       end, tickets left: 0
