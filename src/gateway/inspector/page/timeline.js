// The timeline of recorded runs: filter, lanes, table, details.

const roleMark = (role) => element("span", { className: `role ${ROLES[role]}`, text: said(ROLES[role]) });

// The columns as typed arrays.
function readRun(given) {
  const spans = {};
  for (const [name, column] of Object.entries(given.spans)) {
    spans[name] = name === "at" || name === "ms" ? Float64Array.from(column) : Uint32Array.from(column);
  }
  return { ...given, spans };
}

// The line of a span, as it is in the file.
const splitLines = [];
function lineOf(file, at) {
  splitLines[file] ??= (byId(`lines-${file}`)?.textContent ?? "").split("\n");
  try {
    return readJson(splitLines[file][at]);
  } catch {
    return null;
  }
}

class TimelinePart {
  constructor(runs) {
    this.runs = runs;
    this.filter = element("input", { className: "wide", type: "search", id: "filter", "aria-label": said("filter"), placeholder: "tool:read status:error >500ms -server:cache", oninput: () => this.apply() });
    this.count = element("span", { className: "dim", id: "count" });
    this.choice = element("select", { id: "run", "aria-label": said("recorded run"), onchange: () => this.open(this.choice.selectedIndex) });
    for (const run of runs) this.choice.append(element("option", { text: run.name }));
    this.choice.hidden = runs.length < 2;
    this.whole = element("button", { text: said("whole time"), title: "or double-click in the lanes; drag to look closer, Ctrl and the wheel to zoom", onclick: () => { this.chart.whole(); this.chart.request(); } });
    const legend = element("div", { className: "legend" });
    for (const [at, role] of ROLES.entries()) {
      if (role === "running" && data.runs) continue;
      const mark = element("i");
      mark.style.background = `var(--${role})`;
      const words = ["ok", "won", "ok, counted with others", "failed", "cancelled", "came late", "running"];
      legend.append(element("span", {}, mark, said(words[at])));
    }
    this.place = element("div");
    this.place.style.display = "contents";
    this.details = element("div", { className: "details", id: "details" });
    this.table = new VirtualTable(
      [["at", "60px", "number"], ["took", "60px", "number"], ["tool", "minmax(76px, 2fr)"], ["candidate", "minmax(64px, 1.2fr)"], ["", "80px"], ["outcome", "minmax(60px, 1fr)"]],
      (row) => this.cells(this.spanOf(row)),
      (row) => this.select(this.spanOf(row)),
    );
    this.table.node.classList.add("list");
    this.node = element("section", {},
      element("div", { className: "bar" }, this.choice, this.filter, this.count, this.whole),
      legend, this.place, element("div", { className: "split" }, this.table.node, this.details));
  }

  open(file) {
    this.file = file;
    this.run = this.runs[file];
    this.chart?.tip.remove();
    this.chart = new Chart(this.run, (at) => this.select(at));
    empty(this.place).append(this.chart.node);
    this.choice.selectedIndex = file;
    this.hint();
    notice(this.run.notices.map((one) => said(one)).join("\n"));
    this.apply();
  }

  hint() {
    const { spans, lanes } = this.run;
    empty(this.details).append(
      element("h2", { text: this.run.name }),
      facts([["began", this.run.begun ? new Date(this.run.begun).toISOString() : ""], ["spans", spans.at.length], ["lanes", lanes.length], ["whole time", duration(this.chart.end / 1.01)]]),
      element("p", { className: "dim", text: said("Choose a span in the lanes or in the table to see what was called and what came back.") }));
  }

  apply() {
    try {
      this.shown = filtered(this.run, this.filter.value);
      this.filter.setCustomValidity("");
      this.count.textContent = said("{} of {}", this.shown.length, this.run.spans.at.length);
      this.count.className = "dim";
    } catch (error) {
      this.filter.setCustomValidity(error.message);
      this.count.textContent = error.message;
      this.count.className = "failed";
      return;
    }
    this.chart.show(this.shown);
    this.list();
  }

  spanOf(row) { return this.shown[row]; }

  rowOf(at) { return this.shown.indexOf(at); }

  list() { this.table.show(this.shown.length); }

  scrollTo(row) { this.table.node.scrollTop = Math.max(0, row * ROW - this.table.node.clientHeight / 2); }

  cells(at) {
    const { run } = this;
    const { spans } = run;
    return [duration(spans.at[at]), duration(spans.ms[at]), run.names[spans.name[at]], run.lanes[spans.lane[at]].label, roleMark(spans.role[at]), run.outcomes[spans.outcome[at]]];
  }

  select(at) {
    this.chart.select(at);
    const row = this.rowOf(at);
    if (row >= 0 && this.table.on !== row) {
      this.table.on = row;
      this.scrollTo(row);
      this.table.draw();
    }
    empty(this.details).append(...spanDetails(this.run, this.file, at, (other) => this.select(other)));
  }
}

// What is known about a span; `pick` opens another candidate of its call.
function spanDetails(run, file, at, pick) {
  const { spans } = run;
  const line = lineOf(file, at) ?? {};
  const parts = [
    element("h2", { text: run.names[spans.name[at]] }),
    facts([
      ["part", roleMark(spans.role[at])], ["outcome", run.outcomes[spans.outcome[at]]], ["candidate", run.lanes[spans.lane[at]].label],
      ["type", run.kinds[spans.kind[at]]], ["began", said("{} after the beginning", duration(spans.at[at]))], ["took", duration(spans.ms[at])],
      ["caller", run.callers[spans.caller[at]]], ["view", line.view]]),
  ];
  const others = [];
  for (let other = 0; other < spans.call.length; other += 1) if (spans.call[other] === spans.call[at] && other !== at) others.push(other);
  if (others.length && pick) {
    parts.push(element("h3", { text: said("Other candidates of this call") }));
    for (const other of others) {
      parts.push(element("button", { onclick: () => pick(other) }, run.lanes[spans.lane[other]].label, " ", roleMark(spans.role[other]), ` ${duration(spans.ms[other])}`));
    }
  }
  for (const [title, value] of [["Arguments", line.arguments], ["Result", line.result], ["Error", line.error], ["Progress", line.progress], ["Tools", line.tools]]) {
    if (value !== undefined) parts.push(element("h3", { text: said(title) }), block(value));
  }
  return parts;
}
