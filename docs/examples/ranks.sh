# needs: mpi
mpirun -n 4 ropewalk halos p3m_64.gadget2 --out halos --center mbp --so 200c --mpi
mpirun -n 4 python -m mpi4py ranks.py
