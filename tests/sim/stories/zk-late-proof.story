# The leader's questions to the holder's server are held up from before its
# heartbeat until long behind it; then the answer to the heartbeat comes with
# them, but what the server says to them is held up in turn.  An answer that
# comes late proves only what the one before would have.
world servers=3 timeout=6900 clients=2
   10    b  only s3
   20    b  break
  610    a  only s1
  620    a  break
 1000    a  want mutex one
 1500    b  want mutex one
 3600    s1 cut in
 6100    s1 cut out
15000    s1 mend
16000    a  release m1
17000    b  release m2
30000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  b       link breaks
    21.000  b       engine suspended
    21.000  b       state SUSPENDED
    25.000  b       engine resumed to s3
    25.000  b       state CONNECTED
   620.000  a       link breaks
   621.000  a       engine suspended
   621.000  a       state SUSPENDED
   671.515  a       engine resumed to s1
   671.515  a       state CONNECTED
  1000.000  a       want m1
  1004.400  a       server adds ticket 0 to one
  1005.489  a       m1 GRANTED token=4294967301 safe-until=8500
  1500.000  b       want m2
  1501.322  b       server adds ticket 1 to one
  1504.322  b       m2 WAITING ahead=1 holder=a/m1
  3600.000  -       s1 cut off in
  6100.000  -       s1 cut off out
  8558.000  a       m1 LOST
  9965.000  a       server session expires
  9965.176  a       server removes ticket 0000000000 from one
  9966.176  b       m2 GRANTED token=4294967302 safe-until=14733
  9966.202  a       engine suspended
  9966.202  a       state SUSPENDED
 12077.000  a       engine session lost
 12077.000  a       state LOST
 15000.000  -       s1 mend
 15002.228  a       engine connected to s1
 15002.228  a       state CONNECTED
 16000.000  a       release m1
 16000.000  a       m1 RELEASED HF_ELOST
 16000.000  a       m1 DONE
 17000.000  b       release m2
 17001.380  b       server removes ticket 0000000001 from one
 17002.380  b       m2 RELEASED HF_OK
 17002.380  b       m2 DONE
 21965.000  a       server session expires
 21965.000  a       server session expires
 30000.000  -       end, tickets left: 0, nodes: 1, watches: 0
