import numpy as np

import ropewalk

snapshot = ropewalk.read_snapshot("p3m_64.gadget2")
masses = ["200c", "200m"]
catalog = ropewalk.halos(snapshot, units="h", center="mbp", overdensities=masses, profiles=10)
edges = np.geomspace(3e11, 2e14, 10)
found, _ = np.histogram(catalog["fof_halo_mass"], edges)
above = ropewalk.halos_above(edges, "warren2006", omega_m=0.31, h=0.68, sigma_8=0.82)
expected = -np.diff(above) * catalog.volume
for low, n, mean in zip(edges, found, expected, strict=False):
    print(f"from {low:.1e} Msun/h: {n} halos, {mean:.1f} expected")
