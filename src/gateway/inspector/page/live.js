// The calls of a served hub while they run: the timeline of the last ones, asked for again and again while it is looked at.

const ASK_AGAIN = 500;
const AFTER_TROUBLE = 3000;
const MINUTE = 60000;

class LivePart extends TimelinePart {
  constructor(access) {
    super([]);
    this.access = access;
    this.change = null;
    this.first = 0;
    this.framed = null;
    this.pause = element("button", { id: "pause", text: said("pause"), onclick: () => this.turn() });
    this.recent = element("select", { id: "recent", "aria-label": said("time"), onchange: () => { this.frame(); this.chart?.request(); } });
    for (const words of ["last minute", "whole time"]) this.recent.append(element("option", { text: said(words) }));
    this.whole.replaceWith(this.recent, this.pause);
    this.wrong = element("div", { id: "calls-wrong" });
    this.node.prepend(this.wrong);
  }

  turn() {
    this.isPaused = !this.isPaused;
    this.pause.textContent = this.isPaused ? said("resume") : said("pause");
    this.follow();
  }

  follow() {
    this.chart?.request();
    if (this.isAsking || this.isPaused || this.node.hidden) return;
    this.isAsking = true;
    this.ask().then((wait) => {
      this.isAsking = false;
      if (wait !== null) setTimeout(() => this.follow(), wait);
    });
  }

  // The answer has numbers of the hub only, and comes often. How long to wait before the next question; null if the user has to do something first.
  async ask() {
    try {
      this.take(await askInspector(this.access, `inspect/calls${this.change === null ? "" : `?after=${this.change}`}`, undefined, JSON.parse));
      empty(this.wrong);
      return ASK_AGAIN;
    } catch (error) {
      empty(this.wrong).append(keyHint(error, this.access, () => this.follow()));
      return error.status === 401 || error.status === 403 ? null : AFTER_TROUBLE;
    }
  }

  take({ change, first, run: given }) {
    this.change = change;
    if (!given) return;
    const run = readRun(given);
    this.runs = [run];
    if (!this.chart) {
      this.first = first;
      this.open(0);
      this.frame();
      return;
    }
    const on = this.chart.on - (first - this.first);
    const isFramed = this.chart.from === this.framed[0] && this.chart.to === this.framed[1];
    this.first = first;
    this.run = run;
    this.chart.update(run, Math.max(on, -1));
    if (isFramed) this.frame();
    this.apply();
    if (on >= 0) this.select(on);
    else this.hint();
  }

  frame() {
    if (!this.chart) return;
    this.chart.whole();
    if (this.recent.selectedIndex === 0) this.chart.from = Math.max(0, this.chart.to - MINUTE);
    this.framed = [this.chart.from, this.chart.to];
  }

  hint() {
    empty(this.details).append(element("p", { className: "dim", text: said("Calls through this server appear here while they run. Arguments and results are not kept.") }));
  }

  // The last call comes first.
  spanOf(row) { return this.shown[this.shown.length - 1 - row]; }

  rowOf(at) {
    const place = this.shown.indexOf(at);
    return place < 0 ? -1 : this.shown.length - 1 - place;
  }

  list() { this.table.change(this.shown.length); }

  scrollTo() {}
}
