# A holder is asked to let go, and once more; it finishes first.  A waiter that
# is asked hears it with its grant; who lets go before it is heard hears nothing.
world clients=3
   10  a  want mutex one
   20  b  want mutex one
  100  c  ask m1
  150  c  ask m1
  200  c  ask m2
  300  a  release m1
  400  b  release m2
  450  c  ask m2
  460  c  look one
  500  -  end
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
   100.000  c       ask m1 to let go
   102.000  a       m1 REVOKED
   102.000  c       ask ANSWERED HF_OK found
   150.000  c       ask m1 to let go
   152.000  a       m1 REVOKED
   152.000  c       ask ANSWERED HF_OK found
   200.000  c       ask m2 to let go
   202.000  c       ask ANSWERED HF_OK found
   300.000  a       release m1
   301.000  a       server removes ticket 1 from one
   302.000  b       m2 GRANTED token=5 safe-until=10900
   302.000  b       m2 REVOKED
   302.000  a       m1 RELEASED HF_OK
   302.000  a       m1 DONE
   400.000  b       release m2
   401.000  b       server removes ticket 2 from one
   402.000  b       m2 RELEASED HF_OK
   402.000  b       m2 DONE
   450.000  c       ask m2 to let go
   452.000  c       ask ANSWERED HF_OK
   460.000  c       look at one
   462.000  c       look at ANSWERED HF_OK
   500.000  -       end, tickets left: 0
