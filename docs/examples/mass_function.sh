ropewalk halos p3m_64.gadget2 --out halos --units h \
    --center mbp --so 200c,200m --profiles 10
