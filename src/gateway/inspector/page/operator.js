// What the operator of a served hub sees: servers, and calls that wait for an approval.

class ServersPart {
  constructor(access) {
    this.access = access;
    this.list = element("div", { className: "cards", id: "servers" });
    this.node = element("section", {}, element("div", { className: "bar" }, element("button", { text: said("reload"), onclick: () => this.load() })), this.list);
  }

  async load() {
    let servers;
    try {
      ({ servers } = await askInspector(this.access, "inspect/servers"));
    } catch (error) {
      empty(this.list).append(keyHint(error, this.access, () => this.load()));
      return;
    }
    empty(this.list);
    if (!servers.length) this.list.append(element("p", { className: "dim", text: said("This hub has no MCP servers.") }));
    for (const server of servers) {
      const colour = { connected: "won", failed: "failed", connecting: "late" }[server.state] ?? "cancelled";
      const card = element("div", { className: "card" },
        element("h2", {}, server.id, " ", element("span", { className: `role ${colour}`, text: server.state })),
        facts([["era", server.era ?? said("not known yet")], ["version", server.version], ["transport", server.transport], ["tools", server.tools], ["list is", server.age === null ? null : said("{} old", duration(server.age * 1000))], ["process", server.pid], ["error", server.error]]));
      for (const line of server.notices ?? []) card.append(element("p", { className: "late", text: line }));
      if (server.stderr?.length) card.append(element("h3", { text: said("End of its error stream") }), block(server.stderr.join("\n")));
      this.list.append(card);
    }
  }
}

class ApprovalsPart {
  constructor(access) {
    this.access = access;
    this.list = element("div", { className: "cards", id: "approvals" });
    this.node = element("section", {}, element("div", { className: "bar" }, element("button", { text: said("reload"), onclick: () => this.load() })), this.list);
  }

  async load() {
    let pending;
    try {
      ({ pending } = await askInspector(this.access, "inspect/approvals"));
    } catch (error) {
      empty(this.list).append(keyHint(error, this.access, () => this.load()));
      return;
    }
    empty(this.list);
    if (!pending.length) this.list.append(element("p", { className: "dim", text: said("No call waits for an approval.") }));
    for (const one of pending) {
      const reason = element("input", { type: "text", "aria-label": said("reason, if you deny"), placeholder: said("reason, if you deny") });
      const wrong = element("p", { className: "failed" });
      const decide = async (approve) => {
        try {
          await askInspector(this.access, "inspect/approvals", { id: one.id, approve, reason: reason.value || null });
          await this.load();
        } catch (error) {
          wrong.textContent = error.message;
        }
      };
      this.list.append(element("div", { className: "card" }, element("h2", { text: one.tool }), block(one.shown),
        facts([["id", one.id], ["caller", one.principal], ["run", one.run], ["asked", new Date(one.asked_at * 1000).toISOString()], ["expires", new Date(one.expires_at * 1000).toISOString()]]),
        element("div", { className: "bar" }, element("button", { className: "main", text: said("approve"), onclick: () => decide(true) }), element("button", { text: said("deny"), onclick: () => decide(false) }), reason), wrong));
    }
  }
}

// What is missing, and a place to give it.
function keyHint(error, access, again) {
  if (error.status !== 401 && error.status !== 403) return element("p", { className: "failed", text: error.message });
  const key = element("input", { type: "password", "aria-label": said("inspector key"), placeholder: "key", autocomplete: "off" });
  const token = element("input", { type: "password", "aria-label": said("caller token"), placeholder: "token", autocomplete: "off", value: access.token });
  return element("div", { className: "card" }, element("p", { text: error.message }),
    element("div", { className: "bar" }, token, key, element("button", { text: said("use"), onclick: () => { access.token = token.value.trim(); access.key = key.value.trim() || access.key; access.keep(); again(); } })));
}
