// The catalogue: a table that is sorted by its heads, filtered by conditions, and shown page by page.

/** The number of rows of a page. */
const PAGE_ROWS = 50;

const COMPARE = {
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a == b, "!=": (a, b) => a != b,
};

class Catalogue {
  /** Creates the table. `onSelect(row)` is called for the row whose button is pressed. */
  constructor(description, bytes, names, onSelect) {
    this.rows = description.rows;
    this.names = names;
    this.onSelect = onSelect;
    const types = { u64: BigUint64Array, i64: BigInt64Array, f64: Float64Array };
    this.columns = description.columns.map((column, i) => {
      return { ...column, values: new types[column.kind](bytes.buffer, bytes.byteOffset + 8 * i * this.rows, this.rows) };
    });
    this.order = Uint32Array.from({ length: this.rows }, (_, row) => row);
    this.sorted = { column: -1, isDescending: false };
    this.conditions = [];
    this.page = 0;
    this.selected = null;
    this.heads();
    byId("filter-form").addEventListener("submit", (event) => event.preventDefault());
    byId("filter").addEventListener("input", () => this.filter(byId("filter").value));
    const example = this.columns.find((column) => /mass|size|count/.test(column.name)) ?? this.columns[0];
    const name = example?.name ?? "row";
    byId("filter").placeholder = `${name} > 100`;
    byId("filter-help").textContent =
      "Conditions on columns, separated by commas, with <, <=, >, >=, = or !=. The end of a name is enough, as mass for fof_halo_mass.";
    this.update();
  }

  /** Returns the value of a column as text. */
  text(column, row) {
    const value = column.values[row];
    return typeof value === "bigint" ? value.toString() : short(value, 7);
  }

  heads() {
    const head = make("tr");
    const add = (column, index) => {
      const button = make("button", { type: "button", onclick: () => this.sortBy(index) }, column.name);
      const cell = make("th", { scope: "col", "aria-sort": "none", title: column.about ?? "" }, button);
      cell.append(make("span", { class: "unit" }, column.unit ?? ""));
      head.append(cell);
    };
    add({ name: this.names.group, about: "row of the catalogue, from 0" }, -1);
    this.columns.forEach(add);
    byId("head").replaceChildren(head);
  }

  /** Sorts by a column, largest first; again, smallest first. The first column restores the order of the file. */
  sortBy(index) {
    const isAgain = this.sorted.column === index;
    this.sorted = { column: index, isDescending: isAgain ? !this.sorted.isDescending : index >= 0 };
    this.page = 0;
    this.update();
  }

  /** Applies the conditions of a text, or says which of them is not understood. */
  filter(text) {
    const conditions = [];
    let wrong = "";
    for (const part of text.split(/,|&&|\band\b/i).map((part) => part.trim()).filter(Boolean)) {
      const found = part.match(/^(.+?)\s*(<=|>=|!=|==|<|>|=)\s*(\S+)$/);
      const column = found && this.named(found[1].trim());
      const number = found && Number(found[3]);
      if (!found || Number.isNaN(number)) {
        wrong = `"${part}" is not a condition, such as ${byId("filter").placeholder}`;
      } else if (!column) {
        wrong = `no column is called "${found[1].trim()}"`;
      } else {
        conditions.push({ column, compare: COMPARE[found[2] === "==" ? "=" : found[2]], number });
      }
    }
    byId("filter-error").textContent = wrong;
    byId("filter").setAttribute("aria-invalid", String(wrong !== ""));
    if (!wrong) {
      this.conditions = conditions;
      this.page = 0;
      this.update();
    }
  }

  /** Returns the column with a name, or the first one whose name ends in it. */
  named(name) {
    if (name === "row" || name === this.names.group) {
      return { values: { at: (row) => row } };
    }
    const lower = name.toLowerCase();
    const names = this.columns.map((column) => column.name.toLowerCase());
    const exact = names.indexOf(lower);
    return this.columns[exact >= 0 ? exact : names.findIndex((other) => other.endsWith(`_${lower}`))];
  }

  /** Filters and sorts all rows, and shows the page. */
  update() {
    const value = (column, row) => (column.values.at.length === 1 && !ArrayBuffer.isView(column.values) ? row : column.values[row]);
    const rows = [];
    for (let row = 0; row < this.rows; row++) {
      if (this.conditions.every(({ column, compare, number }) => compare(value(column, row), number))) {
        rows.push(row);
      }
    }
    const { column, isDescending } = this.sorted;
    const sign = isDescending ? -1 : 1;
    if (column >= 0) {
      const { values } = this.columns[column];
      // NaN comes last in both orders; ties stay in the order of rows.
      const last = (row) => values[row] !== values[row];
      rows.sort((a, b) => last(a) - last(b) || (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : a - b));
    } else if (isDescending) {
      rows.reverse();
    }
    this.order = rows;
    const all = grouped(this.rows);
    byId("matches").textContent = this.conditions.length ? `${grouped(rows.length)} of ${all} rows` : `${all} rows`;
    [...byId("head").rows[0].cells].forEach((cell, i) => {
      cell.setAttribute("aria-sort", i - 1 !== column ? "none" : isDescending ? "descending" : "ascending");
    });
    this.show();
  }

  /** Shows the rows of the page. */
  show() {
    const pages = Math.max(1, Math.ceil(this.order.length / PAGE_ROWS));
    this.page = Math.min(this.page, pages - 1);
    const rows = this.order.slice(this.page * PAGE_ROWS, (this.page + 1) * PAGE_ROWS).map((row) => {
      const dot = make("span", { class: "dot", "aria-hidden": "true", style: { background: cssColor(row) } });
      const label = `Show ${this.names.group} ${row}`;
      const button = make("button", { type: "button", "aria-label": label, title: label, onclick: () => this.onSelect(row) }, dot, String(row));
      const cells = this.columns.map((column) => make("td", {}, this.text(column, row)));
      return make("tr", { "data-row": row, "aria-selected": String(row === this.selected) }, make("th", { scope: "row" }, button), ...cells);
    });
    byId("body").replaceChildren(...rows);
    const go = (text, page, isPossible) => {
      const button = make("button", { type: "button", onclick: () => this.goTo(page) }, text);
      button.disabled = !isPossible;
      return button;
    };
    const [isFirst, isLast] = [this.page === 0, this.page === pages - 1];
    byId("pages").replaceChildren(
      go("First", 0, !isFirst), go("Previous", this.page - 1, !isFirst),
      make("span", { role: "status" }, `page ${grouped(this.page + 1)} of ${grouped(pages)}`),
      go("Next", this.page + 1, !isLast), go("Last", pages - 1, !isLast),
    );
  }

  goTo(page) {
    this.page = page;
    this.show();
  }

  /** Marks a row, and shows its page if it is not filtered out. */
  select(row) {
    this.selected = row;
    const place = row === null ? -1 : this.order.indexOf(row);
    if (place >= 0) {
      this.page = Math.floor(place / PAGE_ROWS);
    }
    this.show();
  }

  /** Returns names, values, units and descriptions of a row. */
  details(row) {
    return this.columns.map((column) => ({ name: column.name, value: this.text(column, row), unit: column.unit, about: column.about }));
  }
}

