python moons.py
ropewalk emst moons.csv --out edges.npy --weights lengths.npy
python spanning_tree_plot.py
