// The page as a client of the gateway's own MCP endpoint, so that credentials, views and limits hold for it.

const VERSION = "2025-11-25";

class Access {
  constructor() {
    const given = new URLSearchParams(location.hash.slice(1));
    this.token = given.get("token") ?? sessionStorage.getItem("toolhub.inspector.token") ?? "";
    this.key = given.get("key") ?? sessionStorage.getItem("toolhub.inspector.key") ?? "";
    this.keep();
    // Neither stays in the address bar or in the history.
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  }

  keep() {
    sessionStorage.setItem("toolhub.inspector.token", this.token);
    sessionStorage.setItem("toolhub.inspector.key", this.key);
  }

  headers() {
    const headers = {};
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (this.key) headers["Toolhub-Inspect-Key"] = this.key;
    return headers;
  }
}

class McpClient {
  constructor(path, access) {
    this.path = path;
    this.access = access;
    this.last = 0;
  }

  // The whole answer: { result } or { error }, and how long it took. Fails only when there is none.
  async ask(method, params, told = () => {}, signal = undefined) {
    this.last += 1;
    const id = this.last;
    const headers = { ...this.access.headers(), "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": VERSION };
    delete headers["Toolhub-Inspect-Key"];
    const begun = performance.now();
    const body = writeJson({ jsonrpc: "2.0", id, method, params: { ...params, _meta: { progressToken: id } } });
    const reply = await fetch(this.path, { method: "POST", headers, body, signal, credentials: "omit" });
    const took = () => performance.now() - begun;
    if ((reply.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
      return { ...(await this.stream(reply, id, told)), ms: took() };
    }
    const text = await reply.text();
    try {
      const { result, error } = readJson(text);
      return { result, error, status: reply.status, ms: took() };
    } catch {
      return { error: { code: reply.status, message: said("the server answered with status {}", reply.status) }, status: reply.status, ms: took() };
    }
  }

  async stream(reply, id, told) {
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return { error: { code: 0, message: said("the connection ended before the answer") } };
      rest += value;
      const events = rest.split(/\r?\n\r?\n/);
      rest = events.pop();
      for (const event of events) {
        const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n").trim();
        if (!data) continue;
        const message = readJson(data);
        if (message.id === id && message.method === undefined) return { result: message.result, error: message.error, status: reply.status };
        told(message);
      }
    }
  }

  async tools() {
    const found = [];
    let cursor;
    do {
      const { result, error, status } = await this.ask("tools/list", cursor === undefined ? {} : { cursor });
      if (error || !result) throw Object.assign(new Error(error?.message ?? said("the server gave no list")), { status });
      found.push(...(Array.isArray(result.tools) ? result.tools : []));
      cursor = result.nextCursor;
    } while (cursor !== undefined && cursor !== null);
    return found;
  }
}

// A question to the routes of the inspector itself.
async function askInspector(access, path, body = undefined, read = readJson) {
  const headers = { ...access.headers(), Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "omit" });
  let answer = {};
  try { answer = read(await reply.text()); } catch { /* the status says it */ }
  if (!reply.ok) throw Object.assign(new Error(answer.error?.message ?? answer.error ?? said("the server answered with status {}", reply.status)), { status: reply.status });
  return answer;
}
