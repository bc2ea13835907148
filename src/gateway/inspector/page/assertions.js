// Saved calls, in the browser's own storage, and what their answers have to be. One assertion a line:
//
//   ok                        error
//   text contains "paid"      ms < 500
//   structured.total = 3      content[0].type = "text"

const SAVED = "toolhub.inspector.saved";

function savedCalls() {
  try {
    const saved = readJson(localStorage.getItem(SAVED) ?? "[]");
    return Array.isArray(saved) ? saved.filter((one) => one && typeof one.tool === "string" && typeof one.name === "string") : [];
  } catch {
    return [];
  }
}

function saveCalls(calls) {
  try {
    localStorage.setItem(SAVED, writeJson(calls));
  } catch (error) {
    notice(said("The browser cannot save calls: {}", error.message));
  }
}

// What assertions look at.
function answerView(answer) {
  const result = answer.result ?? {};
  const content = Array.isArray(result.content) ? result.content : [];
  return {
    ok: !answer.error && !result.isError,
    error: answer.error?.message ?? null,
    text: content.filter((part) => part && part.type === "text").map((part) => part.text).join("\n"),
    structured: result.structuredContent ?? null,
    content,
    ms: Math.round(answer.ms * 10) / 10,
  };
}

function valueAt(view, path) {
  let value = view;
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

const OPERATORS = {
  "=": isSame,
  "!=": (seen, wanted) => !isSame(seen, wanted),
  "<": (seen, wanted) => isNumber(seen) && isNumber(wanted) && compareNumbers(seen, wanted) < 0,
  ">": (seen, wanted) => isNumber(seen) && isNumber(wanted) && compareNumbers(seen, wanted) > 0,
  contains: (seen, wanted) => (Array.isArray(seen) ? seen.some((one) => isSame(one, wanted)) : String(seen ?? "").includes(String(wanted))),
};

// What is wrong with an answer: a sentence for each assertion that does not hold.
function failedAssertions(text, answer) {
  const view = answerView(answer);
  const failures = [];
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    if (line === "ok") {
      if (!view.ok) failures.push(said("expected success, got {}", view.error ?? view.text));
      continue;
    }
    if (line === "error") {
      if (view.ok) failures.push(said("expected an error, and the call succeeded"));
      continue;
    }
    const parts = /^(\S+)\s+(=|!=|<|>|contains)\s+(.+)$/.exec(line);
    if (!parts) {
      failures.push(said("'{}' is not an assertion; write ok, error, or: place = value (also !=, <, >, contains)", line));
      continue;
    }
    const [, path, sign, right] = parts;
    let wanted = right;
    try { wanted = readJson(right); } catch { /* a bare word is text */ }
    const seen = valueAt(view, path);
    if (!OPERATORS[sign](seen, wanted)) failures.push(said("{}: it is {}", line, seen === undefined ? said("not there") : writeJson(seen)));
  }
  return failures;
}
