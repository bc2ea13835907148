// Two runs beside each other.

const CHANGES = { same: "the same", arguments: "other arguments", outcome: "other outcome", result: "other result", slower: "slower", faster: "faster", added: "only in the second", removed: "only in the first" };
const CHANGE_COLOURS = { same: "cancelled", arguments: "late", outcome: "failed", result: "late", slower: "late", faster: "won", added: "ok", removed: "failed" };

class DiffPart {
  constructor(runs, pairs) {
    this.runs = runs;
    this.pairs = pairs;
    this.hidden = new Set(["same"]);
    this.buttons = element("div", { className: "bar" });
    this.details = element("div", { className: "details" });
    this.table = new VirtualTable(
      [["", "130px"], ["tool", "minmax(76px, 1.2fr)"], ["candidate", "minmax(64px, 1fr)"], ["first", "60px", "number"], ["second", "60px", "number"], ["where", "minmax(90px, 2fr)"]],
      (row) => this.cells(this.shown[row]),
      (row) => this.select(this.shown[row]),
    );
    this.table.node.classList.add("list");
    this.node = element("section", {},
      this.buttons,
      element("div", { className: "split" }, this.table.node, this.details));
    this.apply();
  }

  apply() {
    const counts = {};
    for (const pair of this.pairs) counts[pair.change] = (counts[pair.change] ?? 0) + 1;
    empty(this.buttons);
    for (const [change, words] of Object.entries(CHANGES)) {
      if (!counts[change]) continue;
      const box = element("input", { type: "checkbox", checked: !this.hidden.has(change), onchange: () => { if (box.checked) this.hidden.delete(change); else this.hidden.add(change); this.apply(); } });
      this.buttons.append(element("label", {}, box, ` ${said(words)} (${counts[change]})`));
    }
    this.shown = this.pairs.filter((pair) => !this.hidden.has(pair.change));
    if (!this.shown.length) {
      empty(this.details).append(element("p", { text: counts.same === this.pairs.length ? said("Both runs did the same.") : said("Nothing to show.") }));
    }
    this.table.show(this.shown.length);
  }

  side(pair) {
    return pair.a !== null ? [this.runs[0], pair.a] : [this.runs[1], pair.b];
  }

  cells(pair) {
    const [run, at] = this.side(pair);
    const took = (which, place) => (place === null ? "–" : duration(this.runs[which].spans.ms[place]));
    return [element("span", { className: `role ${CHANGE_COLOURS[pair.change]}`, text: said(CHANGES[pair.change]) }), run.names[run.spans.name[at]], run.lanes[run.spans.lane[at]].label, took(0, pair.a), took(1, pair.b), pair.note ?? ""];
  }

  select(pair) {
    const side = (which, at) => element("div", {}, element("h3", { text: this.runs[which].name }),
      ...(at === null ? [element("p", { className: "dim", text: said("This call is not in this run.") })] : spanDetails(this.runs[which], which, at)));
    empty(this.details).append(
      element("p", { text: pair.note ?? said(CHANGES[pair.change]) }),
      element("div", { className: "two" }, side(0, pair.a), side(1, pair.b)));
  }
}
