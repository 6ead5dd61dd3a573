// Beside the seats: the queue with the reason each waits, the map of the pages, totals, and the sentence of the step.
const longestOf = (frames, say) =>
  frames.map(say).reduce((most, text) => (text.length > most.length ? text : most), "");

class Queue {
  constructor(run, parent, words) {
    Object.assign(this, { run, words });
    const box = html("div", "lk-pane lk-queue", parent);
    this.title = html("p", "lk-title", box);
    const list = html("ol", "lk-rows", box, "", { "aria-label": words.queue });
    this.rows = Array.from({ length: Math.max(1, run.rows) }, () => {
      const row = html("li", "", list);
      const name = html("b", "", row);
      row.append(" ");
      return [row, name, html("span", "", row)];
    });
    this.more = html("p", "lk-more", box);
    this.more.hidden = !run.frames.some((frame) => frame.waiting > run.rows);
  }

  show(frame) {
    const { run, words } = this;
    this.title.textContent = `${words.queue} ${frame.waiting}`;
    this.rows.forEach(([row, name, why], at) => {
      const waiting = frame.queue[at];
      row.style.visibility = waiting ? "" : "hidden";
      name.textContent = waiting ? run.ids[waiting[0]] : "";
      const reason = waiting ? run.reasons[waiting[1]] : "";
      why.textContent = waiting && waiting[2] ? fill(words.on_host, { reason }) : reason;
    });
    const rest = frame.waiting - frame.queue.length;
    this.more.textContent = rest > 0 ? fill(words.more, { count: rest }) : "\u00a0";
  }
}

class Pages {
  constructor(run, parent, words, name) {
    Object.assign(this, { run, words, name });
    this.cellCount = run.frames[0].cells.reduce((sum, [, length]) => sum + length, 0);
    const box = html("div", "lk-pane lk-pages", parent);
    this.title = html("p", "lk-title", box);
    const counts = html("div", "lk-sized", box);
    this.counts = html("p", "lk-counts", counts);
    html("p", "lk-sizer", counts).dataset.longest = longestOf(run.frames, (frame) => this.count(frame));
    this.root = svg("svg", { class: "lk-map", role: "img" }, box);
    this.box = box;
  }

  resize() {
    const width = Math.max(120, this.box.clientWidth - 2), count = this.cellCount;
    const size = [28, 22, 15, 11][[16, 48, 128].filter((most) => count > most).length];
    const columns = Math.max(1, Math.min(count, Math.floor(width / size)));
    const height = 18 + Math.ceil(count / columns) * size;
    this.root.replaceChildren();
    this.pattern = addPatterns(this.root, `${this.name}-map`);
    this.root.setAttribute("width", width);
    this.root.setAttribute("height", height);
    this.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.root.style.height = `${height}px`;
    this.width = width;
    svg("rect", { class: "lk-free", x: 0.5, y: 0.5, width: width - 1, height: 11 }, this.root);
    this.bars = ["lk-used", "", ""].map((className) => svg("rect", { class: className, y: 1, height: 10 }, this.root));
    this.bars[1].setAttribute("fill", this.pattern("promised"));
    this.bars[2].setAttribute("fill", this.pattern("dots"));
    this.cells = Array.from({ length: count }, (_, at) => {
      const x = (at % columns) * size + 1, y = 18 + Math.floor(at / columns) * size + 1;
      const box = { x, y, width: size - 2, height: size - 2 };
      const ground = svg("rect", { ...box, class: "lk-free" }, this.root);
      const over = svg("rect", { ...box, fill: "none" }, this.root);
      if (size < 22 || this.run.fold > 1) return [ground, over, null];
      const middle = { x: x + size / 2 - 1, y: y + size / 2 + 3, "text-anchor": "middle", class: "lk-page" };
      return [ground, over, svg("text", middle, this.root)];
    });
    this.shown = [];
  }

  count(frame) {
    const [used, promised, shared, cached] = frame.pages;
    return fill(this.words.map_counts, { used, promised, shared, cached, pool: this.run.pool });
  }

  show(frame) {
    const { run, words } = this, [used, promised, , cached] = frame.pages;
    this.title.textContent = run.fold > 1 ? `${words.map} (${fill(words.map_fold, run)})` : words.map;
    this.counts.textContent = this.count(frame);
    this.root.setAttribute("aria-label", frame.says[4]);
    let x = 1;
    [used, promised, cached].forEach((pages, at) => {
      const share = pages / Math.max(run.most, used + promised + cached);
      const wide = Math.min(this.width - 1 - x, share * (this.width - 2));
      this.bars[at].setAttribute("x", x);
      this.bars[at].setAttribute("width", Math.max(0, wide));
      x += Math.max(0, wide);
    });
    let at = 0;
    for (const [state, length] of frame.cells) {
      for (const end = at + length; at < end; at++) if (this.shown[at] !== state) this.paint(at, state);
    }
  }

  paint(at, state) {
    this.shown[at] = state;
    const [ground, over, label] = this.cells[at], [top, owners, used, cached] = this.run.states[state];
    ground.setAttribute("class", owners ? "lk-owned" : cached ? "lk-cached" : "lk-free");
    ground.style.fill = owners ? colour(top[0]) : "";
    ground.style.fillOpacity = owners && this.run.fold > 1 ? 0.3 + (0.7 * used) / this.run.fold : "";
    const many = owners > 1 && this.run.fold === 1;
    const kind = top[0] % PALETTE.length;
    const hatch = owners && !label && HATCHES[kind] ? this.pattern(`hatch${kind}`) : "none";
    over.setAttribute("fill", cached && !owners ? this.pattern("dots") : hatch);
    over.setAttribute("class", many ? "lk-shared" : "");
    if (!label) return;
    label.textContent = owners ? (many ? `×${owners}` : [...this.run.ids[top[0]]].slice(0, 3).join("")) : "";
    label.style.fill = owners ? ink(top[0]) : "";
  }
}

class Totals {
  constructor(run, parent, words) {
    this.run = run;
    const box = html("div", "lk-pane lk-totals", parent);
    html("p", "lk-title", box, words.at_end);
    const list = html("dl", "", box), last = run.frames[run.frames.length - 1].totals;
    const ever = run.totals.map((_, at) => run.frames.some((frame) => frame.totals[at] > 0));
    this.fields = last.map((_, at) => {
      if (!ever[at] && ![0, 1, 3, 4, 9].includes(at)) return null;
      const pair = html("div", "", list);
      html("dt", "", pair, run.totals[at]);
      return html("dd", "", pair);
    });
  }

  show(frame) {
    this.fields.forEach((field, at) => { if (field) field.textContent = frame.totals[at]; });
  }
}

// The sentence of the step, in a box that is as tall as the longest one needs, within reason.
class Says {
  constructor(run, parent, words, named) {
    this.gap = words.gap;
    this.box = html("div", "lk-says", parent);
    this.text = html("p", "lk-sentence", this.box);
    this.named = named && run.name ? `${run.name}${words.colon}` : "";
    html("p", "lk-sizer", this.box).dataset.longest = this.named + longestOf(run.frames, (frame) => this.of(frame));
    this.name = this.named ? html("span", "lk-run-name", this.text, this.named) : null;
    this.head = html("strong", "", this.text);
    this.rest = document.createTextNode("");
    this.text.append(this.rest);
    this.label = words.says;
  }

  of(frame) {
    return frame.says.filter(Boolean).join(this.gap);
  }

  // A box that scrolls has to be reached by the keyboard.
  resize() {
    const scrolls = this.box.scrollHeight > this.box.clientHeight + 1;
    if (scrolls) {
      const attributes = { tabindex: 0, role: "group", "aria-label": this.label };
      for (const [key, value] of Object.entries(attributes)) focusable(this.box).setAttribute(key, value);
    } else for (const key of ["tabindex", "role", "aria-label"]) this.box.removeAttribute(key);
  }

  show(frame) {
    const [head, ...rest] = frame.says.filter(Boolean);
    this.head.textContent = head;
    this.rest.data = rest.length ? this.gap + rest.join(this.gap) : "";
  }
}

// The whole run as a table, made when it is first opened.
function addTable(run, parent, words, named) {
  const details = html("details", "lk-table", parent);
  const title = named && run.name ? `${words.table}${words.colon}${run.name}` : words.table;
  focusable(html("summary", "", details, title));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const attributes = { tabindex: 0, role: "group", "aria-label": title };
    const table = html("table", "", focusable(html("div", "lk-scroller", details, "", attributes)));
    html("caption", "", table, run.name || words.table);
    const head = html("tr", "", html("thead", "", table));
    for (const key of ["step", "before", "runs", "waits", "pages", "during", "after"]) {
      html("th", "", head, words[`table_${key}`], { scope: "col" });
    }
    const body = html("tbody", "", table);
    for (const frame of run.frames) {
      const row = html("tr", "", body);
      frame.says.forEach((clause, at) => html(at ? "td" : "th", "", row, clause, at ? {} : { scope: "row" }));
    }
  });
}
