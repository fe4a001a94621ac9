# Three waiters: each also watches the ticket one further ahead, so that every
# handoff is as short as the first, and nobody else is woken.
world clients=4
  10  a  want mutex one
  20  b  want mutex one
  30  c  want mutex one
  40  d  want mutex one
  60  a  release m1
  80  b  release m2
 100  c  release m3
 120  d  release m4
 300  -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  c       open
     0.000  d       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
     2.000  c       engine connected
     2.000  c       state CONNECTED
     2.000  d       engine connected
     2.000  d       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    12.000  a       m1 GRANTED token=5 safe-until=10900
    20.000  b       want m2
    21.000  b       server adds ticket 2 to one
    22.000  b       m2 WAITING ahead=1 holder=a/m1
    30.000  c       want m3
    31.000  c       server adds ticket 3 to one
    32.000  c       m3 WAITING ahead=2 holder=a/m1
    40.000  d       want m4
    41.000  d       server adds ticket 4 to one
    42.000  d       m4 WAITING ahead=3 holder=a/m1
    60.000  a       release m1
    61.000  a       server removes ticket 1 from one
    62.000  b       m2 GRANTED token=6 safe-until=10900
    62.000  a       m1 RELEASED HF_OK
    62.000  a       m1 DONE
    64.000  c       m3 WAITING ahead=1 holder=b/m2
    80.000  b       release m2
    81.000  b       server removes ticket 2 from one
    82.000  c       m3 GRANTED token=7 safe-until=10900
    82.000  b       m2 RELEASED HF_OK
    82.000  b       m2 DONE
    84.000  d       m4 WAITING ahead=1 holder=c/m3
   100.000  c       release m3
   101.000  c       server removes ticket 3 from one
   102.000  d       m4 GRANTED token=8 safe-until=10900
   102.000  c       m3 RELEASED HF_OK
   102.000  c       m3 DONE
   120.000  d       release m4
   121.000  d       server removes ticket 4 from one
   122.000  d       m4 RELEASED HF_OK
   122.000  d       m4 DONE
   300.000  -       end, tickets left: 0
