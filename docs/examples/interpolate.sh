ropewalk sample uniform:n=2000,seed=1,box=10 --out sources.npy
ropewalk sample lattice:n=1000,box=10 --out targets.npy
python -c 'import numpy as np; np.save("values.npy", np.load("sources.npy")[:, 0])'
ropewalk interpolate sources.npy values.npy targets.npy \
    --degree 1 --out values_at_targets.npy
