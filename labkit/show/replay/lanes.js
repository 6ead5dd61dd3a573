// The seats over time: a lane for each, a cell for each round, up to the step that is shown; the future stays blank.
const SEAT_WIDTH = 68, AXIS = 32, HEAD = 16, LABELLED = 16, TALL = 36, ROUNDS_IN_VIEW = 24;

// What stretch of time is in view: all of a short run, else a window that is turned like a page.
function viewOf(runs) {
  const end = Math.max(1, ...runs.map((run) => run.frames[run.frames.length - 1].end));
  const durations = runs.flatMap((run) => run.frames.filter((f) => f.kind === "round").map((f) => f.end - f.start));
  durations.sort((a, b) => a - b);
  const usual = durations[durations.length >> 1] || end;
  const span = Math.min(end, usual * ROUNDS_IN_VIEW);
  const page = span * 0.75;
  return { span, from: (now) => Math.max(0, Math.ceil((now - span) / page)) * page };
}

class Lanes {
  constructor(run, parent, words, name, view) {
    Object.assign(this, { run, words, name, view });
    this.tall = run.height;
    this.inner = Math.max(2, this.tall - (this.tall >= LABELLED ? 4 : 1));
    this.stage = html("div", "lk-stage", parent);
    this.root = svg("svg", { class: "lk-lanes", role: "img" }, this.stage);
    this.height = HEAD + run.lanes * this.tall + AXIS;
    this.root.setAttribute("height", this.height);
    this.root.style.height = `${this.height}px`;
    this.from = null;
    this.groups = new Map();
  }

  // Another width: everything is laid out again at the next `show`.
  resize() {
    const width = Math.max(260, this.stage.clientWidth);
    this.status = this.tall < LABELLED ? 0 : Math.min(250, Math.max(164, width * 0.3));
    this.room = Math.max(60, width - SEAT_WIDTH - this.status - 8);
    this.root.setAttribute("width", width);
    this.root.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.root.replaceChildren();
    this.pattern = addPatterns(this.root, this.name);
    this.from = null;
    this.layout();
  }

  layout() {
    const { run, words, tall } = this;
    const bottom = HEAD + run.lanes * tall;
    this.band = svg("rect", { class: "lk-band", y: HEAD - 3, height: bottom - HEAD + 6 }, this.root);
    const clip = svg("clipPath", { id: `${this.name}-clip` }, this.root);
    svg("rect", { x: -6, y: 0, width: this.room + 12, height: this.height }, clip);
    const place = { transform: `translate(${SEAT_WIDTH} 0)`, "clip-path": `url(#${this.name}-clip)` };
    this.cells = svg("g", place, this.root);
    this.frame = svg("rect", { class: "lk-now", y: HEAD - 3, height: bottom - HEAD + 6 }, this.root);
    this.axis = svg("g", { class: "lk-axis" }, this.root);
    svg("path", { class: "lk-line", d: `M${SEAT_WIDTH} ${bottom + 3}h${this.room}` }, this.root);
    this.states = [];
    if (this.status && tall < TALL) {
      const head = { x: SEAT_WIDTH + this.room + 12, y: HEAD - 4, class: "lk-faint" };
      svg("text", head, this.root).textContent = `${words.prompt} · ${words.output}`;
    }
    const every = tall >= LABELLED ? 1 : Math.ceil(run.lanes / 8);
    for (let lane = 0; lane < run.lanes; lane++) {
      const middle = HEAD + lane * tall + tall / 2;
      if (lane % every === 0) {
        svg("text", { x: SEAT_WIDTH - 8, y: middle + 4, "text-anchor": "end" }, this.root).textContent =
          `${words.seat} ${lane + 1}`;
      }
      if (!this.status) continue;
      const x = SEAT_WIDTH + this.room + 12, two = tall >= TALL;
      this.states.push([
        svg("text", { x, y: middle + (two ? -4 : 4), class: two ? "lk-who" : "lk-one" }, this.root),
        svg("text", { x, y: middle + (two ? 14 : 4) }, this.root),
      ]);
    }
  }

  x(ns) {
    return ((ns - this.from) / this.view.span) * this.room;
  }

  // Draw the run up to frame `index`, on a clock whose greatest time in view is `until`.
  show(index, until) {
    const from = this.view.from(until);
    if (from !== this.from) this.turn(from);
    const frames = this.run.frames, frame = frames[index];
    for (const [at, group] of this.groups) {
      const past = at <= index;
      if (group.shown !== past) {
        group.shown = past;
        group.style.display = past ? "" : "none";
      }
    }
    for (let at = index; at >= 0 && frames[at].end >= from; at--) {
      if (!this.groups.has(at)) this.groups.set(at, this.draw(frames[at], at));
    }
    this.mark(frame);
    if (this.status) this.tell(frame);
    this.root.setAttribute("aria-label", `${this.words.lanes}: ${frame.says[0]}${this.words.gap}${frame.says[2]}`);
  }

  // Turn the page: another stretch of time comes into view.
  turn(from) {
    this.from = from;
    this.groups.clear();
    this.cells.replaceChildren();
    this.axis.replaceChildren();
    const bottom = HEAD + this.run.lanes * this.tall + 3;
    for (const at of ticks(from, from + this.view.span, Math.floor(this.room / 96))) {
      const x = SEAT_WIDTH + this.x(at);
      svg("path", { d: `M${x} ${bottom}v5` }, this.axis);
      const anchor = x > SEAT_WIDTH + this.room - 20 ? "end" : "middle";
      svg("text", { x, y: bottom + 18, "text-anchor": anchor }, this.axis).textContent = clock(at);
    }
  }

  mark(frame) {
    const left = Math.max(0, this.x(frame.start)), right = Math.min(this.room, this.x(frame.end));
    for (const rect of [this.band, this.frame]) {
      rect.setAttribute("x", SEAT_WIDTH + left);
      rect.setAttribute("width", Math.max(0, right - left));
    }
  }

  tell(frame) {
    const { run, words } = this, told = new Map(frame.seats.map((seat) => [seat[0], seat]));
    this.states.forEach(([first, second], lane) => {
      const seat = told.get(lane);
      let who = "", far = "";
      if (seat) {
        const [, request, does, fresh, , computed, emitted, unread] = seat;
        const [prompt, bound] = run.asked[request];
        who = `${run.ids[request]} ${words[`mark_${does}`]}${fresh ? ` ${fresh}` : ""}`;
        const done = `${Math.min(computed, prompt)}/${prompt}`, out = `${emitted}/${bound}`;
        far = this.tall >= TALL ? `${words.prompt} ${done} ${words.output} ${out}` : `${done} · ${out}`;
        if (unread) far += ` ${words.unread} ${unread}`;
      } else if (lane < frame.limit) {
        who = frame.kind !== "end" && frame.waiting ? words.mark_waited : words.mark_empty;
      }
      if (this.tall >= TALL) {
        first.textContent = cutTo(who, this.status - 14, 14);
        second.textContent = cutTo(far, this.status - 14);
      } else {
        first.textContent = cutTo(seat ? `${run.ids[seat[1]]}  ${far}` : who, this.status - 14, 13);
      }
      first.classList.toggle("lk-faint", !seat);
      first.classList.toggle("lk-waited", !seat && frame.kind !== "end" && frame.waiting > 0);
    });
  }

  draw(frame, index) {
    const group = svg("g", { "data-round": frame.round ?? frame.kind });
    // Later cells lie over earlier ones, in whatever order they are asked for.
    this.cells.insertBefore(group, this.groups.get(index + 1) ?? null);
    const x = this.x(frame.start), width = Math.max(0.5, this.x(frame.end) - x);
    const told = new Map(frame.seats.map((seat) => [seat[0], seat]));
    const emitted = new Set(frame.tokens);
    let along = frame.along;
    if (frame.kind !== "end") {
      for (let lane = 0; lane < this.run.lanes; lane++) {
        const y = HEAD + lane * this.tall + (this.tall - this.inner) / 2;
        const seat = told.get(lane);
        if (seat) this.seat(group, seat, x, y, width, emitted.has(lane), index);
        else if (lane < frame.limit) this.empty(group, frame, x, y, width, along-- > 0);
      }
    }
    for (const [lane, at, finished] of frame.gone) this.gone(group, lane, this.x(at), finished);
    const bottom = HEAD + this.run.lanes * this.tall + 2;
    for (const at of new Set(frame.arrivals)) {
      svg("path", { class: "lk-arrival", d: `M${this.x(at)} ${bottom}l4 7h-8z` }, group);
    }
    return group;
  }

  seat(group, [lane, request, does, fresh], left, y, whole, token, index) {
    const x = Math.max(0, left), width = Math.max(0.5, left + whole - x);
    const runs = does === "prefill" || does === "decode", tall = this.inner, gap = width > 4 ? 1 : 0;
    const box = { x, y, width: width - gap, height: tall };
    const still = { fill: this.pattern("dots"), stroke: colour(request), "stroke-width": 2 };
    const looks = runs ? { fill: colour(request) } : still;
    svg("rect", { ...box, ...looks, class: runs ? "lk-cell" : "lk-held" }, group);
    const size = this.tall >= TALL ? 15 : 12;
    const cut = this.tall >= LABELLED ? cutTo(this.run.ids[request], width - 7, size) : "";
    const named = cut.length > 2 || cut === this.run.ids[request] ? cut : "";
    const what = `${this.words[`mark_${does}`]}${runs ? ` ${fresh}` : ""}`;
    const two = this.tall >= TALL && widthOf(what) <= width - (token ? 15 : 8);
    // The stripes of a prefill leave the ground of the label free.
    if (does === "prefill") {
      const strip = tall >= 20 && named ? { ...box, y: y + tall - 6, height: 6 } : box;
      svg("rect", { ...strip, fill: this.pattern("prefill") }, group);
    }
    if (!named && this.tall >= LABELLED) this.nameOver(group, lane, request, index, y, size);
    if (named) {
      const lift = does === "prefill" && tall >= 20 ? 1 : 5;
      const at = { x: x + 5, y: y + (this.tall >= TALL ? 17 : Math.min(tall - 4, tall / 2 + lift)) };
      const text = svg("text", { ...at, class: runs ? "lk-name" : "lk-name lk-plate" }, group);
      text.textContent = named;
      text.style.fontSize = `${size}px`;
      if (runs) this.halo(text, request);
      if (two) {
        const more = svg("text", { x: x + 5, y: y + 33, class: runs ? "" : "lk-plate" }, group);
        more.textContent = what;
        if (runs) more.style.fill = ink(request);
      }
    }
    if (token && this.tall >= 8) {
      const [r, cy] = this.tall >= TALL && width > 26 ? [4.5, y + tall - 9] : [Math.min(2.4, width / 3), y + 4];
      svg("circle", { class: "lk-token", cx: x + width - gap - r - 2, cy, r }, group);
    }
  }

  // Cells too narrow for a name: it stands over the first of them, as soon as there are enough.
  nameOver(group, lane, request, index, y, size) {
    const frames = this.run.frames, name = this.run.ids[request], wide = widthOf(name, size) + 8;
    const before = (at) => at > 0 && frames[at - 1].end > this.from &&
      this.x(frames[index].end) - this.x(frames[at].start) < 2 * wide &&
      frames[at - 1].seats.some((seat) => seat[0] === lane && seat[1] === request);
    let first = index;
    while (before(first)) first--;
    const x = Math.max(0, this.x(frames[first].start));
    const reach = (at) => this.x(frames[at].end) - x;
    if (reach(index) < wide || (index > first && reach(index - 1) >= wide)) return;
    const line = y + (this.tall >= TALL ? 17 : this.inner / 2 + 5);
    const text = svg("text", { x: x + 5, y: line, class: "lk-name" }, group);
    text.textContent = name;
    text.style.fontSize = `${size}px`;
    this.halo(text, request);
  }

  halo(text, request) {
    const stroke = { stroke: colour(request), strokeWidth: "3px", paintOrder: "stroke" };
    Object.assign(text.style, { fill: ink(request), ...stroke });
  }

  empty(group, frame, x, y, width, along) {
    const waited = frame.waiting > 0 && !along;
    const name = along ? this.words.mark_along : waited ? this.words.mark_waited : this.words.mark_empty;
    if (this.tall < TALL) {
      const d = `M${x + 1} ${y + this.inner / 2}h${Math.max(0.5, width - 3)}`;
      svg("path", { class: waited ? "lk-empty lk-waited" : "lk-empty", d }, group);
      return;
    }
    const box = { x: x + 1, y: y + 1, width: Math.max(0.5, width - 3), height: Math.max(1, this.inner - 2) };
    svg("rect", { ...box, class: waited ? "lk-empty lk-waited" : "lk-empty" }, group);
    const fits = [name, waited ? this.words.mark_empty : ""].find((text) => text && widthOf(text) <= width - 10);
    if (!fits) return;
    const at = { x: x + width / 2, y: y + this.inner / 2 + 4, "text-anchor": "middle" };
    svg("text", { ...at, class: waited ? "lk-waited" : "" }, group).textContent = fits;
  }

  // A flag where a request finished, a cross where it gave way or was stopped.
  gone(group, lane, x, finished) {
    const y = HEAD + lane * this.tall, tall = this.tall;
    const flag = `M${x - 1} ${y}v${tall}h-3v${-tall}zm-3 0h-7v${Math.min(7, tall / 2)}h7z`;
    if (finished) svg("path", { class: "lk-finish", d: flag }, group);
    else svg("path", { class: "lk-stop", d: `M${x - 5} ${y + tall / 2 - 5}l10 10m-10 0l10 -10` }, group);
  }
}
