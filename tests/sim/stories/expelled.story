# Another client takes out the ticket of a holder, and then that of a waiter,
# which goes to the tail.  The second time there is nothing to take out.
world clients=4
   10  a  want mutex one
   20  b  want mutex one
   30  c  want mutex one
  100  d  expel m1
  150  d  expel m1
  200  d  want mutex one
  250  a  expel m3
  300  b  release m2
  400  d  release m4
  450  c  release m3
  500  -  end
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
   100.000  d       evict m1
   101.000  a       server removes ticket 1 from one
   102.000  b       m2 GRANTED token=6 safe-until=10900
   102.000  a       m1 LOST
   102.000  d       evict ANSWERED HF_OK found
   104.000  c       m3 WAITING ahead=1 holder=b/m2
   150.000  d       evict m1
   152.000  d       evict ANSWERED HF_OK
   200.000  d       want m4
   201.000  d       server adds ticket 4 to one
   202.000  d       m4 WAITING ahead=2 holder=b/m2
   250.000  a       evict m3
   251.000  c       server removes ticket 3 from one
   252.000  a       evict ANSWERED HF_OK found
   254.000  d       m4 WAITING ahead=1 holder=b/m2
   260.000  c       server adds ticket 5 to one
   261.000  c       m3 WAITING ahead=2 holder=b/m2
   300.000  b       release m2
   301.000  b       server removes ticket 2 from one
   302.000  d       m4 GRANTED token=9 safe-until=10900
   302.000  b       m2 RELEASED HF_OK
   302.000  b       m2 DONE
   304.000  c       m3 WAITING ahead=1 holder=d/m4
   400.000  d       release m4
   401.000  d       server removes ticket 4 from one
   402.000  c       m3 GRANTED token=11 safe-until=10900
   402.000  d       m4 RELEASED HF_OK
   402.000  d       m4 DONE
   450.000  c       release m3
   451.000  c       server removes ticket 5 from one
   452.000  c       m3 RELEASED HF_OK
   452.000  c       m3 DONE
   500.000  -       end, tickets left: 0
