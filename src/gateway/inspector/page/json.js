// JSON that keeps its numbers. JavaScript rounds whole numbers above 2^53, and writes 1.0 as 1: a number that it would write
// in another way is kept as the text that was read. What users give, send, see and compare goes through here; `JSON.parse` with
// the source of numbers does the same, but not in every browser that is in use.

class WrittenNumber {
  #text;

  constructor(text) { this.#text = text; }

  toString() { return this.#text; }

  // For lengths and sizes in schemas, which nobody writes with twenty digits.
  valueOf() { return Number(this.#text); }
}

const isNumber = (value) => typeof value === "number" || value instanceof WrittenNumber;

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !isNumber(value);

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
// The beginning of a text, other values, and what opens and closes. Commas and colons say nothing more.
const TOKEN = /["[\]{}]|[-\d][-+.\deE]*|true|false|null/g;

function exactNumber(text) {
  const number = Number(text);
  return String(number) === text ? number : new WrittenNumber(text);
}

function readJson(text) {
  const plain = JSON.parse(text);
  // Without such digits somewhere there is no number to keep.
  return /\d[.eE]|\d{16}|-0/.test(text) ? readTokens(text) : plain;
}

// The value of a text that is known to be JSON.
function readTokens(text) {
  const whole = [];
  const open = [whole];
  let key;
  for (const token of tokensOf(text)) {
    const into = open[open.length - 1];
    if (token === "]" || token === "}") { open.pop(); continue; }
    if (key === undefined && !Array.isArray(into)) { key = JSON.parse(token); continue; }
    const value = token === "{" ? {} : token === "[" ? [] : NUMBER.test(token) ? exactNumber(token) : JSON.parse(token);
    if (Array.isArray(into)) into.push(value);
    else if (key !== "__proto__") into[key] = value;
    // An assignment would take it for something else than a member.
    else Object.defineProperty(into, key, { value, enumerable: true, configurable: true, writable: true });
    key = undefined;
    if (token === "{" || token === "[") open.push(value);
  }
  return whole[0];
}

// A pattern for whole texts would need a stack as long as they are.
function* tokensOf(text) {
  const token = new RegExp(TOKEN);
  for (let found = token.exec(text); found; found = token.exec(text)) {
    if (found[0] !== "\"") { yield found[0]; continue; }
    let end = found.index;
    let escapes;
    do {
      end = text.indexOf("\"", end + 1);
      escapes = end;
      while (text[escapes - 1] === "\\") escapes -= 1;
    } while ((end - escapes) % 2 === 1);
    token.lastIndex = end + 1;
    yield text.slice(found.index, end + 1);
  }
}

// As `JSON.stringify`: `indent` is that of one level, and members that are undefined are left out.
function writeJson(value, indent = "", margin = "") {
  if (value instanceof WrittenNumber) return value.toString();
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = margin + indent;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((one) => writeJson(one, indent, inner) ?? "null")
    : Object.keys(value).filter((key) => value[key] !== undefined).map((key) => `${JSON.stringify(key)}:${indent && " "}${writeJson(value[key], indent, inner)}`);
  const [begin, end] = isList ? "[]" : "{}";
  if (!parts.length) return begin + end;
  return indent ? `${begin}\n${inner}${parts.join(`,\n${inner}`)}\n${margin}${end}` : `${begin}${parts.join(",")}${end}`;
}

// A number as sign, digits without zeros at either end, and the power of ten of the last one.
function decimalOf(number) {
  const [, minus, whole, part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(String(number));
  const digits = (whole + part).replace(/^0+/, "");
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end -= 1;
  if (end === 0) return { sign: 0, digits: "", power: 0n };
  return { sign: minus ? -1 : 1, digits: digits.slice(0, end), power: BigInt(power) - BigInt(part.length) + BigInt(digits.length - end) };
}

const isWhole = (number) => decimalOf(number).power >= 0n;

// Below 0 if the first number is smaller, 0 if they are equal.
function compareNumbers(one, other) {
  const [a, b] = [decimalOf(one), decimalOf(other)];
  if (a.sign !== b.sign) return a.sign - b.sign;
  const [sizeA, sizeB] = [a, b].map(({ digits, power }) => power + BigInt(digits.length));
  if (sizeA !== sizeB) return sizeA < sizeB ? -a.sign : a.sign;
  return a.digits === b.digits ? 0 : a.digits < b.digits ? -a.sign : a.sign;
}

// Whether two values are equal as JSON: 1 and 1.0 are, and the order of members does not count.
function isSame(one, other) {
  if (isNumber(one) || isNumber(other)) return isNumber(one) && isNumber(other) && compareNumbers(one, other) === 0;
  if (one === null || other === null || typeof one !== "object" || typeof other !== "object") return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]));
}

