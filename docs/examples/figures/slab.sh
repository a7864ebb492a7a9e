ropewalk halos p3m_64.gadget2 --out halos --slab z:24..32 --dpi 100
