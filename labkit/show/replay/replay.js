// The stepper: one or more runs on one clock, moved by slider, keys, buttons and its own timer. It gets everything
// once; no step asks the kernel for anything.
const WALL = 1500;
const SPEEDS = [0.5, 1, 2, 5, 10, 30, 60];
let steppers = 0;

async function unpack(data) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

// One run with all its parts.
class RunView {
  constructor(run, parent, words, name, view, named) {
    this.run = run;
    const tall = !named && run.lanes * run.height > 240;
    const label = { "aria-label": run.name || words.name };
    this.root = html("section", tall ? "lk-run lk-tall" : "lk-run", parent, "", label);
    if (run.name) html("p", "lk-heading", this.root, run.name);
    this.lanes = new Lanes(run, this.root, words, `${name}-lanes`, view);
    const below = html("div", "lk-below", this.root);
    this.queue = new Queue(run, below, words);
    this.pages = new Pages(run, below, words, name);
    this.totals = new Totals(run, below, words);
    if (run.cut) html("p", "lk-cut", this.root, run.cut);
    this.starts = run.frames.map((frame) => frame.start);
    this.named = named;
  }

  // The last frame that has begun at `now`.
  at(now) {
    let low = 0, high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= now) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  resize() {
    this.lanes.resize();
    this.pages.resize();
  }

  show(index, until) {
    const frame = this.run.frames[index];
    this.lanes.show(index, until);
    this.queue.show(frame);
    this.pages.show(frame);
    this.totals.show(frame);
    this.root.dataset.frame = index;
  }
}

function mount(root, packed, grows) {
  const { words, runs } = packed, name = `lk${++steppers}`;
  root.classList.add("labkit-replay");
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", words.name);
  root.lang = packed.lang === "zh" ? "zh-CN" : "en";
  const button = (key, parent, shortcut, act) => {
    const attributes = { type: "button", "data-act": key, "aria-keyshortcuts": shortcut };
    const made = focusable(html("button", "lk-button", parent, words[key], attributes));
    made.addEventListener("click", act);
    return made;
  };

  const bar = html("div", "lk-controls", root);
  const range = { type: "range", min: 0, step: 1, value: 0, "aria-label": words.step };
  const slider = focusable(html("input", "lk-slider", bar, "", range));
  const buttons = html("div", "lk-buttons", bar);
  // Each way to move: its button, its key, what it does. All but play stop the timer.
  const moves = {
    first: ["Home", () => go(0)],
    event_back: ["p", () => jump(-1)],
    back: ["ArrowLeft", () => go(step - 1)],
    play: ["Space", () => play(!playing)],
    forward: ["ArrowRight", () => go(step + 1)],
    event_forward: ["n", () => jump(1)],
    last: ["End", () => go(last)],
  };
  const made = {}, acts = {};
  for (const [name, [key, act]] of Object.entries(moves)) {
    acts[key] = name === "play" ? act : () => { play(false); act(); };
    made[name] = button(name, buttons, key, acts[key]);
  }
  const speed = focusable(html("select", "", html("label", "lk-speed", buttons, words.speed)));
  for (const each of SPEEDS) html("option", "", speed, String(each), { value: each });
  const where = html("span", "lk-where", buttons);

  const view = viewOf(runs);
  const many = runs.length > 1;
  const figure = html("div", many ? "lk-runs lk-many" : "lk-runs", root);
  const views = runs.map((run, at) => new RunView(run, figure, words, `${name}-${at}`, view, many));
  const spoken = { role: "status", "aria-live": "polite", "aria-atomic": true };
  const live = html("div", many ? "lk-live lk-many" : "lk-live", root, "", spoken);
  const says = runs.map((run) => new Says(run, live, words, many));
  addLegend(root, words, name);
  html("p", "lk-keys", root, words.keys);
  for (const run of runs) addTable(run, root, words, many);

  // One clock: a step wherever a frame of any run begins.
  const times = [...new Set(views.flatMap((each) => each.starts))].sort((a, b) => a - b);
  const last = times.length - 1;
  const events = times.map((now) => views.some((each) => {
    const frame = each.run.frames[each.at(now)];
    return frame.start === now && frame.event;
  }));
  slider.max = last;
  speed.value = last <= 60 ? 1 : last <= 600 ? 5 : 30;
  let step = 0, playing = 0, due = 0;

  function go(wanted) {
    step = Math.max(0, Math.min(last, wanted));
    draw();
  }

  function draw() {
    const indices = views.map((each) => each.at(times[step]));
    const shown = views.map((each, at) => each.run.frames[indices[at]]);
    const until = Math.max(times[step], ...shown.map((frame) => frame.end));
    views.forEach((each, at) => {
      each.show(indices[at], until);
      says[at].show(shown[at]);
    });
    slider.value = step;
    slider.setAttribute("aria-valuetext", shown.map((frame) => frame.says[0]).join(words.gap));
    where.textContent = `${step + 1}/${last + 1}, ${clock(times[step])}`;
    for (const key of ["first", "event_back", "back"]) made[key].setAttribute("aria-disabled", step === 0);
    for (const key of ["forward", "event_forward", "last"]) made[key].setAttribute("aria-disabled", step === last);
    root.dataset.step = step;
    root.dataset.steps = last + 1;
  }

  function jump(way) {
    let to = step + way;
    while (to > 0 && to < last && !events[to]) to += way;
    go(to);
  }

  // While it plays the sentences change too fast to be spoken: they are again once it stops.
  function play(on) {
    clearTimeout(playing);
    playing = 0;
    if (on) {
      if (step === last) go(0);
      due = performance.now();
      wait();
    }
    live.setAttribute("aria-live", on ? "off" : "polite");
    made.play.textContent = on ? words.halt : words.play;
    root.dataset.playing = on;
  }

  function wait() {
    due = Math.max(due + 1000 / speed.value, performance.now());
    playing = setTimeout(() => {
      go(step + 1);
      if (step === last) play(false);
      else wait();
    }, due - performance.now());
  }

  function faster(by) {
    speed.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, speed.selectedIndex + by));
  }

  slider.addEventListener("input", () => { play(false); go(Number(slider.value)); });
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target, on = target.tagName;
    if ((on === "SELECT" && event.key !== "n" && event.key !== "p") || target.closest(".lk-scroller, .lk-says")) return;
    if (event.key === "+" || event.key === "=") faster(1);
    else if (event.key === "-" || event.key === "_") faster(-1);
    else if (event.key === " " && on === "INPUT") acts.Space();
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // Where there is much room there is a wall to project on: everything grows with it.
  let width = 0;
  function layout() {
    const room = root.parentElement.clientWidth;
    if (!room || room === width) return;
    width = room;
    root.style.zoom = grows && room >= WALL ? 1.3 : 1;
    for (const each of views) each.resize();
    for (const each of says) each.resize();
    draw();
  }
  const observer = new ResizeObserver(layout);
  observer.observe(root.parentElement);
  layout();
  return () => {
    observer.disconnect();
    clearTimeout(playing);
  };
}

// What the patterns and marks mean; the names of things stand on the things themselves.
function addLegend(root, words, name) {
  const list = html("ul", "lk-legend", root);
  const item = (key, draw) => {
    const row = html("li", "", list), picture = svg("svg", { width: 20, height: 14, "aria-hidden": "true" }, row);
    draw(picture, addPatterns(picture, `${name}-key-${key}`));
    row.append(words[key]);
  };
  const box = { x: 1, y: 1, width: 18, height: 12 };
  item("mark_prefill", (p, pattern) => {
    svg("rect", { ...box, fill: PALETTE[1] }, p);
    svg("rect", { ...box, fill: pattern("prefill") }, p);
  });
  item("mark_decode", (p) => svg("rect", { ...box, fill: PALETTE[1] }, p));
  item("key_token", (p) => svg("circle", { class: "lk-token", cx: 10, cy: 7, r: 4 }, p));
  item("key_finish", (p) => svg("path", { class: "lk-finish", d: "M14 0v14h-3v-14zm-3 0h-7v7h7z" }, p));
  item("key_gone", (p) => svg("path", { class: "lk-stop", d: "M5 2l10 10m-10 0l10 -10" }, p));
  item("key_arrival", (p) => svg("path", { class: "lk-arrival", d: "M10 3l5 9h-10z" }, p));
  item("key_shared", (p) => svg("rect", { ...box, fill: PALETTE[0], class: "lk-shared" }, p));
  const filled = (look, kind) => (p, pattern) =>
    svg("rect", { ...box, class: look, style: `fill:${pattern(kind)}` }, p);
  item("key_promised", filled("lk-free", "promised"));
  item("key_cached", filled("lk-cached", "dots"));
}

function render({ model, el }) {
  let stop = () => {}, gone = false;
  // The copy that stands alone is not needed where this runs.
  for (const still of document.getElementsByClassName(model.get("still") || "-")) still.hidden = true;
  unpack(model.get("data")).then((packed) => { if (!gone) stop = mount(html("div", "", el), packed, true); });
  return () => { gone = true; stop(); };
}

// In a frame of its own, whose height is fixed: it does not grow.
async function standAlone(root, data) {
  mount(root, await unpack(data), false);
}

export default { render };
