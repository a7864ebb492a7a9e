#!/usr/bin/env python3
"""Opens the figures of `ropewalk halos` with other programs: PDF with pdfium, SVG with cairo, PNG with Pillow.

    python3 tests/oracle/pictures.py target/release/ropewalk data/p3m_64.gadget2

Each figure must have the same size in inches in all three formats and, drawn with the same number of pixels, look the same. A PDF
has one page, an embedded font, and its title as text. Axis labels in one row or column of a PDF must not overlap. The table of the
mass function must agree with the catalogue. The same holds for a table of three points, and for one without halos. Needs numpy,
pandas, cairosvg, pillow and pypdfium2.
"""

import io
import subprocess
import sys
import tempfile
from pathlib import Path

import cairosvg
import numpy as np
import pandas
import scipy.stats
import pypdfium2
from PIL import Image

DPI = 80
WORDS = {
    "mass_function": ["Halo mass function", "Poisson", "dn / d ln M"],
    "projection": ["particles", "halos", "rows of the catalogue"],
    "dendrogram": ["Halo and subhalos by density"],
    "profiles": ["Density profiles of the largest halos", "χ²"],
    "gallery": ["seen along z", "most bound particle"],
}


def run(program, snapshot, out, *options):
    subprocess.run([program, "halos", snapshot, "--out", out, *options], check=True, stdout=subprocess.DEVNULL)


def drawn_pdf(path):
    """Returns the page in pixels, its text, and the boxes of the words on it."""
    document = pypdfium2.PdfDocument(path)
    assert len(document) == 1, path
    page = document[0]
    text = page.get_textpage()
    boxes = [text.get_rect(i) for i in range(text.count_rects())]
    return page.render(scale=DPI / 72).to_pil().convert("RGB"), text.get_text_bounded(), boxes, page.get_size()


def compare(folder, name, words):
    png = Image.open(folder / "png" / f"{name}.png").convert("RGB")
    svg = folder / "svg" / f"{name}.svg"
    page, text, boxes, size = drawn_pdf(folder / "pdf" / f"{name}.pdf")
    for word in words:
        assert word in text, (name, word, text)
    inches = [png.width / DPI, png.height / DPI]
    assert np.allclose(np.array(size) / 72, inches, atol=1.5 / DPI), (name, size, inches)
    vector = Image.open(io.BytesIO(cairosvg.svg2png(url=str(svg), output_width=png.width, output_height=png.height)))
    for what, other in [("pdf", page), ("svg", vector.convert("RGB"))]:
        # Letters and edges may be displaced by a pixel.
        small = [np.asarray(image.resize((160, 160), Image.Resampling.BOX), float) for image in [png, other]]
        off = np.abs(small[0] - small[1])
        assert off.mean() < 4 and np.mean(off > 80) < 0.01, (name, what, off.mean(), np.mean(off > 80))
    # Words must not overlap, except for words with an outline, which are written several times.
    boxes = [box for box in boxes if box[2] > box[0] and box[3] > box[1]]
    if name != "projection":
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                across, up = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
                assert across < 0.5 or up < 0.5, (name, a, b)
    return len(boxes)


def compare_all(program, snapshot, folder, names, *options):
    for form in ["png", "svg", "pdf"]:
        run(program, snapshot, folder / form, "--format", form, *options, *(["--dpi", str(DPI)] if form == "png" else []))
    for name in names:
        words = WORDS[name] if len(names) == len(WORDS) else []
        print(f"{snapshot.name}, {name}: {compare(folder, name, words)} words, three formats: alike")
    check_table(folder / "pdf")


def check_table(folder):
    table = pandas.read_csv(folder / "mass_function.ecsv", comment="#")
    halos = pandas.read_csv(folder / "halos.ecsv", comment="#")
    mass = halos.get("halo_mass", halos.get("fof_halo_mass"))
    if "halo_parent" in halos:
        mass = mass[halos.halo_parent < 0]
    assert table["count"].sum() == len(mass)
    for row in table.itertuples():
        above = np.sum(mass >= row.mass_min * (1 - 1e-8))
        assert row.count_above == above, row
        assert_limits(row.n_above_error_lower, row.n_above_error_upper, row.n_above, above)
        inside = np.sum((mass >= row.mass_min * (1 - 1e-8)) & (mass < row.mass_max * (1 - 1e-8)))
        assert row[table.columns.get_loc("count") + 1] == inside, row
        width = np.log(row.mass_max / row.mass_min)
        volume = above / row.n_above
        assert np.isclose(row.dn_dlnm * width * volume, inside, rtol=1e-6), row
        if inside > 0:
            assert_limits(row.dn_dlnm_error_lower, row.dn_dlnm_error_upper, row.dn_dlnm, inside)


def assert_limits(lower, upper, number, count):
    """Compares errors with the exact limits of Poisson's distribution, of which the program's are within 2%."""
    exact = [scipy.stats.gamma.ppf(share, count + more) for share, more in ((0.158655, 0), (0.841345, 1))]
    found = [(1 - lower / number) * count, (1 + upper / number) * count]
    assert np.allclose(found, exact, rtol=0.02), (count, found, exact)


def main():
    program, snapshot = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        options = ["--finder", "adaptahop", "--profiles", "7", "--gallery", "5"]
        compare_all(program, snapshot, folder / "all", list(WORDS), *options)
        table = folder / "three.csv"
        table.write_text("x,y,z\n1000.01,1,1\n1000.02,1,1.001\n1000.015,1.004,1\n")
        some = ["mass_function", "projection", "gallery"]
        compare_all(program, table, folder / "three", some, "--eps", "0.1", "--min-members", "2", "--gallery", "2")
        compare_all(program, table, folder / "none", some, "--eps", "0.1", "--gallery", "2")


main()
