ropewalk halos p3m_64.gadget2 --out halos --center com,mcp --so 200c --gallery 6 --dpi 100
