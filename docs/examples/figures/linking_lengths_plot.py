import matplotlib.pyplot as plt
import numpy as np

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for b in ("0.1", "0.15", "0.2"):
    with open(f"runs/b{b}/mass_function.ecsv") as file:
        rows = np.genfromtxt([line for line in file if not line.startswith("#")], delimiter=",", names=True)
    some = rows["count"] > 0
    errors = [rows[f"n_above_error_{side}"][some] for side in ("lower", "upper")]
    ax.errorbar(rows["mass_min"][some], rows["n_above"][some], errors, fmt="o-", markersize=3, label=f"b = {b}")
ax.set(xscale="log", yscale="log", xlabel="mass [1e10 Msun/h]", ylabel="n(≥M) [(Mpc/h)$^{-3}$]")
ax.legend(frameon=False)
fig.savefig("linking_lengths.png", dpi=110)
