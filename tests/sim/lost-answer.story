# The answer to a create is lost, and the create takes effect late:
# docs/architecture.md tells it.
world servers=3 timeout=6000 clients=1 late=1000000 unmoved
  100    -  node one keep
  200    a  want mutex one
  200.5  a  cut out
  201    a  break
  202    a  mend
 9000    a  release m1
20000    -  end
expect
     0.000  a       open
     4.773  a       engine connected to s2
     4.773  a       state CONNECTED
   100.000  other   node one keep
   200.000  a       want m1
   200.500  a       link cut out
   201.000  a       link breaks
   202.000  a       engine suspended
   202.000  a       state SUSPENDED
   202.000  a       link mended
   206.405  a       engine resumed to s1
   206.405  a       state CONNECTED
   219.839  a       server adds ticket 1 to one
   221.024  a       m1 GRANTED token=4294967300 safe-until=7144
  3147.668  a       server adds ticket 2 to one
  6213.279  a       server removes ticket 0000000002 from one
  9000.000  a       release m1
  9001.305  a       server removes ticket 0000000001 from one
  9002.769  a       m1 RELEASED HF_OK
  9002.769  a       m1 DONE
 20000.000  -       end, tickets left: 0, nodes: 2, watches: 0
