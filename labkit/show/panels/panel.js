// The browser half of a panel (widget.py): controls in, one picture with its words out.
const SILENT_AFTER_MS = 5000;

function element(tag, className, parent, properties = {}) {
  const node = Object.assign(document.createElement(tag), { className, ...properties });
  parent.append(node);
  return node;
}

// JupyterLab takes keys from the notebook unless the focused element itself says no.
function keepsItsKeys(node) {
  node.dataset.lmSuppressShortcuts = "true";
  return node;
}

// A range input over low..high, or over the places of a list of stops; `value` is the number either way.
function addSlider(spec, row) {
  const stops = spec.stops;
  const track = stops ? { min: 0, max: stops.length - 1, step: 1 } : { min: spec.low, max: spec.high, step: spec.step };
  const input = element("input", "labkit-panel-range", row, { type: "range", ...track, name: spec.name });
  const output = element("span", "labkit-panel-value", row, { ariaHidden: "true" });
  const value = () => (stops ? stops[Number(input.value)] : Number(input.value));
  const write = () => {
    output.textContent = `${value()} ${spec.unit}`.trim();
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const show = (shown) => { input.value = stops ? stops.indexOf(shown) : shown; write(); };
  input.addEventListener("input", write);
  return { input, event: "input", value, show };
}

function addChoice(spec, row) {
  const input = element("select", "labkit-panel-choice", row, { name: spec.name });
  for (const option of spec.options) element("option", "", input, { value: option, textContent: option });
  return { input, event: "change", value: () => input.value, show: (shown) => { input.value = shown; } };
}

function addControl(spec, value, parent, moved) {
  const row = element("label", "labkit-panel-row", parent);
  element("span", "labkit-panel-label", row, { textContent: spec.label });
  const control = spec.kind === "choice" ? addChoice(spec, row) : addSlider(spec, row);
  keepsItsKeys(control.input).setAttribute("aria-label", spec.label);
  control.show(value);
  control.input.addEventListener(control.event, moved);
  return { name: spec.name, ...control };
}

function render({ model, el }) {
  el.classList.add("labkit-panel");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", model.get("name"));
  const words = model.get("words");
  const row = element("div", "labkit-panel-controls", el);
  let serial = model.get("done"), waitingFor = null, wish = false, silence = 0;
  const controls = model.get("controls").map((spec) => {
    const asked = (model.get("asked").values || {})[spec.name];
    return addControl(spec, asked ?? spec.value, row, ask);
  });
  element("p", "labkit-panel-keys", el, { textContent: words.keys });
  const alarm = element("div", "labkit-panel-error", el, { role: "alert" });
  const image = element("img", "labkit-panel-picture", el);
  const says = element("p", "labkit-panel-says", el, { role: "status" });
  const fold = element("details", "labkit-panel-table", el, { hidden: true });
  keepsItsKeys(element("summary", "", fold, { textContent: words.table }));
  const numbers = element("div", "", fold);
  let url = null;

  function ask() {
    if (waitingFor !== null) { wish = true; return; }
    wish = false;
    waitingFor = serial = Math.max(serial, model.get("done")) + 1;
    const values = Object.fromEntries(controls.map((control) => [control.name, control.value()]));
    model.set("asked", { serial, values });
    model.save_changes();
    silence = setTimeout(() => { alarm.textContent = words.silent; waitingFor = null; }, SILENT_AFTER_MS);
  }

  function answered() {
    if (waitingFor !== null && model.get("done") < waitingFor) return;
    clearTimeout(silence);
    waitingFor = null;
    if (wish) ask();
  }

  function show() {
    alarm.replaceChildren();
    if (model.get("error")) {
      element("strong", "", alarm, { textContent: model.get("error") });
      const more = element("details", "", alarm);
      keepsItsKeys(element("summary", "", more, { textContent: "traceback" }));
      element("pre", "", more, { textContent: model.get("details") });
      if (!image.src) image.hidden = true;
    }
    showTable();
    if (!model.get("png").byteLength) return;
    image.hidden = false;
    image.alt = model.get("alt");
    image.width = model.get("width");
    says.textContent = model.get("says");
    const old = url;
    url = URL.createObjectURL(new Blob([model.get("png")], { type: "image/png" }));
    image.onload = () => { if (old) URL.revokeObjectURL(old); };
    image.src = url;
  }

  // Only an open fold is filled, so that a closed one costs nothing in a drag.
  function showTable() {
    fold.hidden = !model.get("table");
    if (fold.open) numbers.innerHTML = model.get("table");
  }
  fold.addEventListener("toggle", showTable);

  // Another view of the same panel may have been moved: its values are ours too.
  function follow() {
    const values = model.get("asked").values || {};
    if (waitingFor !== null) return;
    for (const control of controls) if (control.name in values) control.show(values[control.name]);
  }

  const onDone = () => { show(); answered(); follow(); };
  model.on("change:done", onDone);
  show();
  return () => {
    model.off("change:done", onDone);
    clearTimeout(silence);
    if (url) URL.revokeObjectURL(url);
  };
}

export default { render };
