import ropewalk

snapshot = ropewalk.read_snapshot("p3m_64.gadget2")
catalog = ropewalk.halos(snapshot, overdensities="200c", units="physical")
print(catalog.units["sod_halo_m200c"], catalog.units["sod_halo_r200c"])
print(catalog.descriptions["sod_halo_r200c"])
print(catalog.meta["units"])
