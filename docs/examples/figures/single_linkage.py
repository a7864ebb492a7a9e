import matplotlib.pyplot as plt

import ropewalk

points = ropewalk.sample.mock_halos(2000, seed=1)
ax = ropewalk.plot.dendrogram(ropewalk.linkage(points), most=40)
plt.savefig("single_linkage.png", dpi=110)
