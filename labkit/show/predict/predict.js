// The browser half of a prediction cell (widget.py): a number, or a class's hands, and later the truth.
const SILENT_AFTER_MS = 5000;
const WIDTH = 620, HEIGHT = 190, FOOT = 30, HEAD = 34, MOST = 9999;

function element(tag, className, parent, properties = {}) {
  const node = Object.assign(document.createElement(tag), { className, ...properties });
  parent.append(node);
  return node;
}

function drawn(tag, parent, attributes, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  parent.append(node);
  return node;
}

// JupyterLab takes keys from the notebook unless the focused element itself says no.
function keepsItsKeys(node) {
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

const filled = (words, values) => words.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// Where a value stands among choices that stand evenly: halfway between two for a value halfway between them.
function placeOf(value, choices) {
  if (value <= choices[0]) return value < choices[0] ? -0.5 : 0;
  for (let i = 1; i < choices.length; i++) {
    if (value <= choices[i]) return i - (choices[i] - value) / (choices[i] - choices[i - 1]);
  }
  return choices.length - 0.5;
}

function histogram(svg, choices, hands, truth, mark) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  drawn("rect", svg, { width: WIDTH, height: HEIGHT, fill: "#fff" });
  const step = WIDTH / (choices.length + 0.6), floor = HEIGHT - FOOT;
  const at = (place) => (place + 0.8) * step;
  const tall = (floor - HEAD - 20) / Math.max(5, ...hands);
  const text = { "text-anchor": "middle", "font-size": 16, fill: "#1a1a1a" };
  drawn("line", svg, { x1: 0, x2: WIDTH, y1: floor, y2: floor, stroke: "#1a1a1a" });
  choices.forEach((choice, i) => {
    const height = hands[i] * tall, box = { x: at(i) - step * 0.3, y: floor - height, width: step * 0.6, height };
    drawn("rect", svg, { ...box, fill: "#56B4E9", stroke: "#1a1a1a" });
    drawn("text", svg, { ...text, x: at(i), y: floor - height - 6 }, hands[i] || "");
    drawn("text", svg, { ...text, x: at(i), y: HEIGHT - 9 }, choice.label);
  });
  if (truth.text === undefined) return;
  const x = at(placeOf(truth.value, choices.map((choice) => choice.value)));
  const line = { x1: x, x2: x, y1: 22, y2: floor, stroke: "#B03A00", "stroke-width": 3, "stroke-dasharray": "8 4" };
  drawn("line", svg, line);
  const end = x > WIDTH * 0.7 ? "end" : x < WIDTH * 0.3 ? "start" : "middle";
  drawn("text", svg, { ...text, x, y: 16, fill: "#B03A00", "font-weight": "bold", "text-anchor": end }, mark);
}

function render({ model, el }) {
  const words = model.get("words"), choices = model.get("choices");
  el.classList.add("labkit-predict");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", words.name);
  element("p", "labkit-predict-question", el, { textContent: model.get("question") });
  const form = element("form", "labkit-predict-form", el);
  const field = keepsItsKeys(element("input", "labkit-predict-field", form, {
    type: "text", inputMode: "decimal", autocomplete: "off", maxLength: 40, size: 9,
  }));
  field.setAttribute("aria-label", `${words.field}${model.get("unit") ? ` (${model.get("unit")})` : ""}`);
  element("span", "labkit-predict-unit", form, { textContent: model.get("unit"), ariaHidden: "true" });
  const button = (label, parent, does, type = "button") => {
    const made = keepsItsKeys(element("button", "labkit-predict-button", parent, { type, textContent: label }));
    if (does) made.addEventListener("click", does);
    return made;
  };
  const give = button(words.give, form, null, "submit");
  const skip = button(words.skip, form, () => send("skip"));
  const again = button(words.again, form, () => { field.value = ""; send("again"); field.focus(); });
  const vote = choices.length ? button(words.hands, form, () => open(klass.hidden, true)) : null;
  const alarm = element("p", "labkit-predict-problem", el, { role: "alert" });
  const says = element("p", "labkit-predict-says", el, { role: "status" });
  // `waitingFor`: the wish that the kernel has not answered yet; until then the hands counted here are newer.
  let serial = 0, waitingFor = null, wished = {}, silence = 0, hands = choices.map(() => 0);

  // ---------------------------------------------------------------- a class
  const klass = keepsItsKeys(element("div", "labkit-predict-class", el, { hidden: true, tabIndex: 0 }));
  klass.setAttribute("role", "group");
  klass.setAttribute("aria-label", `${words.hands}。${words.keys}`);
  const row = element("div", "labkit-predict-choices", klass);
  const options = choices.map((choice, i) => button("", row, () => raise(i, 1)));
  const svg = drawn("svg", klass, { class: "labkit-predict-histogram", "aria-hidden": "true" });
  const heard = element("p", "labkit-predict-heard", klass, { role: "status" });
  const foot = element("div", "labkit-predict-choices", klass);
  const reveal = button(words.reveal, foot, show);
  button(words.clear, foot, () => { hands = hands.map(() => 0); heard.textContent = ""; draw(); send(""); });
  element("p", "labkit-predict-keys", klass, { textContent: words.keys });

  function open(wanted, byHand) {
    klass.hidden = !wanted;
    vote.setAttribute("aria-expanded", String(wanted));
    if (wanted) draw();
    if (wanted && byHand) klass.focus();
  }
  function raise(i, by) {
    hands = hands.map((count, k) => (k === i ? Math.min(MOST, Math.max(0, count + by)) : count));
    const total = hands.reduce((sum, count) => sum + count, 0);
    heard.textContent = filled(words.tally, { label: choices[i].label, count: hands[i], total });
    draw();
    send("");
  }
  function show() { if (!answered()) send("skip"); }
  klass.addEventListener("keydown", (event) => {
    const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1] ?? (/^[0-9]$/.test(event.key) ? event.key : null);
    if (digit === null || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (digit === "0") show();
    else if (digit <= choices.length) raise(digit - 1, event.shiftKey ? -1 : 1);
  });

  function draw() {
    const truth = model.get("truth");
    options.forEach((option, i) => {
      option.textContent = `${i + 1}　${choices[i].label}`;
      option.setAttribute("aria-label", filled(words.hand, { label: choices[i].label, count: hands[i] }));
    });
    histogram(svg, choices, hands, truth, filled(words.mark, { truth: truth.text }));
  }

  // ---------------------------------------------------------------- one reader
  function answered() { return model.get("state").skipped || model.get("state").guess !== null; }
  function send(wish) {
    // Messages that wait for the kernel melt into the last one: it repeats a wish that is not answered yet.
    if (wish || waitingFor === null) wished = { wish, text: field.value };
    serial += 1;
    waitingFor = `${Date.now()}-${serial}`;
    model.set("asked", { serial: waitingFor, ...wished, hands });
    model.save_changes();
    clearTimeout(silence);
    silence = setTimeout(() => { alarm.textContent = words.silent; }, SILENT_AFTER_MS);
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); send("give"); });
  // In a form Enter gives the number; the notebook must not take it.
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") event.stopPropagation(); });

  function follow() {
    if (waitingFor === null || waitingFor === model.get("answered")) clearTimeout(silence);
    const state = model.get("state"), known = answered();
    if (state.guess !== null) field.value = state.guess;
    field.readOnly = known;
    if (known && state.guess === null) field.value = "";
    const held = [give, skip, again, reveal].find((node) => node === document.activeElement);
    for (const node of [give, skip]) node.hidden = known;
    again.hidden = !known;
    reveal.hidden = known;
    says.textContent = model.get("says");
    alarm.textContent = model.get("problem");
    field.setAttribute("aria-invalid", String(Boolean(model.get("problem")) && !known));
    // A button that goes away under the focus hands it on.
    if (held && held.hidden) (known ? again : field).focus();
    if (!choices.length) return;
    if (waitingFor === model.get("answered")) waitingFor = null;
    if (waitingFor === null) hands = state.hands;
    draw();
  }
  model.on("change:version", follow);
  follow();
  if (vote) open(hands.some((count) => count > 0), false);
  return () => { model.off("change:version", follow); clearTimeout(silence); };
}

export default { render };
