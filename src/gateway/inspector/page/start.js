// What the page was given decides which parts it has.

function startRecorded() {
  const runs = data.runs.map(readRun);
  byId("about").textContent = runs.map((run) => run.name).join(" → ");
  const timeline = new TimelinePart(runs);
  addTab("timeline", said("Timeline"), timeline.node, () => timeline.chart?.request());
  if (data.pairs) {
    const diff = new DiffPart(runs, data.pairs);
    addTab("diff", said("Difference"), diff.node, () => diff.table.draw());
  }
  openTab("timeline");
  timeline.open(0);
  if (data.pairs) openTab("diff");
  byId("tabs").hidden = !data.pairs;
}

function startServed() {
  byId("about").textContent = data.served.name;
  const access = new Access();
  // The page is at `inspect` below where the hub is mounted; the endpoint is below the same place.
  const client = new McpClient(data.served.mcp.replace(/^\//, ""), access);
  const tools = new ToolsPart(client, (error) => {
    if (error.status === 401 || error.status === 403) empty(tools.work).append(keyHint(error, access, () => tools.load()));
    else notice(error.message);
  });
  const saved = new SavedPart(tools);
  tools.saved = () => saved.show();
  const servers = new ServersPart(access);
  const approvals = new ApprovalsPart(access);
  const live = new LivePart(access);
  addTab("tools", said("Tools"), tools.node);
  addTab("calls", said("Calls"), live.node, () => live.follow());
  addTab("saved", said("Saved calls"), saved.node, () => saved.show());
  addTab("servers", said("Servers"), servers.node, () => servers.load());
  addTab("approvals", said("Approvals"), approvals.node, () => approvals.load());
  openTab("tools");
  tools.load();
}

if (data.runs) startRecorded();
else startServed();
requestAnimationFrame(() => performance.mark("toolhub-drawn"));
