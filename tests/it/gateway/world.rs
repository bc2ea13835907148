//! A served hub with a few tools.

use crate::gateway::client::Http;
use crate::support::function_tool::FunctionTool;
use crate::support::no_upstreams::NoUpstreams;
use serde_json::{Value, json};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use toolhub::error::{ErrorKind, HubError};
use toolhub::gateway::{Gateway, GatewayOptions, serve_http, serve_stdio};
use toolhub::hub::{Hub, HubOptions};
use toolhub::model::{Arguments, Effects, Evidence, Source, ToolOutput, ToolSpec};
use toolhub::registry::Candidate;
use toolhub::stats::CandidateStats;
use toolhub::tool::{CallContext, Tool};

/// An audit log in memory.
#[derive(Clone, Default)]
pub struct KeptLog(Arc<Mutex<Vec<u8>>>);

impl KeptLog {
    /// The lines without those that calls begin with.
    pub fn lines(&self) -> Vec<Value> {
        let log = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["type"] != "begin").collect()
    }
}

impl Write for KeptLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Tests fail rather than hang.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct World {
    pub gateway: Arc<Gateway>,
    /// What happened inside of tools.
    pub acts: mpsc::UnboundedReceiver<&'static str>,
    acting: mpsc::UnboundedSender<&'static str>,
}

impl World {
    pub fn new() -> World {
        World::with(GatewayOptions::default())
    }

    pub fn with(options: GatewayOptions) -> World {
        let hub = Arc::new(Hub::new(HubOptions::default()));
        let (act, acts) = mpsc::unbounded_channel();
        add(&hub, sum_spec(), |args, _| async move {
            let number = |name| args.get(name).and_then(Value::as_i64).unwrap_or_default();
            Ok(ToolOutput::new(number("a") + number("b")))
        });
        add(&hub, ToolSpec::named("profile"), |_, _| async { Ok(ToolOutput::new(json!({"name": "Ada"}))) });
        add(&hub, ToolSpec::named("fail"), |_, _| async {
            Err(HubError::new(ErrorKind::ToolError, "The disk is full."))
        });
        let acting = act.clone();
        add(&hub, ToolSpec::named("wait"), move |_, ctx: CallContext| {
            let act = act.clone();
            async move {
                let _ = act.send("started");
                if let Some(progress) = &ctx.extras.progress {
                    progress(&json!({"progress": 0}));
                }
                ctx.cancel.cancelled().await;
                let _ = act.send("cancelled");
                Err(HubError::new(ErrorKind::Cancelled, "The call was cancelled."))
            }
        });
        add(&hub, ToolSpec::named("report"), |_, ctx: CallContext| async move {
            if let Some(progress) = &ctx.extras.progress {
                progress(&json!({"progress": 1, "total": 2, "message": "half"}));
            }
            let meta = Value::Object(ctx.extras.meta.clone());
            Ok(ToolOutput::new(json!({"meta": meta})))
        });
        add(&hub, ToolSpec::named("ask"), |_, ctx: CallContext| async move {
            let Some(asker) = &ctx.extras.ask else { return Ok(ToolOutput::new("nobody to ask")) };
            let params =
                json!({"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}});
            let answer = asker.ask("elicitation/create", params).await;
            let answer = answer.map_err(|(code, why)| {
                HubError::new(ErrorKind::NotAllowed, format!("It cannot be asked ({code}: {why})."))
            })?;
            Ok(ToolOutput::new(json!({"answer": answer})))
        });
        let region = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "n": {"type": "integer", "x-mcp-header": "N"},
        }});
        let spec = ToolSpec { parameters: Arc::new(region), ..ToolSpec::named("region") };
        add(&hub, spec, |args, _| async move { Ok(ToolOutput::new(args.as_value().clone())) });
        add(&hub, ToolSpec { is_hidden: true, ..ToolSpec::named("secret") }, |_, _| async {
            Ok(ToolOutput::new("never"))
        });
        let upstreams = Arc::new(NoUpstreams);
        World { gateway: Arc::new(Gateway::new(hub, upstreams, options).unwrap()), acts, acting }
    }

    /// Adds a tool that works in the background, and then ends, asks or waits.
    pub fn with_background(self) -> World {
        let acting = self.acting.clone();
        add(&self.gateway.hub, ToolSpec::named("background"), move |args, ctx: CallContext| {
            let act = acting.clone();
            async move {
                // As a server that answers the call with a task.
                if let Some(on_task) = &ctx.extras.on_task {
                    on_task();
                }
                match (args.get("then").and_then(Value::as_str), &ctx.extras.ask) {
                    (Some("ask"), Some(asker)) => {
                        let params = json!({"message": "Which?", "requestedSchema": {"type": "object", "properties": {}}});
                        let answer = asker.ask("elicitation/create", params).await;
                        Ok(ToolOutput::new(answer.map_or_else(|(_, why)| why, |answer| answer.to_string())))
                    }
                    (Some("wait"), _) => {
                        let _ = act.send("started");
                        ctx.cancel.cancelled().await;
                        let _ = act.send("cancelled");
                        Err(HubError::new(ErrorKind::Cancelled, "The call was cancelled."))
                    }
                    _ => Ok(ToolOutput::new("done in the background")),
                }
            }
        });
        self
    }

    /// Serves on a port of this machine.
    pub async fn serve(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve_http(self.gateway.clone(), listener));
        address
    }

    pub async fn client(&self) -> Http {
        Http::connect(self.serve().await).await
    }

    pub async fn act(&mut self) -> &'static str {
        tokio::time::timeout(PATIENCE, self.acts.recv()).await.unwrap().unwrap()
    }
}

fn sum_spec() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    });
    ToolSpec {
        description: Arc::from("Adds two numbers."),
        parameters: Arc::new(parameters),
        annotations: json!({"readOnlyHint": true, "x-own": 1}).as_object().cloned().unwrap(),
        effects: Effects::harmless(Evidence::Annotation("readOnlyHint: true")),
        ..ToolSpec::named("sum")
    }
}

pub fn add<F, R>(hub: &Hub, spec: ToolSpec, body: F)
where
    F: Fn(Arguments, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<ToolOutput, HubError>> + Send + 'static,
{
    let tool: Arc<dyn Tool> = Arc::new(FunctionTool::new(spec, body));
    hub.registry.insert(Candidate {
        id: hub.registry.next_id(),
        source: Source::Tools,
        server: None,
        priority: 0,
        tool,
        gate: None,
        stats: Arc::new(CandidateStats::default()),
        variant: 0,
        definition: Default::default(),
    });
}

/// A legacy request.
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A modern one, with what every request carries.
pub fn modern(id: u64, method: &str, params: Value) -> Value {
    modern_with(json!({}), id, method, params)
}

/// A modern request of a client that can do more.
pub fn modern_with(capabilities: Value, id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "1"});
    request(id, method, params)
}

pub fn initialize(version: &str) -> Value {
    initialize_with(json!({}), version)
}

pub fn initialize_with(capabilities: Value, version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
    request(0, "initialize", params)
}

/// A client on a pair of streams.
pub struct Pipe {
    pub input: WriteHalf<DuplexStream>,
    pub output: BufReader<ReadHalf<DuplexStream>>,
    pub served: tokio::task::JoinHandle<()>,
}

impl Pipe {
    pub fn to(world: &World) -> Pipe {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (output, input) = tokio::io::split(near);
        let (reader, writer) = tokio::io::split(far);
        let served =
            tokio::spawn(serve_stdio(world.gateway.clone(), reader, writer, CancellationToken::new()));
        Pipe { input, output: BufReader::new(output), served }
    }

    pub async fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    pub async fn next(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.output.read_line(&mut line)).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub async fn ask(&mut self, message: &Value) -> Value {
        self.send(&message.to_string()).await;
        self.next().await
    }
}
