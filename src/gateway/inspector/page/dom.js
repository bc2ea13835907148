// Elements and tables. Text gets into the page through `textContent` only.

const byId = (id) => document.getElementById(id);

// What the page was given.
const data = JSON.parse(byId("data").textContent);

// A sentence in the language of the page. `{}` stands for the values.
function said(english, ...values) {
  const words = data.words && Object.hasOwn(data.words, english) ? data.words[english] : english;
  let next = 0;
  return words.replace(/\{(\d?)\}/g, (_, at) => { next += 1; return String(values[at === "" ? next - 1 : at]); });
}

// An element: `set` has properties (`className`, `onclick`, …), attributes with a dash or `role`, and `text`.
function element(tag, set = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(set)) {
    if (value === undefined) continue;
    if (key === "text") made.textContent = value;
    else if (key.includes("-") || key === "role" || key === "for") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const empty = (node) => { node.replaceChildren(); return node; };

function notice(text) {
  const place = byId("notice");
  place.textContent = text;
  place.hidden = !text;
}

function duration(ms) {
  if (ms === 0) return "0 ms";
  if (ms >= 60000) return `${(ms / 60000).toFixed(1)} min`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return `${ms >= 10 ? ms.toFixed(0) : ms.toFixed(ms >= 0.1 ? 1 : 3)} ms`;
}

function pretty(value) {
  return typeof value === "string" ? value : writeJson(value, "  ") ?? "";
}

const block = (value) => element("pre", { text: pretty(value) });

function facts(pairs) {
  const list = element("dl");
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(element("dt", { text: said(name) }));
    list.append(value instanceof Node ? element("dd", {}, value) : element("dd", { text: String(value) }));
  }
  return list;
}

const ROW = 26;

// A table that has elements for the visible rows only. `columns`: [title, width, className]; `cells(at)`: texts or nodes.
class VirtualTable {
  constructor(columns, cells, picked) {
    this.cells = cells;
    this.picked = picked;
    this.columns = columns;
    this.count = 0;
    this.on = -1;
    this.template = columns.map(([, width]) => width).join(" ");
    const head = element("div", { className: "head", role: "row" });
    head.style.gridTemplateColumns = this.template;
    for (const [title, , className] of columns) {
      head.append(element("span", { text: said(title), className: className ?? "", role: "columnheader" }));
    }
    this.body = element("div");
    this.body.style.position = "relative";
    this.node = element("div", { className: "table", role: "table", tabIndex: 0 }, head, this.body);
    this.node.addEventListener("scroll", () => this.draw());
    this.node.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  show(count) {
    this.node.scrollTop = 0;
    this.change(count);
  }

  // Other rows, at the place that is looked at.
  change(count) {
    this.count = count;
    this.on = -1;
    this.body.style.height = `${count * ROW}px`;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW) - 4);
    const last = Math.min(this.count, Math.ceil((this.node.scrollTop + this.node.clientHeight) / ROW) + 4);
    const rows = [];
    for (let at = first; at < last; at += 1) rows.push(this.row(at));
    this.body.replaceChildren(...rows);
  }

  row(at) {
    const row = element("div", { className: at === this.on ? "row on" : "row", role: "row", onclick: () => this.pick(at) });
    row.style.top = `${at * ROW}px`;
    row.style.gridTemplateColumns = this.template;
    this.cells(at).forEach((cell, place) => {
      const className = this.columns[place][2] ?? "";
      row.append(cell instanceof Node
        ? element("span", { className, role: "cell" }, cell)
        : element("span", { className, role: "cell", text: cell, title: cell }));
    });
    return row;
  }

  pick(at) {
    this.on = at;
    this.draw();
    this.picked(at);
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !this.count) return;
    event.preventDefault();
    const at = Math.min(this.count - 1, Math.max(0, this.on + step));
    const top = at * ROW;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    const lowest = this.node.scrollTop + this.node.clientHeight - 2 * ROW;
    if (top > lowest) this.node.scrollTop += top - lowest;
    this.pick(at);
  }
}

// The parts of the page, each with a button; `shown` is called whenever one is opened.
const tabs = [];
function addTab(id, title, node, shown = () => {}) {
  node.classList.add("part");
  node.id = `part-${id}`;
  node.hidden = true;
  node.setAttribute("role", "tabpanel");
  node.setAttribute("aria-labelledby", `tab-${id}`);
  const button = element("button", { text: title, id: `tab-${id}`, role: "tab", onclick: () => openTab(id) });
  byId("tabs").append(button);
  byId("main").append(node);
  tabs.push({ id, node, button, shown });
}
function openTab(id) {
  for (const tab of tabs) {
    tab.node.hidden = tab.id !== id;
    tab.button.setAttribute("aria-selected", String(tab.id === id));
    if (tab.id === id) tab.shown();
  }
}
