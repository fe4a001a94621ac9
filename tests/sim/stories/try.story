# A try that would have to wait is told so after one trip, and leaves nothing.
world clients=2
   10  a  want mutex one
   20  b  want mutex one try
  100  a  release m1
  200  b  want mutex one try
  300  b  release m3
  500  -  end
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
    23.000  b       server removes ticket 2 from one
    24.000  b       m2 ENDED HF_EBUSY
    24.000  b       m2 DONE
   100.000  a       release m1
   101.000  a       server removes ticket 1 from one
   102.000  a       m1 RELEASED HF_OK
   102.000  a       m1 DONE
   200.000  b       want m3
   201.000  b       server adds ticket 3 to one
   202.000  b       m3 GRANTED token=7 safe-until=10900
   300.000  b       release m3
   301.000  b       server removes ticket 3 from one
   302.000  b       m3 RELEASED HF_OK
   302.000  b       m3 DONE
   500.000  -       end, tickets left: 0
