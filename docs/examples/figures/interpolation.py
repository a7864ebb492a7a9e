import matplotlib.pyplot as plt
import numpy as np

from ropewalk import InverseDistance, MovingLeastSquares

random = np.random.default_rng(1)
stations = random.uniform(0, 10, (400, 2))
field = np.sin(stations[:, 0]) * np.cos(0.8 * stations[:, 1])
x, y = np.meshgrid(np.linspace(0, 10, 201), np.linspace(0, 10, 201), indexing="ij")
grid = np.stack([x.ravel(), y.ravel()], axis=1)
fits = {
    "inverse distances": InverseDistance(k=12).interpolate(stations, field, grid),
    "moving least squares": MovingLeastSquares(degree=2).interpolate(stations, field, grid),
}
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, (name, values) in zip(axes, fits.items(), strict=True):
    drawn = ax.pcolormesh(x, y, values.reshape(x.shape), vmin=-1.1, vmax=1.1, cmap="cividis", rasterized=True)
    ax.plot(*stations.T, ".", color="white", markersize=2)
    ax.set(title=name, aspect="equal")
fig.colorbar(drawn, ax=axes)
fig.savefig("interpolation.png", dpi=110)
