# Who asks while it is cut off is answered when it is not any more, or when its
# time is over; the answer that comes after that is told to nobody.
world clients=2
   10  a  want mutex one
  100  b  cut out
  110  b  look one
  120  b  look one 300
  130  b  ask m1 200
  600  b  mend
  700  b  look one
  800  a  release m1
  900  -  end
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
   100.000  b       link cut out
   110.000  b       look at one
   120.000  b       look at one
   130.000  b       ask m1 to let go
   330.000  b       ask ANSWERED HF_ETIMEDOUT
   420.000  b       look at ANSWERED HF_ETIMEDOUT
   600.000  b       link mended
   601.000  b       look at ANSWERED HF_OK
   601.000  a       m1 REVOKED
   700.000  b       look at one
   702.000  b       look at ANSWERED HF_OK
   800.000  a       release m1
   801.000  a       server removes ticket 1 from one
   802.000  a       m1 RELEASED HF_OK
   802.000  a       m1 DONE
   900.000  -       end, tickets left: 0
