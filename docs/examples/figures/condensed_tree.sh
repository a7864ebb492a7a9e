python moons.py
ropewalk hdbscan moons.csv --min-cluster-size 25 --min-samples 10 --tree tree.svg
