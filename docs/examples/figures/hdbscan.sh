python moons.py
ropewalk hdbscan moons.csv --min-cluster-size 25 --min-samples 10 --plot clusters.png
