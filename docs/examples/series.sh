ropewalk convert p3m_64.gadget2 snap_000.hdf5
ropewalk convert p3m_64.gadget2 snap_001.hdf5 --subsample 0.5
ropewalk halos snap_*.hdf5 --out run1 --no-pictures
ropewalk halos snap_*.hdf5 --out run1 --no-pictures
