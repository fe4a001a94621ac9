# Somebody removes the queue's node whenever it is made.  It is made in one write
# with the ticket, so nothing comes between the two: one more round trip will do.
world servers=1 timeout=6000 clients=1 delay=500
  100    a  want mutex one 5000
  101.0  -  delete one
  101.5  -  delete one
  102.0  -  delete one
  102.5  -  delete one
  103.0  -  delete one
  103.5  -  delete one
  104.0  -  delete one
  104.5  -  delete one
  105.0  -  delete one
  105.5  -  delete one
  106.0  -  delete one
  106.5  -  delete one
  107.0  -  delete one
  107.5  -  delete one
  108.0  -  delete one
  108.5  -  delete one
  109.0  -  delete one
  109.5  -  delete one
  110.0  -  delete one
  110.5  -  delete one
  111.0  -  delete one
  111.5  -  delete one
  112.0  -  delete one
  112.5  -  delete one
  113.0  -  delete one
  113.5  -  delete one
  114.0  -  delete one
  114.5  -  delete one
  115.0  -  delete one
  115.5  -  delete one
  116.0  -  delete one
  116.5  -  delete one
  117.0  -  delete one
  117.5  -  delete one
  118.0  -  delete one
  118.5  -  delete one
  119.0  -  delete one
  119.5  -  delete one
  120.0  -  delete one
  120.5  -  delete one
  121.0  -  delete one
  121.5  -  delete one
  122.0  -  delete one
  122.5  -  delete one
  123.0  -  delete one
  123.5  -  delete one
  124.0  -  delete one
  124.5  -  delete one
  125.0  -  delete one
  125.5  -  delete one
  126.0  -  delete one
  126.5  -  delete one
  127.0  -  delete one
  127.5  -  delete one
  128.0  -  delete one
  128.5  -  delete one
  129.0  -  delete one
  129.5  -  delete one
  130.0  -  delete one
  130.5  -  delete one
  500    a  release m1
 1000    -  end
expect
     0.000  a       open
     2.000  a       engine connected to s1
     2.000  a       state CONNECTED
   100.000  a       want m1
   101.000  other   delete one
   101.500  other   delete one
   101.500  a       server adds ticket 0 to one
   102.000  other   delete one
   102.000  a       m1 GRANTED token=4294967302 safe-until=6941
   102.500  other   delete one
   103.000  other   delete one
   103.500  other   delete one
   104.000  other   delete one
   104.500  other   delete one
   105.000  other   delete one
   105.500  other   delete one
   106.000  other   delete one
   106.500  other   delete one
   107.000  other   delete one
   107.500  other   delete one
   108.000  other   delete one
   108.500  other   delete one
   109.000  other   delete one
   109.500  other   delete one
   110.000  other   delete one
   110.500  other   delete one
   111.000  other   delete one
   111.500  other   delete one
   112.000  other   delete one
   112.500  other   delete one
   113.000  other   delete one
   113.500  other   delete one
   114.000  other   delete one
   114.500  other   delete one
   115.000  other   delete one
   115.500  other   delete one
   116.000  other   delete one
   116.500  other   delete one
   117.000  other   delete one
   117.500  other   delete one
   118.000  other   delete one
   118.500  other   delete one
   119.000  other   delete one
   119.500  other   delete one
   120.000  other   delete one
   120.500  other   delete one
   121.000  other   delete one
   121.500  other   delete one
   122.000  other   delete one
   122.500  other   delete one
   123.000  other   delete one
   123.500  other   delete one
   124.000  other   delete one
   124.500  other   delete one
   125.000  other   delete one
   125.500  other   delete one
   126.000  other   delete one
   126.500  other   delete one
   127.000  other   delete one
   127.500  other   delete one
   128.000  other   delete one
   128.500  other   delete one
   129.000  other   delete one
   129.500  other   delete one
   130.000  other   delete one
   130.500  other   delete one
   500.000  a       release m1
   500.500  a       server removes ticket 0000000000 from one
   501.000  a       m1 RELEASED HF_OK
   501.000  a       m1 DONE
  1000.000  -       end, tickets left: 0, nodes: 1, watches: 0
