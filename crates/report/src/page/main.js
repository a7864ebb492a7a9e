// Puts the parts of the page together.

/** The number of groups that are listed while none is selected. */
const LISTED = 10;

/** Shows what went wrong at the top of the page. */
function fail(sentence) {
  const failure = byId("failure");
  failure.textContent = failure.hidden ? sentence : `${failure.textContent}; ${sentence}`;
  failure.hidden = false;
}

/** Lists the values of the selected row, or the largest groups if none is selected. */
function showSelection(page, row) {
  const { names, cloud, table, view } = page;
  const panel = byId("selection");
  const dot = (of) => make("span", { class: "dot", "aria-hidden": "true", style: { background: cssColor(of) } });
  const size = (of) => cloud.range(of)[1] - cloud.range(of)[0];
  if (row === null) {
    const rows = [...cloud.ranges.keys()].sort((a, b) => size(b) - size(a) || a - b).slice(0, LISTED);
    const items = rows.map((of) => {
      const button = make("button", { type: "button", onclick: () => page.select(of, true) }, dot(of), `${names.group} ${of}`);
      button.append(make("span", { class: "size" }, grouped(size(of))));
      return make("li", {}, button);
    });
    const count = cloud.ranges.length;
    const title = count ? `${grouped(count)} ${names.group}${count === 1 ? "" : "s"}` : `No ${names.group}s`;
    panel.replaceChildren(make("h2", {}, title));
    if (count) {
      const hint = `Select a ${names.group} in the view, in the list or in the catalogue. Sizes are those in the view.`;
      panel.append(make("p", { class: "hint" }, hint), make("ul", { class: "largest" }, ...items));
    }
    return;
  }
  const list = make("dl");
  const add = (name, value, unit, about) => {
    list.append(make("div", { title: about ?? "" }, make("dt", {}, name), make("dd", {}, unit ? `${value} ${unit}` : value)));
  };
  const part = cloud.points === cloud.shown ? "" : " of those shown";
  add(`highlighted ${names.point}s`, `${grouped(size(row))}${part}`);
  table?.details(row).forEach(({ name, value, unit, about }) => add(name, value, unit, about));
  panel.replaceChildren(
    make("h2", {}, dot(row), `${names.group} ${row}`),
    make("div", { class: "buttons" },
      make("button", { type: "button", id: "fly", onclick: () => view.flyTo(row) }, "Fly to"),
      make("button", { type: "button", id: "clear", onclick: () => page.select(null) }, "Clear")),
    list,
  );
}

/** Sets up the buttons and the text about the keyboard. */
function setUpTools(page) {
  const { view, cloud, names } = page;
  const modes = cloud.dim === 3 ? { "3d": "3-D", xy: [0, 1], xz: [0, 2], yz: [1, 2] } : {};
  const buttons = Object.entries(modes).map(([mode, name]) => {
    const text = typeof name === "string" ? name : name.map((k) => cloud.axes[k]).join(" ");
    const button = make("button", { type: "button", "data-mode": mode, "aria-pressed": String(mode === view.camera.mode) }, text);
    button.addEventListener("click", () => {
      view.setMode(mode);
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    });
    return button;
  });
  byId("modes").replaceChildren(...buttons);
  byId("modes").hidden = !buttons.length;
  byId("reset").addEventListener("click", () => view.reset());
  const field = byId("field");
  field.textContent = names.group === "halo" ? "Field" : "Noise";
  field.addEventListener("click", () => {
    view.showsField = !view.showsField;
    field.setAttribute("aria-pressed", String(view.showsField));
    view.request();
  });
  byId("size").addEventListener("input", (event) => {
    view.sizeFactor = Number(event.target.value);
    view.request(true);
  });
  const keys = [
    ["Drag", cloud.dim === 3 ? "turn" : "move"], ["Wheel or +, -", "zoom"], ...(cloud.dim === 3 ? [["Shift and drag", "move"]] : []),
    ["Arrows", cloud.dim === 3 ? "turn, with Shift move" : "move"], ["n, p", `next, previous ${names.group}`], ["f", `hide points outside of ${names.group}s`],
    ["0", "whole box"], ["Esc", "clear"],
  ];
  byId("keys").replaceChildren(...keys.flatMap(([key, what], i) => [i ? " \u00b7 " : "", make("kbd", {}, key), ` ${what}`]));
}

/** Reads the data, and shows the table before the points. */
async function main() {
  const { names, cloud, table } = readData();
  const page = { names, table: null, view: null, cloud: null };
  // Selects a group everywhere; nothing is selected for null.
  page.select = (row, flies = false) => {
    page.selected = row;
    page.table?.select(row);
    page.view?.select(row);
    if (page.cloud) {
      showSelection(page, row);
    }
    if (flies && row !== null) {
      page.view?.flyTo(row);
    }
  };
  for (const link of document.querySelectorAll("header nav a")) {
    link.hidden = document.querySelector(link.getAttribute("href")).hidden;
  }
  if (table) {
    page.table = new Catalogue(table, await unpack("report-values"), names, (row) => {
      page.select(row, true);
      if (page.view) {
        byId("view").scrollIntoView({ block: "nearest" });
      }
    });
  }
  if (cloud) {
    page.cloud = new Cloud(cloud, await unpack("report-points"));
    showSelection(page, null);
    page.view = new View(byId("points"), byId("overlay"), page.cloud, names, (row, flies) => page.select(row, flies));
    setUpTools(page);
  }
  byId("loading").hidden = true;
  // For the console of the browser, and for tests.
  globalThis.report = page;
}

main().catch((error) => {
  byId("loading").hidden = true;
  fail(error.message);
});
