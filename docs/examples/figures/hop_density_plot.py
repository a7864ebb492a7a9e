import matplotlib.pyplot as plt
import numpy as np

x, density, labels = np.load("positions.npy"), np.load("halos/density.npy"), np.load("halos/labels.npy")
slab = x[:, 2] < 2
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained", sharey=True)
order = np.argsort(density[slab])
a, b, rho = x[slab][order, 0], x[slab][order, 1], density[slab][order]
drawn = left.scatter(a, b, c=np.log10(rho), s=0.5, cmap="cividis", rasterized=True)
fig.colorbar(drawn, ax=left, label="log10 of the density over its mean")
member = labels[slab] >= 0
right.scatter(x[slab][~member, 0], x[slab][~member, 1], s=0.2, c="0.8", rasterized=True)
right.scatter(x[slab][member, 0], x[slab][member, 1], s=0.5, c=labels[slab][member] % 20, cmap="tab20", rasterized=True)
for ax in (left, right):
    ax.set(aspect="equal", xlabel="x [Mpc/h, comoving]")
left.set_ylabel("y [Mpc/h, comoving]")
fig.savefig("hop_density.png", dpi=110)
