# Losses are told at SUSPENDED: a holder hears as soon as its link drops, and a
# waiter, that there is nothing to tell.  The ticket of the one who held leaves
# when the link is back; until then nobody else is admitted.
world clients=3 timeout=3000 suspends
   10  a  want mutex one
   20  b  want mutex one
   30  c  want mutex one
   50  a  cut
   50  b  cut
   51  a  break
   51  b  break
  500  a  release m1
 1000  a  mend
 1010  b  mend
 2000  b  release m2
 2100  c  release m3
 2500  -  end
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
    12.000  a       m1 GRANTED token=4 safe-until=3970
    20.000  b       want m2
    21.000  b       server adds ticket 2 to one
    22.000  b       m2 WAITING ahead=1 holder=a/m1
    30.000  c       want m3
    31.000  c       server adds ticket 3 to one
    32.000  c       m3 WAITING ahead=2 holder=a/m1
    50.000  a       link cut
    50.000  b       link cut
    51.000  a       link breaks
    51.000  a       engine suspended
    51.000  a       m1 LOST
    51.000  a       state SUSPENDED
    51.000  b       link breaks
    51.000  b       engine suspended
    51.000  b       state SUSPENDED
   500.000  a       release m1
  1000.000  a       link mended
  1001.000  a       engine resumed
  1001.000  a       state CONNECTED
  1002.000  a       server removes ticket 1 from one
  1003.000  a       m1 RELEASED HF_ELOST
  1003.000  a       m1 DONE
  1005.000  c       m3 WAITING ahead=1 holder=b/m2
  1010.000  b       link mended
  1011.000  b       engine resumed
  1011.000  b       state CONNECTED
  1015.000  b       m2 GRANTED token=5 safe-until=4981
  2000.000  b       release m2
  2001.000  b       server removes ticket 2 from one
  2002.000  c       m3 GRANTED token=6 safe-until=5723
  2002.000  b       m2 RELEASED HF_OK
  2002.000  b       m2 DONE
  2100.000  c       release m3
  2101.000  c       server removes ticket 3 from one
  2102.000  c       m3 RELEASED HF_OK
  2102.000  c       m3 DONE
  2500.000  -       end, tickets left: 0
