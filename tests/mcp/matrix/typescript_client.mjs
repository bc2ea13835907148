// A client of the TypeScript SDK: `node typescript_client.mjs (1 | 1-sse | 2) URL`. It prints what it saw as one line of JSON.
const [, , kind, url] = process.argv;

async function connected() {
  const info = { name: "typescript", version: "1" };
  const capabilities = { capabilities: { elicitation: {} } };
  if (kind === "2") {
    const sdk = await import("@modelcontextprotocol/client");
    const client = new sdk.Client(info, { ...capabilities, versionNegotiation: { mode: "auto" } });
    client.setRequestHandler("elicitation/create", answer);
    await client.connect(new sdk.StreamableHTTPClientTransport(new URL(url)));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info, capabilities);
  client.setRequestHandler(ElicitRequestSchema, answer);
  if (kind === "1-sse") {
    const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
    await client.connect(new SSEClientTransport(new URL(url)));
  } else {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  }
  return client;
}

function answer() {
  return { action: "accept", content: { city: "Bergen" } };
}

const client = await connected();
const seen = { tools: (await client.listTools()).tools.map((tool) => tool.name).sort() };
const call = (name, args, options) =>
  kind === "2"
    ? client.callTool({ name, arguments: args }, options)
    : client.callTool({ name, arguments: args }, undefined, options);
seen.work = (await call("work", { steps: 2 })).content[0].text;
seen.travel = JSON.parse((await call("travel", {})).content[0].text);
// The report that aborts it is the progress of the call. (The SDK drops reports that arrive together with the answer.)
const begun = new AbortController();
const running = call("wait_for_cancel", {}, { signal: begun.signal, onprogress: () => begun.abort() });
await running.catch(() => {});
seen.given_up = (await call("was_given_up", {})).content[0].text;
console.log(JSON.stringify(seen));
await client.close();
process.exit(0);
