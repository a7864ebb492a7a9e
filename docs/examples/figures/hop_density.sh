ropewalk halos p3m_64.gadget2 --out halos --finder hop --delta-outer 160 --density --no-pictures
ropewalk convert p3m_64.gadget2 positions.npy
python hop_density_plot.py
