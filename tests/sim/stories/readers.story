# Readers share, a writer waits for them all, and a reader behind the writer
# waits for the writer alone.
world clients=4
  10  a  want read one
  20  b  want read one
  30  c  want write one
  40  d  want read one
  60  a  release r1
  80  b  release r2
 100  c  release w3
 120  d  release r4
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
    10.000  a       want r1
    11.000  a       server adds ticket 1 to one
    12.000  a       r1 GRANTED token=5 safe-until=10900
    20.000  b       want r2
    21.000  b       server adds ticket 2 to one
    22.000  b       r2 GRANTED token=6 safe-until=10900
    30.000  c       want w3
    31.000  c       server adds ticket 3 to one
    32.000  c       w3 WAITING ahead=2 holder=a/r1
    40.000  d       want r4
    41.000  d       server adds ticket 4 to one
    42.000  d       r4 WAITING ahead=3 holder=a/r1
    60.000  a       release r1
    61.000  a       server removes ticket 1 from one
    62.000  a       r1 RELEASED HF_OK
    62.000  a       r1 DONE
    64.000  c       w3 WAITING ahead=1 holder=b/r2
    80.000  b       release r2
    81.000  b       server removes ticket 2 from one
    82.000  c       w3 GRANTED token=7 safe-until=10900
    82.000  b       r2 RELEASED HF_OK
    82.000  b       r2 DONE
   100.000  c       release w3
   101.000  c       server removes ticket 3 from one
   102.000  d       r4 GRANTED token=8 safe-until=10900
   102.000  c       w3 RELEASED HF_OK
   102.000  c       w3 DONE
   120.000  d       release r4
   121.000  d       server removes ticket 4 from one
   122.000  d       r4 RELEASED HF_OK
   122.000  d       r4 DONE
   300.000  -       end, tickets left: 0
