# Those ahead give up one after the other, and each time the last one lists
# again: what is left of its time gets less all the same.
world clients=2
  10   a  want mutex one
  20   b  want mutex one 40
  22   b  want mutex one 80
  24   b  want mutex one 90
  26   b  want mutex one 100
 200   a  release m1
 400   -  end
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
    22.000  b       want m3
    22.000  b       m2 WAITING ahead=1 holder=a/m1
    23.000  b       server adds ticket 3 to one
    24.000  b       want m4
    24.000  b       m3 WAITING ahead=2 holder=a/m1
    25.000  b       server adds ticket 4 to one
    26.000  b       want m5
    26.000  b       m4 WAITING ahead=3 holder=a/m1
    27.000  b       server adds ticket 5 to one
    28.000  b       m5 WAITING ahead=4 holder=a/m1
    61.000  b       server removes ticket 2 from one
    62.000  b       m2 ENDED HF_ETIMEDOUT
    62.000  b       m2 DONE
    64.000  b       m3 WAITING ahead=1 holder=a/m1
    64.000  b       m4 WAITING ahead=2 holder=a/m1
   103.000  b       server removes ticket 3 from one
   104.000  b       m3 ENDED HF_ETIMEDOUT
   104.000  b       m3 DONE
   106.000  b       m4 WAITING ahead=1 holder=a/m1
   106.000  b       m5 WAITING ahead=2 holder=a/m1
   115.000  b       server removes ticket 4 from one
   116.000  b       m4 ENDED HF_ETIMEDOUT
   116.000  b       m4 DONE
   118.000  b       m5 WAITING ahead=1 holder=a/m1
   127.000  b       server removes ticket 5 from one
   128.000  b       m5 ENDED HF_ETIMEDOUT
   128.000  b       m5 DONE
   200.000  a       release m1
   201.000  a       server removes ticket 1 from one
   202.000  a       m1 RELEASED HF_OK
   202.000  a       m1 DONE
   400.000  -       end, tickets left: 0
