// A client of the TypeScript SDK that tries each feature with each upstream of a served hub:
// `node typescript_matrix.mjs (1 | 2) URL MARKS UPSTREAM…`. It prints what came of each cell.
import { existsSync, rmSync } from "node:fs";

const [, , generation, url, marks, ...upstreams] = process.argv;
const SECONDS = 20;
const TOOLS = ["add", "fail", "ask", "slow", "grow", "broken", "task"];
// What the servers of a package cannot have.
const MISSING = { typescript2: ["task"], fastmcp4: ["grow", "broken", "task"] };
const isLegacy = generation === "1";

function check(holds, seen) {
  if (!holds) throw new Error(`unexpected: ${JSON.stringify(seen)}`);
}

async function until(condition) {
  while (!condition()) await new Promise((done) => setTimeout(done, 10));
}

function answer(request) {
  check(request.params.message === "Who are you?", request);
  return { action: "accept", content: { name: "Marit", age: 36 } };
}

async function connected() {
  const info = { name: "typescript", version: "1" };
  const capabilities = { capabilities: { elicitation: {} } };
  const peer = { changes: 0 };
  const changed = () => void peer.changes++;
  if (isLegacy) {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    peer.client = new Client(info, capabilities);
    peer.client.setRequestHandler(types.ElicitRequestSchema, answer);
    peer.client.setNotificationHandler(types.ToolListChangedNotificationSchema, changed);
    await peer.client.connect(new StreamableHTTPClientTransport(new URL(url)));
  } else {
    const sdk = await import("@modelcontextprotocol/client");
    peer.client = new sdk.Client(info, { ...capabilities, versionNegotiation: { mode: "auto" } });
    peer.client.setRequestHandler("elicitation/create", answer);
    peer.client.setNotificationHandler("notifications/tools/list_changed", changed);
    await peer.client.connect(new sdk.StreamableHTTPClientTransport(new URL(url)));
  }
  peer.call = (name, args = {}, options) =>
    isLegacy
      ? peer.client.callTool({ name, arguments: args }, undefined, options)
      : peer.client.callTool({ name, arguments: args }, options);
  peer.names = async () => {
    const names = [];
    let cursor;
    do {
      const page = await peer.client.listTools(cursor === undefined ? {} : { cursor });
      names.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return names;
  };
  return peer;
}

/** The error with which a call is refused. */
async function refused(call) {
  const result = await call.catch((error) => ({ error }));
  check(result.error !== undefined, result);
  return result.error;
}

const FEATURES = {
  async list({ names }, to) {
    const listed = await names();
    const missing = Object.entries(MISSING).find(([kind]) => to.startsWith(kind))?.[1] ?? [];
    const expected = TOOLS.filter((tool) => !missing.includes(tool)).map((tool) => `${to}_${tool}`);
    check(expected.every((tool) => listed.includes(tool)), listed);
  },
  async call({ call }, to) {
    const result = await call(`${to}_add`, { a: 2, b: 3 });
    check(result.content[0].text === "5" && !result.isError, result);
  },
  async "structured output"({ call }, to) {
    const result = await call(`${to}_add`, { a: 2, b: 3 });
    check(result.structuredContent.result === 5, result);
  },
  async progress({ call }, to) {
    const reports = [];
    const options = { onprogress: (report) => reports.push(report) };
    const result = await call(`${to}_slow`, { steps: 3 }, options);
    check(result.content[0].text === "done", result);
    // The SDK drops reports that arrive together with the answer.
    check(reports.length > 0 && reports.every(({ total, message, progress }) => total === 3 && message === `step ${progress}`), reports);
  },
  async cancel({ call }, to) {
    for (const mark of ["started", "cancelled"]) rmSync(`${marks}/${to}-${mark}`, { force: true });
    const cancelling = new AbortController();
    const running = call(`${to}_slow`, { steps: 100_000 }, { signal: cancelling.signal }).catch(() => {});
    await until(() => existsSync(`${marks}/${to}-started`));
    cancelling.abort();
    await running;
    await until(() => existsSync(`${marks}/${to}-cancelled`));
  },
  async elicitation({ call }, to) {
    const result = await call(`${to}_ask`);
    check(result.content[0].text === "Marit is 36", result);
  },
  async "tool error"({ call }, to) {
    const result = await call(`${to}_fail`);
    check(result.isError === true && result.content[0].text.includes("no luck"), result);
  },
  async "protocol error"({ call }, to) {
    const broken = await refused(call(`${to}_broken`));
    check(broken.code === -31055 && broken.message.includes("the database is locked") && broken.data.file === 7, broken);
    const unknown = await refused(call(`${to}_no`));
    check(unknown.code === -32602, unknown);
  },
  async task({ client, call }, to) {
    if (!isLegacy) {
      const result = await call(`${to}_task`);
      return check(result.content[0].text === "the task is done", result);
    }
    // The hub offers each tool as a task.
    await client.listTools();
    const seen = [];
    const stream = client.experimental.tasks.callToolStream({ name: `${to}_task`, arguments: {} }, undefined, { task: {} });
    for await (const message of stream) seen.push(message);
    const last = seen.at(-1);
    check(seen[0].type === "taskCreated" && last.type === "result" && last.result.content[0].text === "the task is done", seen);
  },
};

async function listChange(peer, to) {
  const name = `${to}_grown_typescript_${generation}`;
  check(!(await peer.names()).includes(name));
  const listening = isLegacy ? undefined : await peer.client.listen({ toolsListChanged: true });
  await peer.call(`${to}_grow`, { name });
  for (let seen = 0; ; seen = peer.changes) {
    await until(() => peer.changes > seen);
    if ((await peer.names()).includes(name)) break;
  }
  await listening?.close();
}

async function attempt(feature, to) {
  let peer;
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error("it takes too long")), SECONDS * 1000));
  const tried = (async () => {
    peer = await connected();
    await feature(peer, to);
    return "ok";
  })();
  const outcome = await Promise.race([tried, late]).catch((error) => String(error).slice(0, 400));
  await peer?.client.close().catch(() => {});
  return outcome;
}

const found = Object.fromEntries(upstreams.map((to) => [to, {}]));
await Promise.all(
  upstreams.map(async (to) => {
    for (const [name, feature] of Object.entries(FEATURES)) found[to][name] = await attempt(feature, to);
  }),
);
// One after another, because a change does not tell whose it is.
for (const to of upstreams) found[to]["list change"] = await attempt(listChange, to);
console.log(JSON.stringify(found));
process.exit(0);
