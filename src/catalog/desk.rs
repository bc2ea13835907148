//! The management of servers as tools.
//!
//! | tool | arguments | answer |
//! |---|---|---|
//! | `connect`, `refresh` | `ids`: a list, or nothing for all; `timeout`: seconds for each | `{connected: [id], failed: {id: {kind, message, …}}}` |
//! | `look_up` | `name`, and perhaps `source`, `server`; `timeout`: seconds in all | `{connected: [], failed: {id: …}}` |
//! | `close` | `all`: also those that were not removed before | whether something was closed |

use super::{Report, Servers};
use crate::error::{ErrorKind, HubError};
use crate::model::{Arguments, CallOptions, Source, ToolOutput, ToolSpec};
use crate::sources::mcp::server::Server;
use crate::tool::{BoxFuture, CallContext, Tool};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// For one look-up.
const LOOK_UP: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
enum Service {
    Connect,
    Refresh,
    LookUp,
    Close,
}

struct Clerk {
    spec: ToolSpec,
    service: Service,
    desk: Arc<Desk>,
}

/// What the tools of one set of servers share.
pub struct Desk {
    servers: Arc<Servers>,
    /// Removed from the set, and still to be closed.
    leaving: Mutex<Vec<Arc<Server>>>,
}

impl Desk {
    pub fn new(servers: Arc<Servers>) -> Arc<Self> {
        Arc::new(Desk { servers, leaving: Mutex::default() })
    }

    /// Keeps a removed server until the next `close`.
    pub fn leave(&self, server: Arc<Server>) {
        self.leaving.lock().push(server);
    }

    async fn close(&self, all: bool) -> bool {
        let leaving = std::mem::take(&mut *self.leaving.lock());
        let any = !leaving.is_empty();
        futures_util::future::join_all(leaving.iter().map(|server| server.close())).await;
        if all {
            self.servers.close().await;
        }
        any || all
    }
}

/// The tools of the desk.
pub fn tools(desk: &Arc<Desk>) -> Vec<Arc<dyn Tool>> {
    let services = [
        ("connect", Service::Connect),
        ("refresh", Service::Refresh),
        ("look_up", Service::LookUp),
        ("close", Service::Close),
    ];
    services
        .into_iter()
        .map(|(name, service)| -> Arc<dyn Tool> {
            Arc::new(Clerk { spec: ToolSpec::named(name), service, desk: desk.clone() })
        })
        .collect()
}

impl Tool for Clerk {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, _: bool) -> Result<Option<Arguments>, HubError> {
        ids(args).and(timeout(args)).map(|_| None)
    }

    fn call<'a>(
        &'a self,
        args: &'a Arguments,
        ctx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, HubError>> {
        Box::pin(async move {
            let work = async {
                let servers = &self.desk.servers;
                match self.service {
                    Service::Connect => {
                        let picked = servers.pick(ids(args)?.as_deref())?;
                        Ok(report(servers.connect(picked, timeout(args)?).await))
                    }
                    Service::Refresh => {
                        let picked = servers.pick(ids(args)?.as_deref())?;
                        Ok(report(servers.refresh(picked, timeout(args)?).await))
                    }
                    Service::LookUp => {
                        let text = |key| args.get(key).and_then(Value::as_str);
                        let wanted = CallOptions {
                            source: text("source").and_then(Source::parse),
                            server: text("server").map(Arc::from),
                            ..CallOptions::default()
                        };
                        let patience = timeout(args)?.unwrap_or(LOOK_UP);
                        Ok(report(servers.look_up(text("name"), &wanted, patience).await))
                    }
                    Service::Close => {
                        Ok(json!(self.desk.close(args.get("all") == Some(&Value::Bool(true))).await))
                    }
                }
            };
            tokio::select! {
                biased;
                () = ctx.cancel.cancelled() => Err(HubError::new(ErrorKind::Cancelled, "Cancelled.")),
                done = work => done.map(ToolOutput::new),
            }
        })
    }
}

fn ids(args: &Arguments) -> Result<Option<Vec<String>>, HubError> {
    let wrong = || HubError::new(ErrorKind::InvalidArguments, "ids must be a list of server ids.");
    match args.get("ids") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(ids)) => ids
            .iter()
            .map(|id| id.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect::<Result<_, _>>()
            .map(Some),
        Some(_) => Err(wrong()),
    }
}

fn timeout(args: &Arguments) -> Result<Option<Duration>, HubError> {
    let wrong =
        || HubError::new(ErrorKind::InvalidArguments, "timeout must be a number of seconds, 0 or more.");
    match args.get("timeout") {
        None | Some(Value::Null) => Ok(None),
        Some(given) => {
            let seconds = given.as_f64().ok_or_else(wrong)?.min(1e9);
            Duration::try_from_secs_f64(seconds).map(Some).map_err(|_| wrong())
        }
    }
}

fn report(report: Report) -> Value {
    let (mut connected, mut failed) = (Vec::new(), Map::new());
    for (id, outcome) in report {
        match outcome {
            Ok(()) => connected.push(Value::String(id.to_string())),
            Err(error) => {
                failed.insert(id.to_string(), error_value(&error));
            }
        }
    }
    json!({"connected": connected, "failed": failed})
}

/// An error as data.
pub fn error_value(error: &HubError) -> Value {
    json!({
        "kind": error.kind.name(), "message": error.message, "code": error.code, "status": error.status,
        "retry_after": error.retry_after, "outcome": error.outcome.name(),
    })
}
