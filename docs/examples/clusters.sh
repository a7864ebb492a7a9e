python moons.py
ropewalk kdist moons.csv --k 4
ropewalk dbscan moons.csv --eps 0.2 --min-samples 5 --out labels.npy --plot clusters.png
ropewalk hdbscan moons.csv --min-cluster-size 25 --min-samples 10 \
    --out labels.csv --tree tree.svg
