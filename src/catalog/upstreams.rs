//! The servers of a hub as a gateway needs them.

use super::Servers;
use super::offers::{OfferedBy, PartialArgument};
use crate::error::{ErrorKind, HubError};
use crate::gateway::Upstreams;
use crate::hub::Hub;
use crate::model::{Arguments, CallOptions};
use crate::plan::{ApprovalRequest, CallServices, LookUpRequest, ServerSet, Unreachable, Verdict};
use crate::sources::mcp::offers::OfferKind;
use crate::tool::BoxFuture;
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// How long a server may take to list or read what it offers.
const OFFER_TIMEOUT: Duration = Duration::from_secs(30);

/// Asks a model; the answer is its text.
pub type ModelFunction = Arc<dyn Fn(&str) -> BoxFuture<'static, Result<String, HubError>> + Send + Sync>;

/// Gives the servers of the hub, once there are any.
pub type FindServers = Box<dyn Fn() -> Option<Arc<Servers>> + Send + Sync>;

/// What is behind a gateway: the hub's servers, and the functions of its owner.
pub struct HubUpstreams {
    hub: Arc<Hub>,
    find: FindServers,
    found: OnceLock<Arc<Servers>>,
    model: Option<ModelFunction>,
}

impl HubUpstreams {
    pub fn new(hub: Arc<Hub>, find: FindServers, model: Option<ModelFunction>) -> Self {
        let upstreams = HubUpstreams { hub, find, found: OnceLock::new(), model };
        upstreams.set();
        upstreams
    }

    /// The servers. A hub may get its first one while it is served.
    fn set(&self) -> Option<&Arc<Servers>> {
        if let Some(servers) = self.found.get() {
            return Some(servers);
        }
        let servers = (self.find)()?;
        servers.let_callers_answer();
        Some(self.found.get_or_init(|| servers))
    }

    async fn offers(&self, kind: OfferKind) -> Result<Vec<Value>, HubError> {
        let Some(servers) = self.set() else { return Ok(Vec::new()) };
        // A server that cannot list its offers hides those of no other.
        let lists = servers.offers(kind, None, OFFER_TIMEOUT).await?;
        Ok(lists.into_iter().flat_map(|(_, listed): OfferedBy| listed.unwrap_or_default()).collect())
    }

    fn servers_or(&self, missing: &'static str) -> Result<&Arc<Servers>, HubError> {
        self.set().ok_or_else(|| HubError::new(ErrorKind::NotFound, missing))
    }
}

impl CallServices for HubUpstreams {
    fn servers(&self) -> Option<&dyn ServerSet> {
        self.set().map(|servers| &**servers as &dyn ServerSet)
    }

    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        Box::pin(async move {
            let Some(servers) = self.set() else { return Unreachable::new() };
            let report = servers.look_up(request.name.as_deref(), &request.options, request.patience).await;
            report.into_iter().filter_map(|(id, asked)| Some((id, asked.err()?))).collect()
        })
    }

    /// Closed by default: a gateway has no user who could be asked.
    fn approve<'a>(&'a self, _: &'a ApprovalRequest, _: &'a Arguments) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Refused("no approval can be asked for here".to_owned())))
    }

    fn ask_model<'a>(&'a self, prompt: &'a str) -> Option<BoxFuture<'a, Result<String, HubError>>> {
        self.model.as_ref().map(|model| model(prompt) as BoxFuture<'a, _>)
    }
}

impl Upstreams for HubUpstreams {
    fn changes(&self) -> watch::Receiver<u64> {
        self.hub.registry.watch()
    }

    fn listed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let Some(servers) = self.set() else { return };
            if servers.never_listed(None, None).is_empty() {
                return;
            }
            servers.look_up(None, &CallOptions::default(), servers.lookup_timeout()).await;
        })
    }

    fn resources(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>> {
        Box::pin(self.offers(OfferKind::Resources))
    }

    fn resource_templates(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>> {
        Box::pin(self.offers(OfferKind::ResourceTemplates))
    }

    fn read_resource<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Value, HubError>> {
        Box::pin(async move {
            let servers = self.servers_or("There is no resource of that URI.")?;
            let (_, answer) = servers.read_resource(uri, None, OFFER_TIMEOUT).await?;
            Ok(Value::Object(answer))
        })
    }

    fn prompts(&self) -> BoxFuture<'_, Result<Vec<Value>, HubError>> {
        Box::pin(self.offers(OfferKind::Prompts))
    }

    fn get_prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Value, HubError>> {
        Box::pin(async move {
            let servers = self.servers_or("There is no prompt of that name.")?;
            let (_, answer) = servers.get_prompt(name, arguments.clone(), None, OFFER_TIMEOUT).await?;
            Ok(Value::Object(answer))
        })
    }

    fn complete<'a>(&'a self, params: &'a Map<String, Value>) -> BoxFuture<'a, Result<Value, HubError>> {
        Box::pin(async move {
            let (kind, key, argument) = completion(params)?;
            let servers = self.servers_or("There is no prompt or resource template of that name.")?;
            let (_, answer) = servers.complete(kind, &key, argument, None, OFFER_TIMEOUT).await?;
            Ok(Value::Object(answer))
        })
    }
}

/// What `completion/complete` asks for.
fn completion(params: &Map<String, Value>) -> Result<(OfferKind, String, PartialArgument), HubError> {
    let wrong = |what: &str| {
        let text = format!("The parameters of completion/complete are invalid: {what}.");
        HubError::new(ErrorKind::InvalidArguments, text)
    };
    let reference = params.get("ref").ok_or_else(|| wrong("'ref' is missing"))?;
    let text = |value: &Value, member: &str| value.get(member).and_then(Value::as_str).map(str::to_owned);
    let (kind, key) = match reference.get("type").and_then(Value::as_str) {
        Some("ref/prompt") => (OfferKind::Prompts, text(reference, "name")),
        Some("ref/resource") => (OfferKind::ResourceTemplates, text(reference, "uri")),
        _ => return Err(wrong("the type of 'ref' must be 'ref/prompt' or 'ref/resource'")),
    };
    let key = key.ok_or_else(|| wrong("'ref' names nothing"))?;
    let argument = params.get("argument").ok_or_else(|| wrong("'argument' is missing"))?;
    let context = params.get("context").and_then(|context| context.get("arguments")?.as_object().cloned());
    let argument = PartialArgument {
        name: text(argument, "name").ok_or_else(|| wrong("'argument' has no name"))?,
        value: text(argument, "value").ok_or_else(|| wrong("'argument' has no value"))?,
        context: context.unwrap_or_default(),
    };
    Ok((kind, key, argument))
}
