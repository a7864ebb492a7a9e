import numpy as np

from ropewalk import MovingLeastSquares

random = np.random.default_rng(1)
stations = random.uniform(0, 10, (2000, 2))
temperature = 20 + 3 * np.sin(0.5 * stations[:, 0]) * np.cos(0.4 * stations[:, 1])
x, y = np.meshgrid(np.linspace(0, 10, 101), np.linspace(0, 10, 101), indexing="ij")
grid = np.stack([x.ravel(), y.ravel()], axis=1)
fit = MovingLeastSquares(degree=2, gradients=True).prepare(stations, grid)
values, gradient = fit.apply(temperature), fit.gradient(temperature)
error = values - (20 + 3 * np.sin(0.5 * grid[:, 0]) * np.cos(0.4 * grid[:, 1]))
print(values.reshape(x.shape).shape, gradient.shape, abs(error).max() < 0.1)
print(fit.n_lower, "targets of reduced degree,", fit.n_without_neighbors, "without neighbours")
