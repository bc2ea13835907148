// The lanes, drawn on a canvas: only the rows that are visible, and no pixel of a row twice.

const LANE_HEAD = 18;
const BAR = 12;
const AXIS = 20;
const LANE_GAP = 4;

class Chart {
  constructor(run, picked) {
    this.run = run;
    this.picked = picked;
    this.shown = null;
    this.on = -1;
    this.canvas = element("canvas", { tabIndex: 0, role: "img" });
    this.canvas.setAttribute("aria-label", said("Timeline of the calls; the table below has the same spans"));
    this.space = element("div");
    this.node = element("div", { className: "chart" }, this.canvas, this.space);
    this.tip = element("div", { className: "tip", hidden: true });
    this.place();
    this.whole();
    this.listen();
  }

  // Where each lane begins, from the top.
  place() {
    let top = AXIS;
    this.tops = this.run.lanes.map((lane) => {
      const here = top;
      top += LANE_HEAD + lane.rows * BAR + LANE_GAP;
      return here;
    });
    this.height = top + 4;
  }

  whole() {
    const { at, ms } = this.run.spans;
    let end = 0;
    for (let i = 0; i < at.length; i += 1) if (at[i] + ms[i] > end) end = at[i] + ms[i];
    this.end = Math.max(end, 0.001) * 1.01;
    this.from = 0;
    this.to = this.end;
  }

  // Another state of the same run; the time that is looked at stays.
  update(run, on) {
    const later = this.run.begun - run.begun;
    const { from, to } = this;
    this.run = run;
    this.on = on;
    this.place();
    this.whole();
    this.from = Math.max(0, from + later);
    this.to = Math.min(this.end, Math.max(to + later, this.from + 0.001));
  }

  listen() {
    const { canvas } = this;
    this.node.addEventListener("scroll", () => this.request());
    new ResizeObserver(() => this.request()).observe(this.node);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.request());
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey && !event.deltaX) return;
      event.preventDefault();
      if (event.ctrlKey) this.zoom(event.offsetX, event.deltaY > 0 ? 1.25 : 0.8);
      else this.pan(((event.deltaX || event.deltaY) / canvas.clientWidth) * (this.to - this.from));
    }, { passive: false });
    canvas.addEventListener("dblclick", () => { this.from = 0; this.to = this.end; this.request(); });
    canvas.addEventListener("keydown", (event) => this.key(event));
    let start = null;
    canvas.addEventListener("pointerdown", (event) => { start = event.offsetX; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", (event) => {
      const begun = start;
      start = null;
      this.band = null;
      if (begun === null) return;
      if (Math.abs(event.offsetX - begun) > 4) {
        const [one, other] = [this.time(begun), this.time(event.offsetX)];
        this.from = Math.max(0, Math.min(one, other));
        this.to = Math.max(this.from + 0.001, Math.max(one, other));
        this.request();
      } else {
        const found = this.under(event.offsetX, event.offsetY + this.node.scrollTop);
        if (found >= 0) this.picked(found);
        this.request();
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (start !== null) {
        this.band = [start, event.offsetX];
        this.request();
      }
      this.hover(event);
    });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    document.body.append(this.tip);
  }

  key(event) {
    const width = this.to - this.from;
    if (event.key === "+" || event.key === "=") this.zoom(this.canvas.clientWidth / 2, 0.8);
    else if (event.key === "-") this.zoom(this.canvas.clientWidth / 2, 1.25);
    else if (event.key === "ArrowLeft") this.pan(-width / 10);
    else if (event.key === "ArrowRight") this.pan(width / 10);
    else if (event.key === "0") { this.from = 0; this.to = this.end; this.request(); } else return;
    event.preventDefault();
  }

  zoom(x, factor) {
    const middle = this.time(x);
    const from = Math.max(0, middle - (middle - this.from) * factor);
    const to = Math.min(this.end, middle + (this.to - middle) * factor);
    if (to - from < 0.001) return;
    [this.from, this.to] = [from, to];
    this.request();
  }

  pan(by) {
    const width = this.to - this.from;
    this.from = Math.min(Math.max(0, this.from + by), this.end - width);
    this.to = this.from + width;
    this.request();
  }

  time(x) {
    return this.from + (x / this.canvas.clientWidth) * (this.to - this.from);
  }

  // The span at a place, from the top of all lanes.
  under(x, y) {
    const { spans } = this.run;
    const lane = this.tops.findLastIndex((top) => y >= top + LANE_HEAD);
    if (lane < 0) return -1;
    const row = Math.floor((y - this.tops[lane] - LANE_HEAD) / BAR);
    const slack = (2 / this.canvas.clientWidth) * (this.to - this.from);
    const time = this.time(x);
    for (const at of this.shown) {
      if (spans.lane[at] === lane && spans.row[at] === row && time >= spans.at[at] - slack && time <= spans.at[at] + spans.ms[at] + slack) return at;
    }
    return -1;
  }

  hover(event) {
    const found = this.under(event.offsetX, event.offsetY + this.node.scrollTop);
    this.tip.hidden = found < 0;
    if (found < 0) return;
    const { run } = this;
    this.tip.textContent = `${run.names[run.spans.name[found]]} · ${ROLES[run.spans.role[found]]} · ${duration(run.spans.ms[found])}`;
    this.tip.style.left = `${Math.min(event.clientX + 12, innerWidth - 220)}px`;
    this.tip.style.top = `${event.clientY + 14}px`;
  }

  show(shown) {
    this.shown = shown;
    this.draw();
  }

  select(at) {
    this.on = at;
    this.request();
  }

  // At most one drawing for each frame.
  request() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  draw() {
    if (!this.shown || !this.node.isConnected || this.node.clientWidth === 0) return;
    const width = this.node.clientWidth;
    const most = parseFloat(getComputedStyle(this.node).maxHeight) || 400;
    const height = Math.min(this.height, Math.ceil(most));
    const ratio = devicePixelRatio || 1;
    const { canvas } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      this.space.style.height = `${Math.max(0, this.height - height)}px`;
    }
    const paint = canvas.getContext("2d");
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    paint.clearRect(0, 0, width, height);
    this.bars(paint, width, height, ROLES.map(colour), colour("text"));
    this.labels(paint, width, height, colour);
    this.axis(paint, width, colour);
    if (this.band) {
      paint.fillStyle = colour("accent");
      paint.globalAlpha = 0.15;
      paint.fillRect(Math.min(...this.band), 0, Math.abs(this.band[0] - this.band[1]), height);
      paint.globalAlpha = 1;
    }
  }

  bars(paint, width, height, colours, outline) {
    const { spans, lanes } = this.run;
    const scroll = this.node.scrollTop;
    const scale = width / (this.to - this.from);
    const rowOf = [];
    let rows = 0;
    for (const lane of lanes) { rowOf.push(rows); rows += lane.rows; }
    // Failures are drawn last, so that none is hidden behind a success.
    for (const failures of [false, true]) {
      const covered = new Float64Array(rows).fill(-1);
      for (const at of this.shown) {
        const role = spans.role[at];
        if ((role === 3) !== failures) continue;
        const x = (spans.at[at] - this.from) * scale;
        const end = x + Math.max(spans.ms[at] * scale, 1.5);
        if (end < 0 || x > width) continue;
        const lane = spans.lane[at];
        const row = rowOf[lane] + spans.row[at];
        if (end <= covered[row] + 0.5) continue;
        const y = this.tops[lane] + LANE_HEAD + spans.row[at] * BAR - scroll;
        if (y < -BAR || y > height) continue;
        const left = Math.max(x, covered[row], 0);
        paint.fillStyle = colours[role];
        paint.fillRect(left, y + 1, Math.max(Math.min(end, width) - left, 1), BAR - 3);
        if (end > covered[row]) covered[row] = end;
      }
    }
    if (this.on >= 0) {
      const lane = spans.lane[this.on];
      const y = this.tops[lane] + LANE_HEAD + spans.row[this.on] * BAR - scroll;
      paint.strokeStyle = outline;
      paint.lineWidth = 1.5;
      paint.strokeRect((spans.at[this.on] - this.from) * scale - 1, y, Math.max(spans.ms[this.on] * scale, 1.5) + 2, BAR - 1);
    }
  }

  labels(paint, width, height, colour) {
    paint.font = "12px system-ui, sans-serif";
    paint.textBaseline = "middle";
    this.run.lanes.forEach((lane, at) => {
      const y = this.tops[at] - this.node.scrollTop;
      if (y < -LANE_HEAD || y > height) return;
      paint.strokeStyle = colour("line");
      paint.lineWidth = 1;
      paint.beginPath();
      paint.moveTo(0, y + 0.5);
      paint.lineTo(width, y + 0.5);
      paint.stroke();
      paint.fillStyle = colour("text");
      paint.fillText(lane.label.slice(0, 120), 6, y + LANE_HEAD / 2 + 1, width - 12);
    });
  }

  axis(paint, width, colour) {
    paint.fillStyle = colour("panel");
    paint.fillRect(0, 0, width, AXIS);
    const span = this.to - this.from;
    const rough = (span * 90) / width;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    paint.fillStyle = colour("dim");
    paint.strokeStyle = colour("line");
    paint.font = "11px system-ui, sans-serif";
    paint.textBaseline = "middle";
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = ((time - this.from) / span) * width;
      paint.beginPath();
      paint.moveTo(x + 0.5, AXIS - 5);
      paint.lineTo(x + 0.5, AXIS);
      paint.stroke();
      paint.fillText(duration(time), x + 3, AXIS / 2);
    }
  }
}
