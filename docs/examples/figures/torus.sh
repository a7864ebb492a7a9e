python torus.py
ropewalk raycast torus.obj --out torus.png --size 900,600 --elevation 35
