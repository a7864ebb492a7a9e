import numpy as np

import ropewalk

snapshot = ropewalk.read_snapshot("p3m_64.gadget2")
catalog = ropewalk.halos(snapshot, center="mbp")
members = catalog.members(0)
center = [catalog[f"fof_halo_center_{axis}"][0] for axis in "xyz"]
offset = snapshot.positions[members] - center
offset -= snapshot.box_size * np.round(offset / snapshot.box_size)
print(len(members), "members within", np.linalg.norm(offset, axis=1).max().round(2))
catalog.write("halos.hdf5")
