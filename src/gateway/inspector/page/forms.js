// A form made from a JSON Schema. A field is { node, read(), write(value) }; `read` throws a FieldError, whose text is shown at the
// field. What the form cannot show is edited as JSON. The hub checks the arguments; the form only helps to write them.
//
// `label` has the attributes that tell a screen reader what a field is; each element that takes input gets them.

class FieldError extends Error {}

const NOTHING = Symbol("nothing");

const labelOf = (name) => ({ "aria-label": name });
const nameIn = (label) => label["aria-label"];
const labelWith = (label, words) => labelOf(`${nameIn(label)}: ${words}`);

let lastId = 0;
const newId = () => { lastId += 1; return `field-${lastId}`; };

// The schema that a reference means, with what stands beside it. Only references inside the same schema are followed.
function resolved(schema, root) {
  let found = schema === true || schema === undefined || schema === null ? {} : schema;
  for (let step = 0; step < 20 && found && typeof found === "object" && typeof found.$ref === "string"; step += 1) {
    const { $ref, ...beside } = found;
    if (!$ref.startsWith("#")) return beside;
    let target = root;
    for (const part of $ref.slice(1).split("/").filter(Boolean)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      target = target && typeof target === "object" && Object.hasOwn(target, key) ? target[key] : undefined;
    }
    if (target === undefined) return beside;
    found = { ...(typeof target === "object" ? target : {}), ...beside };
  }
  if (found && Array.isArray(found.allOf)) {
    const { allOf, ...beside } = found;
    const parts = allOf.map((part) => resolved(part, root));
    // Not `Object.assign`, which takes a member `__proto__` for something else.
    found = [...parts, beside].reduce((all, part) => ({ ...all, ...part }), {});
    found.properties = [...parts, beside].reduce((all, part) => ({ ...all, ...part.properties }), {});
    found.required = [...new Set([...parts.flatMap((part) => part.required ?? []), ...(beside.required ?? [])])];
    if (!Object.keys(found.properties).length) delete found.properties;
  }
  return found && typeof found === "object" ? found : {};
}

const typesOf = (schema) => (Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type]);

// The same schema without null, and whether null was in it.
function withoutNull(schema, root) {
  if (schema.nullable === true) return [{ ...schema, nullable: undefined }, true];
  const types = typesOf(schema);
  if (types.includes("null") && types.length > 1) {
    const rest = types.filter((type) => type !== "null");
    const kept = Array.isArray(schema.enum) ? { enum: schema.enum.filter((value) => value !== null) } : {};
    return [{ ...schema, ...kept, type: rest.length === 1 ? rest[0] : rest }, true];
  }
  for (const key of ["anyOf", "oneOf"]) {
    if (!Array.isArray(schema[key])) continue;
    const rest = schema[key].filter((option) => resolved(option, root).type !== "null");
    if (rest.length === schema[key].length || !rest.length) continue;
    const { [key]: _, ...beside } = schema;
    return [rest.length === 1 ? { ...resolved(rest[0], root), ...beside } : { ...beside, [key]: rest }, true];
  }
  return [schema, false];
}

function hintOf(schema) {
  const words = [];
  const types = typesOf(schema);
  if (types.length) words.push(types.join(" or "));
  if (schema.format) words.push(String(schema.format));
  for (const [key, sign] of [["minimum", "≥"], ["exclusiveMinimum", ">"], ["maximum", "≤"], ["exclusiveMaximum", "<"], ["minLength", "length ≥"], ["maxLength", "length ≤"], ["minItems", "items ≥"], ["maxItems", "items ≤"], ["pattern", "matches"]]) {
    if (schema[key] !== undefined) words.push(`${sign} ${schema[key]}`);
  }
  return words.join(", ");
}

function fieldFor(given, root, depth, label) {
  const [schema, isNullable] = withoutNull(resolved(given, root), root);
  const inner = plainField(schema, root, depth, label);
  const field = isNullable ? nullableField(inner, label) : inner;
  const preset = schema.default !== undefined ? schema.default : schema.const;
  if (preset !== undefined) field.write(preset);
  return field;
}

function plainField(schema, root, depth, label) {
  if (schema.const !== undefined) return choiceField([schema.const], label);
  if (Array.isArray(schema.enum) && schema.enum.length) return choiceField(schema.enum, label);
  for (const key of ["anyOf", "oneOf"]) {
    if (Array.isArray(schema[key]) && schema[key].length) return variantField(schema[key], root, depth, label);
  }
  const types = typesOf(schema);
  if (types.length > 1) return variantField(types.map((type) => ({ ...schema, type, default: undefined })), root, depth, label);
  const type = types[0] ?? (schema.properties ? "object" : schema.items || schema.prefixItems ? "array" : undefined);
  switch (type) {
    case "string": return textField(label);
    case "integer": case "number": return numberField(type, label);
    case "boolean": return choiceField([true, false], label);
    case "null": return choiceField([null], label);
    case "array": return depth > 12 ? jsonField(label) : arrayField(schema, root, depth, label);
    case "object": return depth > 12 ? jsonField(label) : objectField(schema, root, depth, label);
    default: return jsonField(label);
  }
}

function textField(label) {
  const input = element("textarea", { rows: 1, ...label });
  const fit = () => { input.rows = Math.min(12, Math.max(1, input.value.split("\n").length)); };
  input.addEventListener("input", fit);
  return { node: input, read: () => input.value, write: (value) => { input.value = typeof value === "string" ? value : writeJson(value); fit(); } };
}

function numberField(type, label) {
  const input = element("input", { type: "text", inputMode: "decimal", ...label });
  return {
    node: input,
    read: () => {
      const text = input.value.trim();
      if (text === "") throw new FieldError(said("a number is missing"));
      const number = Number(text);
      const isJson = NUMBER.test(text);
      // What is no JSON, such as `.5`, is taken where it means the same number.
      if (!isJson && !(Math.abs(number) <= Number.MAX_SAFE_INTEGER)) throw new FieldError(said("'{}' is not a number", text));
      const given = isJson ? exactNumber(text) : number;
      if (type !== "integer") return given;
      if (!isWhole(given)) throw new FieldError(said("'{}' is not a whole number", text));
      return Number.isSafeInteger(number) ? number : given;
    },
    write: (value) => { input.value = String(value); },
  };
}

function choiceField(values, label) {
  const select = element("select", label);
  for (const value of values) select.append(element("option", { text: typeof value === "string" ? value : writeJson(value) }));
  return {
    node: select,
    read: () => values[select.selectedIndex],
    write: (value) => {
      const at = values.findIndex((one) => isSame(one, value));
      if (at >= 0) select.selectedIndex = at;
    },
  };
}

function jsonField(label) {
  const input = element("textarea", { rows: 2, placeholder: "JSON", ...label });
  return {
    node: input,
    read: () => {
      try {
        return readJson(input.value);
      } catch (error) {
        throw new FieldError(said("this is not JSON: {}", error.message));
      }
    },
    write: (value) => { input.value = writeJson(value); },
  };
}

function nullableField(inner, label) {
  const box = element("input", { type: "checkbox", ...labelWith(label, "null"), onchange: () => { inner.node.hidden = box.checked; } });
  const node = element("div", {}, element("label", { className: "hint" }, box, " null"), inner.node);
  return {
    node,
    read: () => (box.checked ? null : inner.read()),
    write: (value) => {
      box.checked = value === null;
      inner.node.hidden = box.checked;
      if (value !== null) inner.write(value);
    },
  };
}

// One of several schemas; the field of a schema is made when it is chosen.
function variantField(options, root, depth, label) {
  const schemas = options.map((option) => resolved(option, root));
  const select = element("select", { ...labelWith(label, said("kind")), onchange: () => choose(select.selectedIndex) });
  schemas.forEach((schema, at) => {
    const fallback = schema.const !== undefined ? writeJson(schema.const) : typesOf(schema).join(" or ") || `choice ${at + 1}`;
    select.append(element("option", { text: schema.title ?? fallback }));
  });
  const place = element("div");
  let field;
  function choose(at) {
    select.selectedIndex = at;
    field = fieldFor(schemas[at], root, depth + 1, label);
    empty(place).append(field.node);
  }
  choose(0);
  return {
    node: element("div", {}, select, place),
    read: () => field.read(),
    write: (value) => {
      const found = schemas.findIndex((schema) => looksLike(value, schema));
      choose(found < 0 ? select.selectedIndex : found);
      field.write(value);
    },
  };
}

// Whether a value is of the kind that a schema describes; enough to choose a variant.
function looksLike(value, schema) {
  if (schema.const !== undefined) return isSame(schema.const, value);
  if (Array.isArray(schema.enum)) return schema.enum.some((one) => isSame(one, value));
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : isNumber(value) ? (isWhole(value) ? "integer" : "number") : typeof value;
  const types = typesOf(schema);
  if (types.length && !types.includes(kind) && !(kind === "integer" && types.includes("number"))) return false;
  if (kind !== "object" || !schema.properties) return true;
  if (!(schema.required ?? []).every((key) => Object.hasOwn(value, key))) return false;
  return Object.entries(schema.properties).every(([key, part]) => !Object.hasOwn(value, key) || part.const === undefined || isSame(part.const, value[key]));
}

function arrayField(schema, root, depth, label) {
  const list = element("div");
  const fixed = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  let items = [];
  const schemaAt = (at) => (at < fixed.length ? fixed[at] : schema.items ?? {});
  const hasMore = () => schema.items !== false || items.length < fixed.length;
  function add(value = NOTHING) {
    const own = labelOf(`${nameIn(label)} ${items.length + 1}`);
    const field = fieldFor(schemaAt(items.length), root, depth + 1, own);
    if (value !== NOTHING) field.write(value);
    const entry = { field, wrong: element("span", { className: "wrong" }) };
    entry.node = element("div", { className: "item" }, element("div", {}, field.node, entry.wrong), element("button", { type: "button", text: said("remove"), ...labelWith(own, said("remove")), onclick: () => { items = items.filter((one) => one !== entry); entry.node.remove(); } }));
    items.push(entry);
    list.append(entry.node);
  }
  const more = element("button", { type: "button", text: said("add"), ...labelWith(label, said("add")), onclick: () => { if (hasMore()) add(); } });
  for (let at = 0; at < Math.min(Math.max(schema.minItems ?? 0, fixed.length), 10); at += 1) add();
  return {
    node: element("fieldset", label, list, more),
    read: () => items.map((entry) => readMarked(entry.field, entry.wrong)),
    write: (value) => {
      items = [];
      empty(list);
      if (Array.isArray(value)) value.forEach((one) => add(one));
    },
  };
}

// Shows at the field what is wrong with it.
function readMarked(field, wrong) {
  wrong.textContent = "";
  try {
    return field.read();
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    wrong.textContent = error.message;
    throw new FieldError(said("some fields are wrong"));
  }
}

// A property. One that is not required is left out unless its box is ticked; its field is made then, which also ends recursion.
function propertyField(name, schema, root, isRequired, depth) {
  const shown = resolved(schema, root);
  const place = element("div");
  const wrong = element("span", { className: "wrong", id: newId() });
  const hint = element("span", { className: "hint", id: newId(), text: `${isRequired ? `${said("required")} ` : ""}${hintOf(shown)}` });
  const about = shown.description ? element("div", { className: "hint", id: newId(), text: shown.description }) : null;
  const label = { ...labelOf(name), "aria-describedby": [hint, about, wrong].filter(Boolean).map((node) => node.id).join(" ") };
  let field = null;
  const ensure = () => { if (!field) { field = fieldFor(schema, root, depth + 1, label); place.append(field.node); } };
  const box = element("input", { type: "checkbox", onchange: () => { if (box.checked) ensure(); place.hidden = !box.checked; } });
  const set = (isOn) => { box.checked = isOn; if (isOn) ensure(); place.hidden = !isOn; };
  set(isRequired || shown.default !== undefined);
  const node = element("div", { className: "field" },
    element("label", {}, isRequired ? null : box, name, hint), about, place, wrong);
  node.dataset.name = name;
  return {
    node,
    read: () => (isRequired || box.checked ? readMarked(field, wrong) : NOTHING),
    write: (value) => { set(value !== NOTHING); if (value !== NOTHING) field.write(value); },
  };
}

function objectField(schema, root, depth, label) {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const known = new Map();
  const node = element("fieldset", label);
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const field = propertyField(name, part, root, required.has(name), depth);
    known.set(name, field);
    node.append(field.node);
  }
  const others = schema.additionalProperties;
  const takesMore = others !== false && (others !== undefined || known.size === 0);
  let extra = [];
  const list = element("div");
  function add(key = "", value = NOTHING) {
    const name = element("input", { type: "text", value: key, placeholder: "name", ...labelOf(said("member name")) });
    const own = labelOf(said("member value"));
    const field = fieldFor(others ?? {}, root, depth + 1, own);
    if (value !== NOTHING) field.write(value);
    const wrong = element("span", { className: "wrong" });
    const entry = { name, field, wrong };
    entry.node = element("div", { className: "item" }, element("div", {}, name, field.node, wrong), element("button", { type: "button", text: said("remove"), onclick: () => { extra = extra.filter((one) => one !== entry); entry.node.remove(); } }));
    extra.push(entry);
    list.append(entry.node);
  }
  if (takesMore) node.append(list, element("button", { type: "button", text: said("add a member"), onclick: () => add() }));
  return {
    node,
    read: () => {
      const read = {};
      let isWrong = false;
      const take = (key, value) => { if (value !== NOTHING) Object.defineProperty(read, key, { value, enumerable: true, configurable: true, writable: true }); };
      const attempt = (work) => { try { work(); } catch (error) { if (!(error instanceof FieldError)) throw error; isWrong = true; } };
      for (const [key, field] of known) attempt(() => take(key, field.read()));
      for (const entry of extra) attempt(() => take(entry.name.value, readMarked(entry.field, entry.wrong)));
      if (isWrong) throw new FieldError(said("some fields are wrong"));
      return read;
    },
    write: (value) => {
      extra = [];
      empty(list);
      const given = isObject(value) ? value : {};
      for (const [key, field] of known) field.write(Object.hasOwn(given, key) ? given[key] : NOTHING);
      for (const [key, one] of Object.entries(given)) if (!known.has(key) && takesMore) add(key, one);
    },
  };
}

// The form of a tool: fields, or the same arguments as JSON.
class ArgumentForm {
  constructor(schema) {
    const whole = resolved(schema, schema);
    this.field = objectField(whole, schema ?? {}, 0, labelOf(said("Arguments")));
    this.text = element("textarea", { rows: 8, hidden: true, ...labelOf(`${said("Arguments")}: JSON`) });
    this.isJson = element("input", { type: "checkbox", onchange: () => this.turn() });
    this.wrong = element("p", { className: "wrong failed" });
    this.node = element("div", {}, element("label", { className: "dim" }, this.isJson, " ", said("as JSON")), this.field.node, this.text, this.wrong);
  }

  turn() {
    const toJson = this.isJson.checked;
    try {
      if (toJson) this.text.value = writeJson(this.field.read(), "  ");
      else this.field.write(readJson(this.text.value));
      this.wrong.textContent = "";
    } catch (error) {
      if (toJson) this.text.value = "{}";
      else { this.isJson.checked = true; this.wrong.textContent = said("this is not JSON: {}", error.message); return; }
    }
    this.field.node.hidden = toJson;
    this.text.hidden = !toJson;
  }

  // The arguments, or null if something is wrong, which then is shown.
  read() {
    this.wrong.textContent = "";
    try {
      const value = this.isJson.checked ? readJson(this.text.value) : this.field.read();
      if (!isObject(value)) throw new FieldError(said("arguments are a JSON object"));
      return value;
    } catch (error) {
      this.wrong.textContent = error.message;
      return null;
    }
  }

  write(value) {
    this.field.write(value);
    if (this.isJson.checked) this.text.value = writeJson(value, "  ");
  }
}
