// An upstream of the matrix on the TypeScript SDK: `node typescript_server.mjs (1 | 2) NAME MARKS (stdio | http PORT)`.
import { randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import http from "node:http";
import { z } from "zod";

const [, , generation, name, marks, transport, port] = process.argv;
const grown = new Set();
const text = (value) => ({ content: [{ type: "text", text: value }] });
const mark = (what) => closeSync(openSync(`${marks}/${name}-${what}`, "w"));
const PERSON = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" } },
  required: ["name", "age"],
};

/** Works in steps and reports each, until it is done or cancelled. */
async function work(steps, signal, report) {
  mark("started");
  for (let step = 1; step <= steps; step++) {
    if (signal.aborted) {
      mark("cancelled");
      throw new Error("cancelled");
    }
    await report({ progress: step, total: steps, message: `step ${step}` });
    await new Promise((done) => setTimeout(done, 20));
  }
  return text("done");
}

/** A JSON-RPC error, which `McpServer` would make a tool error of. */
function breaking(server) {
  const handlers = server.server._requestHandlers;
  const call = handlers.get("tools/call");
  handlers.set("tools/call", (request, extra) => {
    if (request.params.name === `${name}_broken`) {
      const error = { code: -31055, data: { file: 7 } };
      throw Object.assign(new Error("the database is locked"), error);
    }
    return call(request, extra);
  });
  return server;
}

/** The tools that both generations write in the same way. */
function withTools(server, schema, slow) {
  const numbers = schema({ a: z.number().int(), b: z.number().int() });
  const sum = { description: "Add two numbers.", inputSchema: numbers, outputSchema: schema({ result: z.number() }) };
  server.registerTool(`${name}_add`, sum, ({ a, b }) => ({
    ...text(String(a + b)),
    structuredContent: { result: a + b },
  }));
  server.registerTool(`${name}_fail`, { description: "Fail." }, () => {
    throw new Error("no luck");
  });
  server.registerTool(`${name}_broken`, { description: "Break." }, () => text("it did not break"));
  const steps = schema({ steps: z.number().int() });
  server.registerTool(`${name}_slow`, { description: "Work in steps.", inputSchema: steps }, slow);
  for (const tool of grown) {
    server.registerTool(tool, { description: "It was added later." }, () => text("grown"));
  }
  return breaking(server);
}

async function legacy() {
  const { McpServer } = await import("@modelcontextprotocol/sdk/server/mcp.js");
  const tasks = await import("@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js");
  return () => {
    const server = new McpServer(
      { name, version: "1" },
      {
        capabilities: { tools: { listChanged: true }, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
        taskStore: new tasks.InMemoryTaskStore(),
        taskMessageQueue: new tasks.InMemoryTaskMessageQueue(),
      },
    );
    server.registerTool(`${name}_ask`, { description: "Ask for a name and an age." }, async (extra) => {
      const question = { message: "Who are you?", requestedSchema: PERSON };
      const answer = await server.server.elicitInput(question, { relatedRequestId: extra.requestId });
      return text(answer.action === "accept" ? `${answer.content.name} is ${answer.content.age}` : answer.action);
    });
    server.registerTool(
      `${name}_grow`,
      { description: "Add a tool of that name.", inputSchema: { name: z.string() } },
      (args) => {
        grown.add(args.name);
        server.registerTool(args.name, { description: "It was added later." }, () => text("grown"));
        return text(args.name);
      },
    );
    const result = text("the task is done");
    server.experimental.tasks.registerToolTask(
      `${name}_task`,
      { description: "Work as a task.", inputSchema: {}, execution: { taskSupport: "required" } },
      {
        createTask: async (_, extra) => {
          const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 10 });
          setTimeout(() => extra.taskStore.storeTaskResult(task.taskId, "completed", result), 20);
          return { task };
        },
        getTask: (_, extra) => extra.taskStore.getTask(extra.taskId),
        getTaskResult: (_, extra) => extra.taskStore.getTaskResult(extra.taskId),
      },
    );
    return withTools(server, (shape) => shape, ({ steps }, extra) =>
      work(steps, extra.signal, async (progress) => {
        const progressToken = extra._meta?.progressToken;
        if (progressToken !== undefined) {
          await extra.sendNotification({ method: "notifications/progress", params: { progressToken, ...progress } });
        }
      }),
    );
  };
}

async function serveLegacy() {
  const make = await legacy();
  if (transport === "stdio") {
    const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
    return make().connect(new StdioServerTransport());
  }
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const sessions = new Map();
  const answer = async (request, response) => {
    const id = request.headers["mcp-session-id"];
    let session = sessions.get(id);
    if (session === undefined) {
      if (id !== undefined || request.method !== "POST") {
        return response.writeHead(id === undefined ? 405 : 404).end();
      }
      session = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (created) => void sessions.set(created, session),
      });
      await make().connect(session);
    }
    return session.handleRequest(request, response);
  };
  http.createServer(answer).listen(Number(port), "127.0.0.1");
}

async function serveModern() {
  const sdk = await import("@modelcontextprotocol/server");
  let announce = () => {};
  const make = () => {
    const server = new sdk.McpServer({ name, version: "1" }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool(`${name}_ask`, { description: "Ask for a name and an age." }, (ctx) => {
      const answer = ctx.mcpReq.inputResponses?.person;
      if (answer === undefined) {
        const person = sdk.inputRequired.elicit({ message: "Who are you?", requestedSchema: PERSON });
        return sdk.inputRequired({ inputRequests: { person } });
      }
      return text(answer.action === "accept" ? `${answer.content.name} is ${answer.content.age}` : answer.action);
    });
    const named = { description: "Add a tool of that name.", inputSchema: z.object({ name: z.string() }) };
    server.registerTool(`${name}_grow`, named, (args) => {
      grown.add(args.name);
      if (transport === "stdio") {
        server.registerTool(args.name, { description: "It was added later." }, () => text("grown"));
      }
      announce();
      return text(args.name);
    });
    return withTools(server, (shape) => z.object(shape), ({ steps }, ctx) =>
      work(steps, ctx.mcpReq.signal, async (progress) => {
        const progressToken = ctx.mcpReq._meta?.progressToken;
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...progress } });
        }
      }),
    );
  };
  if (transport === "stdio") {
    const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
    return serveStdio(make);
  }
  const handler = sdk.createMcpHandler(make);
  announce = () => handler.notify.toolsChanged();
  const { serve } = await import("@hono/node-server");
  serve({ fetch: (request) => handler.fetch(request), port: Number(port), hostname: "127.0.0.1" });
}

await (generation === "1" ? serveLegacy() : serveModern());
