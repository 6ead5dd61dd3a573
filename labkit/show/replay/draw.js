// What all parts of the stepper draw with: elements, colours with patterns beside them, times, labels that fit.
const SVG = "http://www.w3.org/2000/svg";

// Okabe and Ito's palette; dark letters on all but the one deep blue.
const PALETTE = ["#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442", "#999999"];
const DEEP = 4;
// A hatch goes with each colour where there is no room for a name.
const RING = "M1.5 3a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0 -3 0";
const HATCHES = ["", "M0 6L6 0", "M0 0L6 6", "M2 3h2", "M0 0L6 6M0 6L6 0", "M3 0V6", RING, "M0 3H6"];
const FONT = 13;

function html(tag, className, parent, text = "", attributes = {}) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== "") node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  parent.append(node);
  return node;
}

// What takes the focus: JupyterLab takes keys from the notebook unless the focused element itself says no.
function focusable(node) {
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

function svg(tag, attributes, parent) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
}

const colour = (request) => PALETTE[request % PALETTE.length];
const ink = (request) => (request % PALETTE.length === DEEP ? "#ffffff" : "#101010");

// Patterns lie over a colour or on the bare ground; `name` makes their ids differ between steppers on a page.
function addPatterns(root, name) {
  const defs = svg("defs", {}, root);
  const add = (id, size, draw, turn = 0) => {
    const attributes = { id: `${name}-${id}`, width: size, height: size, patternUnits: "userSpaceOnUse" };
    if (turn) attributes.patternTransform = `rotate(${turn})`;
    draw(svg("pattern", attributes, defs));
  };
  const line = (stroke, width) => (p) => svg("path", { d: "M0 0V7", stroke, "stroke-width": width }, p);
  add("prefill", 7, line("rgba(0,0,0,.42)", 4), 45);
  add("promised", 7, line("currentColor", 2), 45);
  const strokes = { stroke: "rgba(0,0,0,.62)", "stroke-width": 1.3, fill: "none" };
  HATCHES.forEach((d, at) => d && add(`hatch${at}`, 6, (p) => svg("path", { d, ...strokes }, p)));
  add("dots", 6, (p) => svg("circle", { cx: 2, cy: 2, r: 1.2, fill: "currentColor" }, p));
  return (id) => `url(#${name}-${id})`;
}

// About how wide a text is: a Chinese character is as wide as it is tall, others a little over half of that.
function widthOf(text, size = FONT) {
  let units = 0;
  for (const c of text) units += c.codePointAt(0) > 0x2e7f ? 1 : 0.6;
  return units * size;
}

function cutTo(text, room, size = FONT) {
  if (widthOf(text, size) <= room) return text;
  let kept = "";
  for (const c of text) {
    if (widthOf(kept + c + "…", size) > room) break;
    kept += c;
  }
  return kept ? `${kept}…` : "";
}

// A time in ns for people, in ms or, from ten seconds on, in s; at most three decimals: the sentence has them all.
function clock(ns) {
  const [unit, size] = ns < 1e10 ? ["ms", 1e6] : ["s", 1e9];
  return `${+(ns / size).toFixed(3)} ${unit}`;
}

// Round marks for an axis, `wanted` or a few less.
function ticks(from, to, wanted) {
  const rough = (to - from) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}

const fill = (template, values) => template.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
