# Three of one client share a ticket: it passes from one to the next without a
# message, and b, which came in between, waits for the ticket.  Somebody asks
# for it: the one that holds hears, and then it is b's turn.
world timeout=3000 clients=2
     0      a  want shared one
    10      a  want shared one
    20      b  want mutex one
    30      a  want shared one
    35      a  want shared one try
    50      a  release c1
    60      a  want shared one
    70      b  ask c2
   100      a  release c2
   150      b  release m3
   200      a  release c4
   250      a  release c6
   300      -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  a       want c1
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
     3.000  a       server adds ticket 1 to one
     4.000  a       c1 GRANTED token=3 safe-until=3970
    10.000  a       want c2
    20.000  b       want m3
    21.000  b       server adds ticket 2 to one
    22.000  b       m3 WAITING ahead=1 holder=a/c1
    30.000  a       want c4
    35.000  a       want c5
    35.000  a       c5 ENDED HF_EBUSY
    35.000  a       c5 DONE
    50.000  a       release c1
    50.000  a       c2 GRANTED token=3 safe-until=3970
    50.000  a       c1 RELEASED HF_OK
    50.000  a       c1 DONE
    60.000  a       want c6
    70.000  b       ask c2 to let go
    72.000  a       c2 REVOKED
    72.000  b       ask ANSWERED HF_OK found
   100.000  a       release c2
   101.000  a       server removes ticket 1 from one
   101.000  a       server adds ticket 3 to one
   102.000  b       m3 GRANTED token=4 safe-until=3970
   102.000  a       c2 RELEASED HF_OK
   102.000  a       c2 DONE
   150.000  b       release m3
   151.000  b       server removes ticket 2 from one
   152.000  a       c4 GRANTED token=7 safe-until=3970
   152.000  b       m3 RELEASED HF_OK
   152.000  b       m3 DONE
   200.000  a       release c4
   200.000  a       c6 GRANTED token=7 safe-until=3970
   200.000  a       c4 RELEASED HF_OK
   200.000  a       c4 DONE
   250.000  a       release c6
   251.000  a       server removes ticket 3 from one
   252.000  a       c6 RELEASED HF_OK
   252.000  a       c6 DONE
   300.000  -       end, tickets left: 0
