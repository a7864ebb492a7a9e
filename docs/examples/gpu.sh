# needs: cuda
ropewalk halos p3m_64.gadget2 --out halos --center mbp --device cuda
ropewalk sample halos:n=1e6,seed=1 --out m.npy
ropewalk dbscan m.npy --eps 0.002 --min-samples 10 --device cuda --out labels.npy
