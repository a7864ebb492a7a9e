ropewalk halos p3m_64.gadget2 --out subhalos --finder adaptahop --unbind --members
