# A waiter whose session is killed enqueues again, at the tail.
world clients=3
   10  a  want mutex one
   20  b  want mutex one
   30  c  want mutex one
   50  b  kill
  200  a  release m1
  300  c  release m3
  400  b  release m2
  600  -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  c       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
     2.000  c       engine connected
     2.000  c       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    12.000  a       m1 GRANTED token=4 safe-until=10900
    20.000  b       want m2
    21.000  b       server adds ticket 2 to one
    22.000  b       m2 WAITING ahead=1 holder=a/m1
    30.000  c       want m3
    31.000  c       server adds ticket 3 to one
    32.000  c       m3 WAITING ahead=2 holder=a/m1
    50.000  b       session killed
    51.000  b       engine session lost
    51.000  b       state LOST
    53.000  c       m3 WAITING ahead=1 holder=a/m1
   103.000  b       engine connected
   103.000  b       state CONNECTED
   104.000  b       server adds ticket 4 to one
   105.000  b       m2 WAITING ahead=2 holder=a/m1
   200.000  a       release m1
   201.000  a       server removes ticket 1 from one
   202.000  c       m3 GRANTED token=6 safe-until=10900
   202.000  a       m1 RELEASED HF_OK
   202.000  a       m1 DONE
   204.000  b       m2 WAITING ahead=1 holder=c/m3
   300.000  c       release m3
   301.000  c       server removes ticket 3 from one
   302.000  b       m2 GRANTED token=9 safe-until=11001
   302.000  c       m3 RELEASED HF_OK
   302.000  c       m3 DONE
   400.000  b       release m2
   401.000  b       server removes ticket 4 from one
   402.000  b       m2 RELEASED HF_OK
   402.000  b       m2 DONE
   600.000  -       end, tickets left: 0
