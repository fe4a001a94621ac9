# A ticket is handed on sixteen times; then b, which has waited all the while,
# is let in, and whoever is left of a's takes another ticket behind it.
world timeout=30000 clients=2
     0      a  want shared one
     1      b  want mutex one
     3      a  want shared one
     4      a  want shared one
     5      a  want shared one
     6      a  want shared one
     7      a  want shared one
     8      a  want shared one
     9      a  want shared one
    10      a  want shared one
    11      a  want shared one
    12      a  want shared one
    13      a  want shared one
    14      a  want shared one
    15      a  want shared one
    16      a  want shared one
    17      a  want shared one
    18      a  want shared one
    19      a  want shared one
    20      a  want shared one
    50      a  release c1
    53      a  release c3
    54      a  release c4
    55      a  release c5
    56      a  release c6
    57      a  release c7
    58      a  release c8
    59      a  release c9
    60      a  release c10
    61      a  release c11
    62      a  release c12
    63      a  release c13
    64      a  release c14
    65      a  release c15
    66      a  release c16
    67      a  release c17
    68      a  release c18
   100      b  release m2
   150      a  release c19
   160      a  release c20
   200      -  end
expect
     0.000  a       open
     0.000  b       open
     0.000  a       want c1
     1.000  b       want m2
     2.000  a       engine connected
     2.000  a       state CONNECTED
     2.000  b       engine connected
     2.000  b       state CONNECTED
     3.000  a       want c3
     3.000  a       server adds ticket 1 to one
     3.000  b       server adds ticket 2 to one
     4.000  a       want c4
     4.000  a       c1 GRANTED token=3 safe-until=30700
     4.000  b       m2 WAITING ahead=1 holder=a/c1
     5.000  a       want c5
     6.000  a       want c6
     7.000  a       want c7
     8.000  a       want c8
     9.000  a       want c9
    10.000  a       want c10
    11.000  a       want c11
    12.000  a       want c12
    13.000  a       want c13
    14.000  a       want c14
    15.000  a       want c15
    16.000  a       want c16
    17.000  a       want c17
    18.000  a       want c18
    19.000  a       want c19
    20.000  a       want c20
    50.000  a       release c1
    50.000  a       c3 GRANTED token=3 safe-until=30700
    50.000  a       c1 RELEASED HF_OK
    50.000  a       c1 DONE
    53.000  a       release c3
    53.000  a       c4 GRANTED token=3 safe-until=30700
    53.000  a       c3 RELEASED HF_OK
    53.000  a       c3 DONE
    54.000  a       release c4
    54.000  a       c5 GRANTED token=3 safe-until=30700
    54.000  a       c4 RELEASED HF_OK
    54.000  a       c4 DONE
    55.000  a       release c5
    55.000  a       c6 GRANTED token=3 safe-until=30700
    55.000  a       c5 RELEASED HF_OK
    55.000  a       c5 DONE
    56.000  a       release c6
    56.000  a       c7 GRANTED token=3 safe-until=30700
    56.000  a       c6 RELEASED HF_OK
    56.000  a       c6 DONE
    57.000  a       release c7
    57.000  a       c8 GRANTED token=3 safe-until=30700
    57.000  a       c7 RELEASED HF_OK
    57.000  a       c7 DONE
    58.000  a       release c8
    58.000  a       c9 GRANTED token=3 safe-until=30700
    58.000  a       c8 RELEASED HF_OK
    58.000  a       c8 DONE
    59.000  a       release c9
    59.000  a       c10 GRANTED token=3 safe-until=30700
    59.000  a       c9 RELEASED HF_OK
    59.000  a       c9 DONE
    60.000  a       release c10
    60.000  a       c11 GRANTED token=3 safe-until=30700
    60.000  a       c10 RELEASED HF_OK
    60.000  a       c10 DONE
    61.000  a       release c11
    61.000  a       c12 GRANTED token=3 safe-until=30700
    61.000  a       c11 RELEASED HF_OK
    61.000  a       c11 DONE
    62.000  a       release c12
    62.000  a       c13 GRANTED token=3 safe-until=30700
    62.000  a       c12 RELEASED HF_OK
    62.000  a       c12 DONE
    63.000  a       release c13
    63.000  a       c14 GRANTED token=3 safe-until=30700
    63.000  a       c13 RELEASED HF_OK
    63.000  a       c13 DONE
    64.000  a       release c14
    64.000  a       c15 GRANTED token=3 safe-until=30700
    64.000  a       c14 RELEASED HF_OK
    64.000  a       c14 DONE
    65.000  a       release c15
    65.000  a       c16 GRANTED token=3 safe-until=30700
    65.000  a       c15 RELEASED HF_OK
    65.000  a       c15 DONE
    66.000  a       release c16
    66.000  a       c17 GRANTED token=3 safe-until=30700
    66.000  a       c16 RELEASED HF_OK
    66.000  a       c16 DONE
    67.000  a       release c17
    67.000  a       c18 GRANTED token=3 safe-until=30700
    67.000  a       c17 RELEASED HF_OK
    67.000  a       c17 DONE
    68.000  a       release c18
    69.000  a       server removes ticket 1 from one
    69.000  a       server adds ticket 3 to one
    70.000  b       m2 GRANTED token=4 safe-until=30700
    70.000  a       c18 RELEASED HF_OK
    70.000  a       c18 DONE
   100.000  b       release m2
   101.000  b       server removes ticket 2 from one
   102.000  a       c19 GRANTED token=6 safe-until=30700
   102.000  b       m2 RELEASED HF_OK
   102.000  b       m2 DONE
   150.000  a       release c19
   150.000  a       c20 GRANTED token=6 safe-until=30700
   150.000  a       c19 RELEASED HF_OK
   150.000  a       c19 DONE
   160.000  a       release c20
   161.000  a       server removes ticket 3 from one
   162.000  a       c20 RELEASED HF_OK
   162.000  a       c20 DONE
   200.000  -       end, tickets left: 0
