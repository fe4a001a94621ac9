# The leader is cut off from the others, who elect another.  It gives every
# session its whole time again: the holder and the waiter keep their tickets, and
# the grant is proven again in time.
world servers=3 timeout=10000 clients=2 limit=2
   10    a  only s1
   10    b  only s2
   20    a  break
   20    b  break
 1000    a  want mutex one
 1500    b  want mutex one
 5000    s3 cut
20000    s3 mend
25000    a  release m1
26000    b  release m2
30000    -  end
expect
     0.000  a       open
     0.000  b       open
     5.036  a       engine connected to s1
     5.036  a       state CONNECTED
     5.245  b       engine connected to s1
     5.245  b       state CONNECTED
    20.000  a       link breaks
    20.000  b       link breaks
    21.000  a       engine suspended
    21.000  a       state SUSPENDED
    21.000  b       engine suspended
    21.000  b       state SUSPENDED
    27.515  b       engine resumed to s2
    27.515  b       state CONNECTED
    71.308  a       engine resumed to s1
    71.308  a       state CONNECTED
  1000.000  a       want m1
  1004.075  a       server adds ticket 0 to one
  1005.411  a       m1 GRANTED token=4294967301 safe-until=10969
  1500.000  b       want m2
  1501.486  b       server adds ticket 1 to one
  1504.825  b       m2 WAITING ahead=1 holder=a/m1
  5000.000  -       s3 cut off
  8000.206  -       s2 hears nothing of its leader
  8000.442  -       s1 hears nothing of its leader
  8001.206  b       engine suspended
  8001.206  b       state SUSPENDED
  8001.442  a       engine suspended
  8001.442  a       state SUSPENDED
  8224.130  -       s2 leads
  8224.130  -       s1 follows s2
  8262.000  b       engine resumed to s2
  8262.000  b       state CONNECTED
  8264.000  b       m2 WAITING ahead=1 holder=a/m1
  8306.488  a       engine resumed to s1
  8306.488  a       state CONNECTED
 10000.000  -       s3 has too few followers
 20000.000  -       s3 mend
 20455.480  -       s3 follows s2
 25000.000  a       release m1
 25001.408  a       server removes ticket 0000000000 from one
 25002.408  b       m2 GRANTED token=4294967302 safe-until=31662
 25002.703  a       m1 RELEASED HF_OK
 25002.703  a       m1 DONE
 26000.000  b       release m2
 26001.137  b       server removes ticket 0000000001 from one
 26002.137  b       m2 RELEASED HF_OK
 26002.137  b       m2 DONE
 30000.000  -       end, tickets left: 0, nodes: 1, watches: 0
