# A writer becomes a reader: the reader behind it enters, and the writer behind
# them, who hears of the write ticket's end, waits for two readers now.
world clients=4
  10  a  want write one
  20  b  want read one
  30  c  want write one
  40  d  want write two
  50  b  want write two
  60  a  downgrade w1
  80  a  release w1
 100  b  release r2
 120  c  release w3
 140  d  downgrade w4
 160  d  release w4
 180  b  release w5
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
    10.000  a       want w1
    11.000  a       server adds ticket 1 to one
    12.000  a       w1 GRANTED token=5 safe-until=10900
    20.000  b       want r2
    21.000  b       server adds ticket 2 to one
    22.000  b       r2 WAITING ahead=1 holder=a/w1
    30.000  c       want w3
    31.000  c       server adds ticket 3 to one
    32.000  c       w3 WAITING ahead=2 holder=a/w1
    40.000  d       want w4
    41.000  d       server adds ticket 1 to two
    42.000  d       w4 GRANTED token=8 safe-until=10900
    50.000  b       want w5
    51.000  b       server adds ticket 2 to two
    52.000  b       w5 WAITING ahead=1 holder=d/w4
    60.000  a       downgrade w1
    61.000  a       server downgrades ticket 1 of one
    62.000  b       r2 GRANTED token=6 safe-until=10900
    62.000  a       w1 DOWNGRADED HF_OK
    64.000  c       w3 WAITING ahead=2 holder=a/w1
    80.000  a       release w1
    81.000  a       server removes ticket 1 from one
    82.000  a       w1 RELEASED HF_OK
    82.000  a       w1 DONE
    84.000  c       w3 WAITING ahead=1 holder=b/r2
   100.000  b       release r2
   101.000  b       server removes ticket 2 from one
   102.000  c       w3 GRANTED token=7 safe-until=10900
   102.000  b       r2 RELEASED HF_OK
   102.000  b       r2 DONE
   120.000  c       release w3
   121.000  c       server removes ticket 3 from one
   122.000  c       w3 RELEASED HF_OK
   122.000  c       w3 DONE
   140.000  d       downgrade w4
   141.000  d       server downgrades ticket 1 of two
   142.000  d       w4 DOWNGRADED HF_OK
   144.000  b       w5 WAITING ahead=1 holder=d/w4
   160.000  d       release w4
   161.000  d       server removes ticket 1 from two
   162.000  b       w5 GRANTED token=9 safe-until=10900
   162.000  d       w4 RELEASED HF_OK
   162.000  d       w4 DONE
   180.000  b       release w5
   181.000  b       server removes ticket 2 from two
   182.000  b       w5 RELEASED HF_OK
   182.000  b       w5 DONE
   300.000  -       end, tickets left: 0
