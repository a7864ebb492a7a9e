"""Opens the pages of `ropewalk halos --report` and `ropewalk dbscan --plot clusters.html` in headless Chromium.

    python tests/oracle/report.py PROGRAM SNAPSHOT [--points N] [--pictures FOLDER]

SNAPSHOT is a Gadget-2 file of one particle type. The pages are opened as files, at the widths of a desktop and of a phone, in both colour
schemes. Fails for errors in the console, requests, images that do not load, and pages that scroll sideways. The members that a selection
highlights must be those of labels.npy, and the table must sort and filter as NumPy does. Names with markup must stay text. With N points
(default: 2.1 million) the frames per second are printed; below 20, the page must say that it draws a part of the points.

Needs numpy, selenium and the programs chromium and chromedriver.
"""

import argparse
import contextlib
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.service import Service

#: The maximum number of points that a page shows.
MAX_SHOWN = 2_000_000
WINDOWS = {"desktop": (1280, 900, "light"), "dark": (1280, 900, "dark"), "phone": (390, 844, "dark")}
STATE = """
const broken = [...document.images].filter(i => !i.complete || i.naturalWidth == 0).map(i => i.alt);
const requests = performance.getEntriesByType("resource").map(e => e.name).filter(name => !name.startsWith("data:"));
const failure = document.getElementById("failure");
return {broken, requests, failure: failure.hidden ? "" : failure.textContent,
        wide: document.documentElement.scrollWidth - window.innerWidth, images: document.images.length};
"""
#: The steps of the points that the selection highlights.
MEMBERS = """
const {view, cloud} = globalThis.report;
const [from, to] = view.highlighted;
return Array.from(cloud.steps.subarray(4 * from, 4 * to));
"""
TURN = """
const done = arguments[arguments.length - 1];
const {view} = globalThis.report;
const begin = performance.now();
let frames = 0;
let isThinned = false;
const turn = () => {
  frames++;
  view.camera.drag(2, 0, 1);
  view.request(true);
  isThinned ||= !document.getElementById("thinned").hidden;
  const seconds = (performance.now() - begin) / 1000;
  seconds < 8 ? requestAnimationFrame(turn) : done({rate: frames / seconds, isThinned, note: document.getElementById("thinned").textContent});
};
requestAnimationFrame(turn);
"""


@contextlib.contextmanager
def opened(page, window="desktop"):
    """Opens a page, and waits for its points."""
    width, height, scheme = WINDOWS[window]
    options = webdriver.ChromeOptions()
    wanted = ["headless=new", "no-sandbox", "use-angle=swiftshader", "enable-unsafe-swiftshader", "disable-background-networking"]
    for option in wanted:
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        driver.get(Path(page).resolve().as_uri())
        end = time.monotonic() + 120
        ready = "return Boolean(globalThis.report) || !document.getElementById('failure').hidden"
        while not driver.execute_script(ready):
            assert time.monotonic() < end, f"{page}: not ready"
            time.sleep(0.1)
        yield driver
    finally:
        driver.quit()


def settled(driver):
    """Waits until the view rests."""
    time.sleep(0.3)
    end = time.monotonic() + 60
    while driver.execute_script("const {view} = report; return view.isMoving() || view.pending || view.stride > 1 || Boolean(view.flight)"):
        assert time.monotonic() < end, "the view does not rest"
        time.sleep(0.1)


def check_state(driver, what, pictures=None, images=0):
    """Fails if anything is wrong with an open page."""
    state = driver.execute_script(STATE)
    wrong = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not wrong and not state["failure"], f"{what}: {wrong} {state['failure']}"
    assert not state["broken"] and not state["requests"], f"{what}: {state}"
    assert state["wide"] <= 0, f"{what}: {state['wide']} pixels wider than the window"
    assert state["images"] >= images, f"{what}: {state['images']} images"
    if pictures:
        settled(driver)
        driver.save_screenshot(str(pictures / f"{what.replace(' ', '_')}.png"))


def positions(path):
    """Returns the positions in a Gadget-2 file of format 1, and the side of its box."""
    data = Path(path).read_bytes()
    n = int(np.frombuffer(data, "<u4", 6, 4).sum())
    [box] = np.frombuffer(data, "<f8", 1, 4 + 128)
    return np.frombuffer(data, "<f4", 3 * n, 8 + 256 + 4).reshape(n, 3).astype(float), box


def table(path):
    """Returns the columns of a catalogue."""
    lines = [line for line in Path(path).read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.reader(lines))
    return {name: np.array([float(row[k]) for row in rows[1:]]) for k, name in enumerate(rows[0])}


def quantized(points, lo, side):
    """Returns sorted coordinates in 65,536 steps of a box."""
    steps = np.minimum(np.floor((points - lo) / side * 65536), 65535).astype(int)
    return steps[np.lexsort(steps.T[::-1])]


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def highlighted(driver, row):
    """Selects a row, and returns the sorted steps of the points that are then highlighted."""
    driver.execute_script("report.select(arguments[0])", row)
    settled(driver)
    steps = np.array(driver.execute_script(MEMBERS)).reshape(-1, 4)[:, :3]
    return steps[np.lexsort(steps.T[::-1])]


def assert_members(driver, row, expected, points):
    """Checks that a selected row highlights these steps. A page of more points than it shows has a part of each row."""
    found = highlighted(driver, row)
    if points <= MAX_SHOWN:
        assert np.array_equal(found, expected), f"row {row}: other members"
        return
    others = Counter(map(tuple, found)) - Counter(map(tuple, expected))
    assert not others, f"row {row}: {others.total()} points are no members"
    assert len(found) >= 0.9 * MAX_SHOWN / points * len(expected), f"row {row}: {len(found)} of {len(expected)}"


def check_halos(program, snapshot, folder, pictures):
    """Compares the page of a run with its files."""
    run(program, "halos", snapshot, "--out", folder, "--report", "--profiles", 3, "--gallery", 3)
    points, box = positions(snapshot)
    labels, halos = np.load(folder / "labels.npy"), table(folder / "halos.ecsv")
    n = len(halos["fof_halo_tag"])
    with opened(folder / "report.html") as driver:
        check_state(driver, "halos", pictures, images=4)
        for row in (0, 1, 2, n // 2, n - 1):
            members = points[labels == halos["fof_halo_label"][row]] % box
            assert_members(driver, row, quantized(members, 0, box), len(points))
            shown = driver.find_element(By.ID, "selection").text
            for name in ("fof_halo_tag", "fof_halo_count"):
                assert f"{halos[name][row]:.0f}" in shown, f"row {row}: {shown}"
            marked = driver.find_elements(By.CSS_SELECTOR, "#body tr[aria-selected=true]")
            assert [each.get_attribute("data-row") for each in marked] == [str(row)]
        # The pointer over a halo, and a click on it.
        canvas = driver.find_element(By.ID, "points")
        for row in (0, 1, 2):
            driver.execute_script("report.select(null); report.view.flyTo(arguments[0])", row)
            settled(driver)
            ActionChains(driver).move_to_element(canvas).perform()
            time.sleep(1)
            tip = driver.find_element(By.ID, "tip").text
            assert tip.startswith(f"halo {row}, "), f"{row}: {tip}"
            ActionChains(driver).click().perform()
            assert driver.execute_script("return report.selected") == row
        if pictures:
            settled(driver)
            driver.save_screenshot(str(pictures / "selected.png"))
        # The keyboard: the next halo, and no halo.
        for key, row in (("n", 3), ("p", 2), (Keys.ESCAPE, None)):
            canvas.send_keys(key)
            assert driver.execute_script("return report.selected") == row, key
        before = driver.execute_script("return report.view.camera.yaw")
        canvas.send_keys(Keys.ARROW_LEFT)
        assert driver.execute_script("return report.view.camera.yaw") != before
        # A row of the table flies to its halo.
        driver.find_element(By.CSS_SELECTOR, "#body tr[data-row='5'] button").click()
        settled(driver)
        assert driver.execute_script("return report.selected") == 5
        place = driver.execute_script("const {view, cloud} = report; return view.project(cloud.world(cloud.place(5).at, view.origin))")
        size = driver.execute_script("const c = report.view.canvas; return [c.clientWidth, c.clientHeight]")
        assert np.allclose(place[:2], np.array(size) / 2, atol=1), f"{place} of {size}"
        check_table(driver, halos)
        for mode in ("xy", "xz", "yz", "3d"):
            driver.find_element(By.CSS_SELECTOR, f"[data-mode='{mode}']").click()
            check_state(driver, f"halos {mode}", pictures)
    for window in ("dark", "phone"):
        with opened(folder / "report.html", window) as driver:
            check_state(driver, f"halos {window}", pictures, images=4)
            if pictures:
                for part in ("catalogue", "figures", "run"):
                    driver.execute_script("document.getElementById(arguments[0]).scrollIntoView()", part)
                    check_state(driver, f"halos {window} {part}", pictures)


def check_table(driver, halos):
    """Sorts and filters the table, as NumPy does."""
    order = "return Array.from(report.table.order)"
    names = list(halos)
    for name in ("fof_halo_mean_x", "fof_halo_mass"):
        head = driver.find_elements(By.CSS_SELECTOR, "#head th")[1 + names.index(name)]
        button = head.find_element(By.TAG_NAME, "button")
        for sign, sort in ((-1, "descending"), (1, "ascending")):
            button.click()
            assert head.get_attribute("aria-sort") == sort
            assert driver.execute_script(order) == np.argsort(sign * halos[name], kind="stable").tolist(), f"{name}, {sort}"
    unit = driver.find_element(By.CSS_SELECTOR, f"#head th:nth-child({2 + names.index('fof_halo_mean_x')}) .unit")
    assert "Mpc" in unit.text
    field = driver.find_element(By.ID, "filter")
    field.send_keys("count >= 100, mean_x < 10")
    expected = np.flatnonzero((halos["fof_halo_count"] >= 100) & (halos["fof_halo_mean_x"] < 10))
    assert sorted(driver.execute_script(order)) == expected.tolist()
    field.send_keys(", nothing > 1")
    assert "nothing" in driver.find_element(By.ID, "filter-error").text
    field.clear()
    field.send_keys("0" + Keys.BACKSPACE)
    assert len(driver.execute_script(order)) == len(halos["fof_halo_count"])


def check_subhalos(program, snapshot, folder):
    """Members of a halo include those of all structures in it."""
    run(program, "halos", snapshot, "--out", folder, "--finder", "adaptahop", "--report", "--no-pictures")
    points, box = positions(snapshot)
    labels, halos = np.load(folder / "labels.npy"), table(folder / "halos.ecsv")
    parents = dict(zip(halos["halo_label"].astype(int), halos["halo_parent"].astype(int)))

    def within(label, outer):
        while label >= 0 and label != outer:
            label = parents[label]
        return label == outer

    with opened(folder / "report.html") as driver:
        check_state(driver, "subhalos")
        nested = np.flatnonzero(halos["halo_n_children"] > 0)[:3].tolist() + np.flatnonzero(halos["halo_level"] > 1)[:2].tolist()
        assert nested
        for row in nested:
            outer = int(halos["halo_label"][row])
            members = [label for label in parents if within(label, outer)]
            expected = quantized(points[np.isin(labels, members)] % box, 0, box)
            assert len(expected) == halos["halo_count"][row]
            assert_members(driver, row, expected, len(points))


def check_clusters(program, folder, pictures):
    """Clusters in two and in five dimensions, from a table whose names hold markup."""
    attack = "<img src=x onerror=alert(1)>"
    rng = np.random.default_rng(5)
    for dim in (2, 5):
        points = np.concatenate([rng.normal(center, 0.2, (500, dim)) for center in (0, 2, 5)] + [rng.uniform(-2, 7, (100, dim))])
        names = [f"{attack}{k}" for k in range(dim)]
        file = folder / f"</script><b>{dim}.csv".replace("/", "_")
        with open(file, "w", newline="") as out:
            csv.writer(out).writerows([names, *points.tolist()])
        finders = {"dbscan": ["--eps", 0.3 if dim == 2 else 0.6, "--min-samples", 5], "hdbscan": ["--min-cluster-size", 50]}
        for finder, options in finders.items():
            page, labels_file = folder / f"{finder}{dim}.html", folder / f"{finder}{dim}.npy"
            run(program, finder, file, *options, "--plot", page, "--out", labels_file)
            labels = np.load(labels_file)
            assert labels.max() >= 2
            with opened(page) as driver:
                check_state(driver, f"{finder} {dim}", pictures, images=1 if finder == "hdbscan" else 0)
                added = "return document.querySelectorAll('img[src=x], b, [onerror]').length"
                assert driver.execute_script(added) == 0
                assert f"mean_{attack}0" in driver.find_element(By.ID, "head").text
                cloud = driver.execute_script("const {lo, sides} = report.cloud; return {lo, sides}")
                axes = len(cloud["lo"])
                for row in range(labels.max() + 1):
                    expected = quantized(points[labels == row][:, :axes], np.array(cloud["lo"]), np.array(cloud["sides"]))
                    found = highlighted(driver, row)[:, :axes]
                    # Rounding may move a coordinate to the next step.
                    assert found.shape == expected.shape and np.abs(found.mean(0) - expected.mean(0)).max() < 0.5, f"{finder} {dim}, {row}"
                    assert str((labels == row).sum()) in driver.find_element(By.ID, "selection").text
    print("clusters: dbscan and hdbscan, 2 and 5 dimensions")


def check_many(program, points, folder, pictures):
    """Writes and opens the page of a large snapshot; prints sizes, times and frames per second."""
    snapshot = folder / "many.gadget2"
    run(program, "sample", f"halos:n={points}", "--format", "gadget", "--out", snapshot)
    run(program, "halos", snapshot, "--out", folder / "out", "--report", "--no-pictures")
    seconds = json.loads((folder / "out/summary.json").read_text())["seconds"]["report"]
    page = folder / "out/report.html"
    labels, halos = np.load(folder / "out/labels.npy"), table(folder / "out/halos.ecsv")
    begin = time.monotonic()
    with opened(page) as driver:
        opening = time.monotonic() - begin
        check_state(driver, "many", pictures)
        shown = driver.execute_script("return report.cloud.ranges.map(([from, to]) => to - from)")
        counts, n = halos["fof_halo_count"], len(labels)
        total = driver.execute_script("return report.cloud.shown")
        text = driver.find_element(By.ID, "count").text
        if n > 2_000_000:
            assert total <= 2_000_000 and f"showing {total:,} of {n:,} particles" in text, text
            expected = np.maximum(np.minimum(counts, 16), counts * total / n)
            assert np.all(np.abs(np.array(shown) - expected) <= 20 + 0.02 * counts), "other shares of halos"
        else:
            assert total == n and shown == counts.tolist()
        driver.set_script_timeout(120)
        turned = driver.execute_async_script(TURN)
        print(
            f"{n:,} particles: the page has {page.stat().st_size / 1e6:.1f} MB, was written in {seconds:.2f} s and opened in {opening:.1f} s; "
            f"{turned['rate']:.1f} frames per second" + (f", {turned['note']}" if turned["isThinned"] else "")
        )
        assert turned["rate"] >= 20 or turned["isThinned"], "slow, and not thinned"
        settled(driver)
        assert driver.execute_script("return report.view.stride") == 1
        check_state(driver, "many turned", pictures)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("--points", type=float, default=2.1e6)
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        check_halos(args.program, args.snapshot, folder / "halos", args.pictures)
        print("halos: selection, pointer, keyboard and table")
        check_subhalos(args.program, args.snapshot, folder / "subhalos")
        print("subhalos: members of nested structures")
        check_clusters(args.program, folder, args.pictures)
        check_many(args.program, args.points, folder, args.pictures)


if __name__ == "__main__":
    sys.exit(main())
