# The create took effect, its answer was lost with the link: the ticket is
# looked for and found, not made a second time.
world clients=1
  10    a  want mutex one
  11.5  a  break
 200    a  release m1
 400    -  end
expect
     0.000  a       open
     2.000  a       engine connected
     2.000  a       state CONNECTED
    10.000  a       want m1
    11.000  a       server adds ticket 1 to one
    11.500  a       link breaks
    11.500  a       engine suspended
    11.500  a       state SUSPENDED
    26.000  a       engine resumed
    26.000  a       state CONNECTED
    28.000  a       m1 GRANTED token=2 safe-until=10924
   200.000  a       release m1
   201.000  a       server removes ticket 1 from one
   202.000  a       m1 RELEASED HF_OK
   202.000  a       m1 DONE
   400.000  -       end, tickets left: 0
