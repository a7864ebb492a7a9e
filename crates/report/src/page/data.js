// Data within the page.

/** Returns the element with an id. */
const byId = (id) => document.getElementById(id);

/** Returns the settings of the page: names, cloud and table. */
function readData() {
  return JSON.parse(byId("report-data").textContent);
}

/** Decodes the compressed bytes of an element, and empties the element to free its memory. */
async function unpack(id) {
  const element = byId(id);
  const text = atob(element.textContent);
  element.textContent = "";
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    bytes[i] = text.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Creates an element with attributes and children. Strings become text, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "onclick") {
      element.addEventListener("click", value);
    } else if (name === "style") {
      Object.assign(element.style, value);
    } else {
      element.setAttribute(name, value);
    }
  }
  element.append(...children);
  return element;
}

/** Formats an integer with groups of three digits. */
const grouped = (n) => Number(n).toLocaleString("en-US");

/** Formats a real number with at most `digits` significant digits. */
function short(x, digits = 5) {
  if (!Number.isFinite(x)) {
    return Number.isNaN(x) ? "NaN" : String(x);
  }
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return x.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
  }
  return String(Number(x.toPrecision(digits)));
}

/** Returns `true` if colours of the page are light on dark. */
const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** The number of colours of groups, which repeat after that many. */
const COLORS = 1024;

/**
 * Returns the colour of a row, with parts from 0 to 255. Successive rows turn the hue by the golden angle, so that the
 * largest groups differ most.
 */
function colorOf(row) {
  const place = row % COLORS;
  const hue = (210 + 137.508 * place) % 360;
  const lightness = (isDark() ? [0.66, 0.58, 0.74] : [0.42, 0.36, 0.48])[place % 3];
  const chroma = 0.8 * (1 - Math.abs(2 * lightness - 1));
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - 0.5 * chroma * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

const cssColor = (row) => `rgb(${colorOf(row).join(" ")})`;

