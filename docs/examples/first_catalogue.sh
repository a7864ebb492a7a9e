ropewalk info p3m_64.gadget2
ropewalk halos p3m_64.gadget2 --out halos
