# Its answer is lost.  Asked again it has happened, and nobody came in between.
world servers=3 clients=2
  20  a  want write one
  40  b  want write one
  60  a  downgrade w1
  61  a  cut in
 200  a  break
 210  a  mend
 900  a  release w1
1000  b  release w2
1500  -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  a       want w1
    24.960  a       server adds ticket 0 to one
    26.146  a       w1 GRANTED token=4294967301 safe-until=10902
    40.000  b       want w2
    41.609  b       server adds ticket 1 to one
    44.821  b       w2 WAITING ahead=1 holder=a/w1
    60.000  a       downgrade w1
    61.000  a       link cut in
    61.362  a       server adds ticket 0 to one
    61.362  a       server removes ticket 0000000000 from one
    64.698  b       w2 WAITING ahead=1 holder=a/w1
   200.000  a       link breaks
   210.000  a       link mended
   210.000  a       engine suspended
   210.000  a       state SUSPENDED
   214.435  a       engine resumed to s2
   214.435  a       state CONNECTED
   218.977  a       w1 DOWNGRADED HF_OK
   900.000  a       release w1
   901.754  a       server removes ticket 0000000000 from one
   902.970  b       w2 GRANTED token=4294967302 safe-until=10902
   903.186  a       w1 RELEASED HF_OK
   903.186  a       w1 DONE
  1000.000  b       release w2
  1001.489  b       server removes ticket 0000000001 from one
  1002.668  b       w2 RELEASED HF_OK
  1002.668  b       w2 DONE
  1500.000  -       end, tickets left: 0, nodes: 1, watches: 0
