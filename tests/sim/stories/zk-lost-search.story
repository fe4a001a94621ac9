# The answer to the create is lost, and then that to the search for its ticket:
# it is looked for again, and there is still one ticket.
world servers=3 timeout=6000 clients=1
  100    -  node one keep
  200    a  want mutex one
  200.5  a  cut in
  203    a  break
  204    a  mend
  209    a  cut in
  213    a  break
  214    a  mend
 2000    a  release m1
 9000    -  end
expect
     0.000  a       open
     4.755  a       engine connected to s1
     4.755  a       state CONNECTED
   100.000  other   node one keep
   200.000  a       want m1
   200.500  a       link cut in
   201.549  a       server adds ticket 1 to one
   203.000  a       link breaks
   204.000  a       link mended
   204.000  a       engine suspended
   204.000  a       state SUSPENDED
   208.437  a       engine resumed to s2
   208.437  a       state CONNECTED
   209.000  a       link cut in
   213.000  a       link breaks
   214.000  a       link mended
   214.000  a       engine suspended
   214.000  a       state SUSPENDED
   218.000  a       engine resumed to s3
   218.000  a       state CONNECTED
   222.000  a       m1 GRANTED token=4294967300 safe-until=6942
  2000.000  a       release m1
  2001.293  a       server removes ticket 0000000001 from one
  2002.293  a       m1 RELEASED HF_OK
  2002.293  a       m1 DONE
  9000.000  -       end, tickets left: 0, nodes: 2, watches: 0
