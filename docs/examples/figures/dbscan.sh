python moons.py
ropewalk dbscan moons.csv --eps 0.2 --min-samples 5 --plot clusters.png
