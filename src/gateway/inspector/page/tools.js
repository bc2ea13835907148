// The tools of a served hub: a form for each, calls, and calls that were saved.

class ToolsPart {
  constructor(client, tell) {
    this.client = client;
    this.tell = tell;
    this.tools = [];
    this.find = element("input", { className: "wide", type: "search", id: "find-tool", "aria-label": said("find a tool"), placeholder: said("name or description; Enter opens a tool that is not listed"), oninput: () => this.list(), onkeydown: (event) => { if (event.key === "Enter") this.describe(this.find.value.trim()); } });
    this.names = element("div", { className: "names", id: "tool-names" });
    this.work = element("div", { className: "work", id: "tool-work" });
    this.node = element("section", {},
      element("div", { className: "bar" }, this.find, element("button", { text: said("reload"), onclick: () => this.load() })),
      element("div", { className: "split" }, this.names, this.work));
  }

  async load() {
    try {
      this.tools = await this.client.tools();
      notice("");
    } catch (error) {
      this.tell(error);
    }
    this.list();
    if (!this.open && this.tools.length) this.show(this.tools[0]);
  }

  list() {
    const wanted = this.find.value.trim().toLowerCase();
    empty(this.names);
    for (const tool of this.tools) {
      const about = typeof tool.description === "string" ? tool.description : "";
      if (wanted && !tool.name.toLowerCase().includes(wanted) && !about.toLowerCase().includes(wanted)) continue;
      this.names.append(element("button", { onclick: () => this.show(tool), "aria-current": String(tool === this.open) }, tool.name, element("small", { text: about })));
    }
    if (!this.names.childElementCount) this.names.append(element("p", { className: "dim", text: said("No tool fits.") }));
  }

  // A hub with many tools lists a few, and describes the others.
  async describe(name) {
    if (!name) return;
    const known = this.tools.find((tool) => tool.name === name);
    if (known) { this.show(known); return; }
    const { result, error } = await this.client.ask("tools/describe", { name });
    const tool = result?.tool ?? result;
    if (error || !tool?.name) { notice(error?.message ?? said("There is no tool '{}'.", name)); return; }
    this.tools.push(tool);
    this.show(tool);
  }

  show(tool, saved = null) {
    this.open = tool;
    this.list();
    this.form = new ArgumentForm(tool.inputSchema);
    if (saved) this.form.write(saved.arguments);
    this.answer = element("div", { id: "answer" });
    this.running = null;
    this.callButton = element("button", { className: "main", id: "call", text: said("call"), onclick: () => (this.running ? this.running.abort() : this.call()) });
    this.asserts = element("textarea", { rows: 3, id: "assertions", "aria-label": said("assertions"), placeholder: "ok\ntext contains \"paid\"\nms < 500", value: saved?.assertions ?? "" });
    this.name = element("input", { type: "text", id: "saved-name", "aria-label": said("name of the saved call"), placeholder: said("name of the saved call"), value: saved?.name ?? "" });
    const notes = tool.annotations ?? {};
    const effects = notes.readOnlyHint === true ? said("only reads") : notes.destructiveHint === false ? said("may add") : said("may have effects");
    empty(this.work).append(
      element("h2", { text: tool.title ? `${tool.title} (${tool.name})` : tool.name }),
      element("p", { text: tool.description ?? "" }), element("p", { className: "dim", text: effects }),
      this.form.node, element("div", { className: "bar" }, this.callButton), this.answer,
      element("h3", { text: said("Save this call, with what its answer has to be") }), this.asserts,
      element("div", { className: "bar" }, this.name, element("button", { text: said("save"), id: "save", onclick: () => this.save() })),
      element("h3", { text: said("Schema") }), block(tool.inputSchema));
  }

  async call() {
    const given = this.form.read();
    if (given === null) return null;
    this.running = new AbortController();
    this.callButton.textContent = said("cancel");
    empty(this.answer).append(element("p", { className: "dim", text: said("running …") }));
    const told = element("div", { className: "dim" });
    this.answer.append(told);
    let answer;
    try {
      answer = await this.client.ask("tools/call", { name: this.open.name, arguments: given }, (message) => { told.textContent = `${message.method}: ${pretty(message.params)}`; }, this.running.signal);
    } catch (error) {
      answer = { error: { message: error.name === "AbortError" ? said("cancelled") : error.message }, ms: 0 };
    }
    this.running = null;
    this.callButton.textContent = said("call");
    empty(this.answer).append(answerNode(answer, this.asserts.value));
    return answer;
  }

  save() {
    const given = this.form.read();
    if (given === null) return;
    const name = this.name.value.trim() || `${this.open.name} ${new Date().toISOString().slice(0, 19)}`;
    const others = savedCalls().filter((one) => one.name !== name);
    saveCalls([...others, { name, tool: this.open.name, arguments: given, assertions: this.asserts.value }]);
    this.name.value = name;
    this.saved();
  }
}

// An answer as a reader sees it; pictures are shown if their type is one.
function answerNode(answer, assertions = "") {
  const view = answerView(answer);
  const node = element("div", { className: view.ok ? "result" : "result wrong" });
  node.append(element("p", { text: `${view.ok ? said("ok") : said("error")} · ${duration(answer.ms)}` }));
  if (answer.error) node.append(block(answer.error));
  for (const part of view.content) {
    const isPicture = part?.type === "image" && /^image\/(png|jpeg|gif|webp)$/.test(part.mimeType ?? "");
    if (part?.type === "text") node.append(block(part.text));
    else if (isPicture) {
      const picture = element("img", { src: `data:${part.mimeType};base64,${String(part.data).replace(/[^A-Za-z0-9+/=]/g, "")}`, alt: "the picture of the result" });
      picture.style.maxWidth = "100%";
      node.append(picture);
    } else node.append(block(part));
  }
  if (view.structured !== null) node.append(element("h3", { text: said("Structured") }), block(view.structured));
  if (assertions.trim()) {
    const failures = failedAssertions(assertions, answer);
    if (failures.length) node.classList.add("wrong");
    node.append(element("h3", { text: failures.length ? said("Assertions that do not hold") : said("All assertions hold") }));
    for (const failure of failures) node.append(element("p", { className: "failed", text: failure }));
  }
  return node;
}

class SavedPart {
  constructor(tools) {
    this.parts = tools;
    this.list = element("div", { className: "cards", id: "saved" });
    this.summary = element("span", { className: "dim", id: "saved-summary" });
    this.node = element("section", {},
      element("div", { className: "bar" }, element("button", { className: "main", id: "run-all", text: said("run all"), onclick: () => this.runAll() }), this.summary),
      this.list);
  }

  show() {
    empty(this.list);
    this.cards = savedCalls().map((saved) => {
      const place = element("div");
      const card = element("div", { className: "card" }, element("h2", { text: saved.name }),
        facts([["tool", saved.tool], ["arguments", writeJson(saved.arguments)], ["assertions", saved.assertions.trim().split("\n").join("; ")]]),
        element("div", { className: "bar" },
          element("button", { text: said("run"), onclick: () => this.run(saved, place) }),
          element("button", { text: said("open"), onclick: () => this.edit(saved) }),
          element("button", { text: said("remove"), onclick: () => { saveCalls(savedCalls().filter((one) => one.name !== saved.name)); this.show(); } })),
        place);
      this.list.append(card);
      return [saved, place];
    });
    this.summary.textContent = this.cards.length ? "" : said("No call is saved. Save one below its form.");
  }

  async edit(saved) {
    openTab("tools");
    await this.parts.describe(saved.tool);
    if (this.parts.open?.name === saved.tool) this.parts.show(this.parts.open, saved);
  }

  async run(saved, place) {
    empty(place).append(element("p", { className: "dim", text: said("running …") }));
    let answer;
    try {
      answer = await this.parts.client.ask("tools/call", { name: saved.tool, arguments: saved.arguments });
    } catch (error) {
      answer = { error: { message: error.message }, ms: 0 };
    }
    empty(place).append(answerNode(answer, saved.assertions || "ok"));
    return failedAssertions(saved.assertions || "ok", answer).length === 0;
  }

  async runAll() {
    let passed = 0;
    for (const [saved, place] of this.cards) if (await this.run(saved, place)) passed += 1;
    this.summary.textContent = said("{} of {} passed", passed, this.cards.length);
  }
}
