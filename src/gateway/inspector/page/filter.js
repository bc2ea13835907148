// The filter: words that all have to hold, such as `tool:read status:error >500ms -lane:cache`.

const ROLES = ["ok", "won", "counted", "failed", "cancelled", "late", "running"];
const UNITS = { us: 0.001, ms: 1, s: 1000, m: 60000, min: 60000, "": 1 };

// A pattern with `*`, or a part of the text; small and capital letters are the same.
function matcher(pattern) {
  const wanted = pattern.toLowerCase();
  if (!wanted.includes("*")) return (text) => text.toLowerCase().includes(wanted);
  const parts = wanted.split("*");
  return (text) => {
    const lower = text.toLowerCase();
    if (!lower.startsWith(parts[0])) return false;
    let at = parts[0].length;
    for (const part of parts.slice(1, -1)) {
      const found = lower.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    const last = parts[parts.length - 1];
    return lower.length - last.length >= at && lower.endsWith(last);
  };
}

// Which entries of a list fit, so that 100,000 spans need no comparing of texts.
const fitting = (list, test) => Uint8Array.from(list, (text) => (test(text) ? 1 : 0));

// One word as a function from the place of a span to whether it fits. Throws a sentence.
function wordTest(word, run) {
  if (word.startsWith("-") && word.length > 1) {
    const test = wordTest(word.slice(1), run);
    return (at) => !test(at);
  }
  const limit = /^([<>]=?)(\d+(?:\.\d+)?)(us|ms|s|min|m|)$/.exec(word);
  if (limit) {
    const [, sign, number, unit] = limit;
    const ms = Number(number) * UNITS[unit];
    const spans = run.spans;
    if (sign === ">") return (at) => spans.ms[at] > ms;
    if (sign === ">=") return (at) => spans.ms[at] >= ms;
    if (sign === "<") return (at) => spans.ms[at] < ms;
    return (at) => spans.ms[at] <= ms;
  }
  const colon = word.indexOf(":");
  const key = colon > 0 ? word.slice(0, colon) : "tool";
  const value = colon > 0 ? word.slice(colon + 1) : word;
  if (!value) throw new Error(said("'{}' needs a value after the colon", word));
  const column = (name, list) => {
    const fits = fitting(list, matcher(value));
    const places = run.spans[name];
    return (at) => fits[places[at]] === 1;
  };
  switch (key) {
    case "tool": case "name": return column("name", run.names);
    case "lane": case "server": case "candidate": return column("lane", run.lanes.map((lane) => lane.label));
    case "type": return column("kind", run.kinds);
    case "caller": case "principal": return column("caller", run.callers);
    case "status": case "role": case "outcome": return statusTest(value.toLowerCase(), run);
    default: throw new Error(said("'{}:' is not known; use tool:, server:, status:, type:, caller: or a time such as >500ms", key));
  }
}

// A part in the call (won, late, …), `error` for all that failed, or a kind of error such as `timeout`.
function statusTest(value, run) {
  const { role, outcome } = run.spans;
  if (value === "error") return (at) => role[at] === 3;
  const wanted = ROLES.indexOf(value);
  const isOk = fitting(run.outcomes, (name) => name === "ok");
  if (value === "ok") return (at) => isOk[outcome[at]] === 1;
  if (wanted >= 0) return (at) => role[at] === wanted;
  const fits = fitting(run.outcomes, matcher(value));
  return (at) => fits[outcome[at]] === 1;
}

// The places of the spans that fit. Throws a sentence about a word that is wrong.
function filtered(run, text) {
  const tests = text.trim().split(/\s+/).filter(Boolean).map((word) => wordTest(word, run));
  const count = run.spans.at.length;
  const found = new Uint32Array(count);
  let kept = 0;
  for (let at = 0; at < count; at += 1) {
    if (tests.every((test) => test(at))) {
      found[kept] = at;
      kept += 1;
    }
  }
  return found.subarray(0, kept);
}
