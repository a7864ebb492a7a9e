import ropewalk

catalog = ropewalk.halos("p3m_64.gadget2", finder=ropewalk.AdaptaHOP(unbind=True))
label, parent = catalog["halo_label"], catalog["halo_parent"]
is_halo = parent == -1
print(is_halo.sum(), "halos,", (~is_halo).sum(), "subhalos")
largest = label[0]
inside = catalog["halo_host"] == largest
print("in the largest halo:", catalog["halo_count"][inside])
