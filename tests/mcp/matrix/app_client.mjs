// A client that shows MCP Apps, of the SDK that hosts use: `node app_client.mjs URL (TOOL…)`. It prints, as JSON, its tools with their
// interfaces and for whom they are, the interfaces as they are read, and the results of the tools that were named.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  RESOURCE_MIME_TYPE,
  getToolUiResourceUri,
  isToolVisibilityAppOnly,
} from "@modelcontextprotocol/ext-apps/app-bridge";

const [url, ...called] = process.argv.slice(2);
const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };
const client = new Client({ name: "host", version: "1" }, { capabilities: { extensions } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const seen = { tools: {}, interfaces: {}, results: {} };
for (const tool of tools) {
  const uri = getToolUiResourceUri(tool);
  seen.tools[tool.name] = { uri: uri ?? null, forApps: isToolVisibilityAppOnly(tool) };
  if (uri) {
    const { contents } = await client.readResource({ uri });
    seen.interfaces[uri] = contents.map(({ uri, mimeType, text }) => ({ uri, mimeType, size: text.length }));
  }
}
for (const name of called) {
  const result = await client.callTool({ name, arguments: {} });
  seen.results[name] = result.structuredContent;
}
console.log(JSON.stringify(seen));
await client.close();
