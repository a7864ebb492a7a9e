python moons.py
ropewalk kdist moons.csv --k 4 --plot kdist.png
