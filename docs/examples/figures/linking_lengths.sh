ropewalk halos p3m_64.gadget2 --out runs --linking-lengths 0.1,0.15,0.2
python linking_lengths_plot.py
