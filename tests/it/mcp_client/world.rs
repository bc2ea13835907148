//! What the tests share: a hub with one server, and what that server has seen.

use crate::support::runs_tools::RunsTools as _;
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use toolhub::catalog::Servers;
use toolhub::error::HubError;
use toolhub::hub::{Hub, HubOptions};
use toolhub::model::{Arguments, CallOptions, ToolSpec};
use toolhub::sources::mcp::callbacks::Host;
use toolhub::sources::mcp::config::server_from;
use toolhub::sources::mcp::server::Server;
use toolhub::sources::mcp::tool::McpTool;
use toolhub::sources::mcp::tool_list::{Listed, ListedBy};
use toolhub::store::Store;

pub struct World {
    pub hub: Arc<Hub>,
    pub servers: Arc<Servers>,
    log: PathBuf,
}

impl World {
    pub fn new(mode: &str) -> Self {
        Self::with(mode, json!({}), Host::default())
    }

    pub fn with(mode: &str, options: Value, host: Host) -> Self {
        Self::kept_in(None, mode, options, host)
    }

    pub fn kept_in(store: Option<Arc<Store>>, mode: &str, options: Value, host: Host) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let log = std::env::temp_dir().join(format!("toolhub-test-{}-{number}.jsonl", std::process::id()));
        let _ = std::fs::remove_file(&log);
        let hub = Arc::new(Hub::new(HubOptions::default()));
        store.into_iter().for_each(|store| hub.keep_in(store));
        let servers = Servers::new(hub.clone(), host, Arc::new(|_| Ok(None)));
        let world = World { hub, servers, log };
        world.add("s", mode, options);
        world
    }

    /// Adds a server that writes into the same log.
    pub fn add(&self, id: &str, mode: &str, options: Value) {
        let entry = json!({
            "command": std::env::current_exe().unwrap(),
            "args": ["--exact", "mcp_client::server::server_process", "--nocapture", "--test-threads=1"],
            "env": {"TEST_SERVER": mode, "TEST_LOG": self.log}, "toolhub": options,
        });
        let (config, _) = server_from(id, &entry, None, &|_| None, None).unwrap();
        self.servers.add(config).unwrap();
    }

    /// Changes what the server lists from now on.
    pub fn mark(&self, mark: &str) {
        std::fs::write(format!("{}.{mark}", self.log.display()), "").unwrap();
    }

    pub fn server(&self) -> Arc<Server> {
        self.servers.get("s").unwrap()
    }

    pub async fn connect(&self) {
        let report = self.servers.connect(self.servers.all(), None, false, None).collect::<Vec<_>>().await;
        assert!(report.iter().all(|(_, outcome)| outcome.is_ok()), "{report:?}");
    }

    pub async fn connect_one(&self, id: &str) {
        self.servers.get(id).unwrap().connect().await.unwrap();
    }

    /// The servers that have a tool, in the order of its candidates.
    pub fn order_of(&self, tool: &str) -> Vec<String> {
        let entry = self.hub.registry.load().get(tool).unwrap().clone();
        entry.candidates.iter().filter_map(|one| one.server.as_deref().map(str::to_owned)).collect()
    }

    /// A tool that the server has but does not list, to be called past the registry.
    pub fn unlisted(&self, tool: &str) -> Arc<McpTool> {
        let listed = Arc::new(Listed::unlisted(tool));
        let as_listed = ListedBy { tool: listed.clone(), program_version: None };
        Arc::new(McpTool::new(self.server(), as_listed, listed, ToolSpec::named(tool)))
    }

    /// Calls by name, through the hub.
    pub async fn call(&self, tool: &str, args: Value) -> Result<Value, HubError> {
        let Value::Object(args) = args else { unreachable!("tests give objects") };
        let options = CallOptions { timeout: Some(Duration::from_secs(20)), ..CallOptions::default() };
        let execution =
            self.hub.execute(tool, Arguments::new(args), &options, &CancellationToken::new()).await?;
        execution.result
    }

    /// Everything that the server's processes have seen, in order.
    pub fn seen(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub fn received(&self, method: &str) -> Vec<Value> {
        self.seen().into_iter().filter(|message| message["method"] == method).collect()
    }

    pub fn starts(&self) -> usize {
        self.seen().iter().filter(|note| note.get("started").is_some()).count()
    }

    /// Waits for what another process will do; gives up loudly.
    pub async fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..2000 {
            if done(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("timed out waiting until {what}: {:#?}", self.seen());
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.log);
        for mark in ["changed", "pulled", "released"] {
            let _ = std::fs::remove_file(format!("{}.{mark}", self.log.display()));
        }
    }
}

pub fn is_running(pid: u64) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z')))
}
