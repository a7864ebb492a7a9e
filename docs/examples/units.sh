ropewalk info p3m_64.gadget2
ropewalk halos p3m_64.gadget2 --out physical --so 200c --units physical --no-pictures
ropewalk halos p3m_64.gadget2 --out given --length-unit Mpc/h \
    --mass-unit '1e10 Msun/h' --no-pictures
