import numpy as np

from ropewalk import Bvh, friends_of_friends

points = np.array([[0.1, 5.0, 5.0], [9.9, 5.0, 5.0], [0.3, 5.0, 5.0], [5.0, 5.0, 5.0]])
print(friends_of_friends(points, 0.4, box_size=10.0).labels)
print(friends_of_friends(points, 0.4).labels)
distances, indices = Bvh(points, box_size=10.0).nearest([10.2, 5.0, 5.0], 2)
print(indices, distances.round(3))
