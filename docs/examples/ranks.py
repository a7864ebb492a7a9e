# needs: mpi
import numpy as np
from mpi4py import MPI

from ropewalk import FriendsOfFriends

comm = MPI.COMM_WORLD
X = np.random.default_rng(7).uniform(0.0, 1.0, (4000, 3))
own = np.array_split(X, comm.Get_size())[comm.Get_rank()]
found = FriendsOfFriends(0.04, min_members=10, box_size=1.0, n_jobs=1).fit(own, comm=comm)
labels = comm.gather(found.labels_)
if comm.Get_rank() == 0:
    print(len(np.concatenate(labels)), "labels of", found.groups_.n_all, "groups")
