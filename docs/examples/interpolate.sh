ropewalk sample uniform:n=2000,seed=1,box=10 --out sources.npy
ropewalk sample lattice:n=1000,box=10 --out targets.npy
python -c 'import numpy as np; np.save("values.npy", np.load("sources.npy")[:, 0])'
ropewalk interpolate sources.npy values.npy targets.npy \
    --degree 1 --out values_at_targets.npy
python -c 'import numpy as np; x = np.load("sources.npy"); np.savetxt("table.csv", np.c_[x, x[:, 0]], delimiter=",", header="x,y,z,rho", comments="")'
ropewalk interpolate table.csv --coordinates x,y --values-columns rho --degree 1 \
    --grid 40x40 --out grid.csv --plot rho.png
