# While a resume has no answer the session may have become a short one: the
# promise is capped, and its answer sets it anew.
world clients=2 timeout=6000 least=2000
   10    a  want mutex one
   20    b  want mutex one
 1000    a  break
 1000.5  a  cut in
 2500    a  mend
 9000    a  release m1
 9500    b  release m2
10000    -  end
expect
     0.000  a       open
     0.000  b       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    12.000  a       m1 GRANTED token=3 safe-until=3577
    20.000  b       want m2
    21.000  b       server adds ticket 2 to one
    22.000  b       m2 WAITING ahead=1 holder=a/m1
  1000.000  a       link breaks
  1000.000  a       engine suspended
  1000.000  a       state SUSPENDED
  1000.500  a       link cut in
  1025.000  a       m1 promised until 4005
  2500.000  a       link mended
  2500.000  a       engine resumed
  2500.000  a       state CONNECTED
  2500.000  a       m1 promised until 7398
  9000.000  a       release m1
  9001.000  a       server removes ticket 1 from one
  9002.000  b       m2 GRANTED token=4 safe-until=12348
  9002.000  a       m1 RELEASED HF_OK
  9002.000  a       m1 DONE
  9500.000  b       release m2
  9501.000  b       server removes ticket 2 from one
  9502.000  b       m2 RELEASED HF_OK
  9502.000  b       m2 DONE
 10000.000  -       end, tickets left: 0
