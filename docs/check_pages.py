"""Opens every page of the built site in headless Chromium, at the widths of a desktop and of a phone.

    python docs/check_pages.py [SITE] [--pictures FOLDER]     # SITE: docs/_build/html

Fails for messages of the console that are errors, images that do not load, links within the site that lead nowhere, pages that scroll
sideways, and a search without results. With --pictures, a picture of each page at both widths is written. Needs selenium and the programs
chromium and chromedriver.
"""

import argparse
import functools
import http.server
import sys
import threading
import time
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WIDTHS = {"desktop": (1280, 900), "phone": (390, 844)}
#: Templates of the theme, and rustdoc's pages.
NOT_PAGES = ("_static/", "rust/")
STATE = """
const broken = [...document.images].filter(i => !i.complete || i.naturalWidth == 0).map(i => i.src);
const links = [...document.querySelectorAll('a[href]')].map(a => a.href);
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
return {broken, links, ids, wide: document.documentElement.scrollWidth - window.innerWidth};
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        pass


def browser(width, height):
    """Starts Chromium with a window of the given size, which it also has for pages (a phone is narrower than windows can be)."""
    options = webdriver.ChromeOptions()
    for option in ("headless=new", "no-sandbox", "disable-gpu", "disable-background-networking", "disable-component-update", "disable-sync"):
        options.add_argument(f"--{option}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    )
    return driver


def look(driver, site, root, pictures, name):
    """Yields what is wrong with the pages at one width; ids and links are added to `site` by page."""
    for path in sorted(root.rglob("*.html")):
        page = path.relative_to(root).as_posix()
        if page.startswith(NOT_PAGES):
            continue
        driver.get(urljoin(site["address"], page))
        state = driver.execute_script(STATE)
        for image in state["broken"]:
            yield f"{page}: image {image} does not load"
        for entry in driver.get_log("browser"):
            if entry["level"] == "SEVERE":
                yield f"{page}: {entry['message']}"
        if state["wide"] > 0:
            yield f"{page}: {state['wide']} pixels wider than the window"
        site["ids"][page] = set(state["ids"])
        site["links"][page] = state["links"]
        if pictures:
            driver.save_screenshot(pictures / f"{page.replace('/', '_')}-{name}.png")


def lost_links(site, root):
    """Yields the links within the site that lead nowhere."""
    for page, links in site["links"].items():
        for link in links:
            address, fragment = urldefrag(link)
            if not address.startswith(site["address"]):
                continue
            target = unquote(address.removeprefix(site["address"])).split("?")[0] or "index.html"
            if target.endswith("/"):
                target += "index.html"
            if not (root / target).is_file():
                yield f"{page}: {target} does not exist"
            elif fragment and target in site["ids"] and unquote(fragment) not in site["ids"][target]:
                yield f"{page}: {target} has no #{fragment}"


def search(driver, site):
    """Yields an error if a search has no results."""
    driver.get(urljoin(site["address"], "search.html?q=dbscan"))
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if driver.execute_script("return document.querySelectorAll('#search-results li').length"):
            return
        time.sleep(0.2)
    yield "search.html?q=dbscan: no results"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site", nargs="?", type=Path, default=Path(__file__).parent / "_build/html")
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    handler = functools.partial(Quiet, directory=str(args.site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = {"address": f"http://127.0.0.1:{server.server_port}/", "ids": {}, "links": {}}
    wrong = []
    for name, (width, height) in WIDTHS.items():
        driver = browser(width, height)
        wrong += [f"{name}: {what}" for what in look(driver, site, args.site, args.pictures, name)]
        if name == "desktop":
            wrong += search(driver, site)
        driver.quit()
    wrong += lost_links(site, args.site)
    print(f"{len(site['links'])} pages, {sum(map(len, site['links'].values()))} links")
    if not site["links"]:
        wrong.append("no pages")
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
