import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

points = np.loadtxt("moons.csv", delimiter=",", skiprows=1)
edges, lengths = np.load("edges.npy"), np.load("lengths.npy")
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
drawn = ax.add_collection(LineCollection(points[edges], array=np.log10(lengths), cmap="cividis"))
ax.autoscale()
ax.set_aspect("equal")
fig.colorbar(drawn, label="log10 of the length")
fig.savefig("spanning_tree.png", dpi=110)
