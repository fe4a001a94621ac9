# Nobody else is there: the grant takes one trip to the engine and back.
world clients=1
  10  a  want mutex one
  20  a  release m1
 100  -  end
expect
     0.000  a       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    12.000  a       m1 GRANTED token=2 safe-until=10900
    20.000  a       release m1
    21.000  a       server removes ticket 1 from one
    22.000  a       m1 RELEASED HF_OK
    22.000  a       m1 DONE
   100.000  -       end, tickets left: 0
