# Of two locks one is had after 300 ms of the 500 that there are for both.  Only
# the rest is waited for the other, and what was had is given back.
world clients=2
   10  b  want mutex one
   20  b  want mutex two
  100  a  want all one,two 500
  400  b  release m1
 1000  b  release m2
 1100  b  want all one,two try
 1200  b  release x4
 1500  -  end
expect
     0.000  a       open
     0.000  b       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
    10.000  b       want m1
    11.000  b       server adds ticket 1 to one
    12.000  b       m1 GRANTED token=3 safe-until=10900
    20.000  b       want m2
    21.000  b       server adds ticket 1 to two
    22.000  b       m2 GRANTED token=4 safe-until=10900
   100.000  a       want x3
   101.000  a       server adds ticket 2 to one
   102.000  a       x3 WAITING ahead=1 holder=b/m1
   400.000  b       release m1
   401.000  b       server removes ticket 1 from one
   402.000  b       m1 RELEASED HF_OK
   402.000  b       m1 DONE
   403.000  a       server adds ticket 2 to two
   404.000  a       x3 WAITING ahead=1 holder=b/m2
   601.000  a       server removes ticket 2 from two
   601.000  a       server removes ticket 2 from one
   602.000  a       x3 ENDED HF_ETIMEDOUT
   602.000  a       x3 DONE
  1000.000  b       release m2
  1001.000  b       server removes ticket 1 from two
  1002.000  b       m2 RELEASED HF_OK
  1002.000  b       m2 DONE
  1100.000  b       want x4
  1101.000  b       server adds ticket 3 to one
  1103.000  b       server adds ticket 3 to two
  1104.000  b       x4 GRANTED token=12 safe-until=10900
  1200.000  b       release x4
  1201.000  b       server removes ticket 3 from two
  1201.000  b       server removes ticket 3 from one
  1202.000  b       x4 RELEASED HF_OK
  1202.000  b       x4 DONE
  1500.000  -       end, tickets left: 0
