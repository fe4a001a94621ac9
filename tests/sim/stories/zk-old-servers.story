# Servers that know no containers answer so and close: the parent is persistent.
world servers=1 timeout=6000 clients=1 old
  100    a  want mutex one
  500    a  release m1
 8000    -  end
expect
     0.000  a       open
     4.000  a       engine connected to s1
     4.000  a       state CONNECTED
   100.000  a       want m1
   104.000  a       engine suspended
   104.000  a       state SUSPENDED
   146.000  a       engine resumed to s1
   146.000  a       state CONNECTED
   160.000  a       server adds ticket 0 to one
   161.000  a       m1 GRANTED token=4294967301 safe-until=7084
   500.000  a       release m1
   501.000  a       server removes ticket 0000000000 from one
   502.000  a       m1 RELEASED HF_OK
  6150.000  a       m1 DONE
  8000.000  -       end, tickets left: 0, nodes: 1, watches: 0
