// The browser half of a panel (widget.py): sliders in, one picture with its words out.
const SILENT_AFTER_MS = 5000;

function element(tag, className, parent, properties = {}) {
  const node = Object.assign(document.createElement(tag), { className, ...properties });
  parent.append(node);
  return node;
}

function addSlider(slider, parent, moved) {
  const row = element("label", "labkit-panel-row", parent);
  element("span", "labkit-panel-label", row, { textContent: slider.label });
  const input = element("input", "labkit-panel-range", row, {
    type: "range", min: slider.low, max: slider.high, step: slider.step, value: slider.value, name: slider.name,
  });
  // JupyterLab takes arrow keys from the notebook unless the focused element itself says no.
  input.dataset.lmSuppressShortcuts = "true";
  const output = element("span", "labkit-panel-value", row, { ariaHidden: "true" });
  const write = () => {
    output.textContent = `${input.value} ${slider.unit}`;
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.setAttribute("aria-label", slider.label);
  input.addEventListener("input", () => { write(); moved(); });
  input.show = (value) => { input.value = value; write(); };
  write();
  return input;
}

function render({ model, el }) {
  el.classList.add("labkit-panel");
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", model.get("name"));
  const words = model.get("words");
  const controls = element("div", "labkit-panel-controls", el);
  let serial = model.get("done"), waitingFor = null, wish = false, silence = 0;
  const inputs = model.get("sliders").map((slider) => {
    const asked = (model.get("asked").values || {})[slider.name];
    return addSlider({ ...slider, value: asked ?? slider.value }, controls, ask);
  });
  element("p", "labkit-panel-keys", el, { textContent: words.keys });
  const alarm = element("div", "labkit-panel-error", el, { role: "alert" });
  const image = element("img", "labkit-panel-picture", el);
  const says = element("p", "labkit-panel-says", el, { role: "status" });
  let url = null;

  function ask() {
    if (waitingFor !== null) { wish = true; return; }
    wish = false;
    waitingFor = serial = Math.max(serial, model.get("done")) + 1;
    const values = Object.fromEntries(inputs.map((input) => [input.name, Number(input.value)]));
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
      element("summary", "", more, { textContent: "traceback" });
      element("pre", "", more, { textContent: model.get("details") });
    }
    image.alt = model.get("alt");
    image.width = model.get("width");
    says.textContent = model.get("says");
    const old = url;
    url = URL.createObjectURL(new Blob([model.get("png")], { type: "image/png" }));
    image.onload = () => { if (old) URL.revokeObjectURL(old); };
    image.src = url;
  }

  // Another view of the same panel may have been moved: its values are ours too.
  function follow() {
    const values = model.get("asked").values || {};
    if (waitingFor !== null) return;
    for (const input of inputs) if (input.name in values) input.show(values[input.name]);
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
