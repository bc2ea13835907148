//! L5, the catalog: which MCP servers a hub has, and their tools in its registry.
//!
//! A [`Server`] knows how to be reached. Here is the set of servers, what changes when a configuration is loaded again,
//! which candidates the servers give to the hub ([`publisher`]), and how a tool that no server has listed is looked up.

mod config_files;
mod lookup;
mod pins;
mod publisher;
pub mod resources;
mod shown;
pub mod upstreams;

use crate::mcp::auth::Credentials;
use crate::mcp::callbacks::Host;
use crate::mcp::config::ServerConfig;
use crate::mcp::server::Server;
use crate::mcp::tool::McpTool;
use config_files::ConfigFiles;
pub use config_files::{LoadReport, ReadConfig};
use futures_util::stream::{self, BoxStream, StreamExt};
use lookup::too_slow;
use parking_lot::Mutex;
use pins::Pins;
use publisher::ToolPublisher;
pub use publisher::place;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_engine::hub::Hub;
use toolhub_engine::plan::{ServerSet, unknown_server};
use toolhub_registry::Candidate;
use toolhub_registry::select::is_shadow;
use toolhub_text::{Message, message};
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, shown_seconds};
use toolhub_types::model::{ChangedOffer, Lang, OfferKind, Source, ToolSpec};

/// How many servers are connected at the same time by one `connect`.
const CONNECT_AT_ONCE: usize = 16;

/// Makes what a server's requests are signed with, from its configuration.
pub type MakeCredentials = Arc<dyn Fn(&ServerConfig) -> Result<Option<Arc<dyn Credentials>>> + Send + Sync>;

pub struct Servers {
    hub: Arc<Hub>,
    publisher: Arc<ToolPublisher>,
    host: Host,
    credentials: MakeCredentials,
    /// In the order in which they were added.
    all: Mutex<Vec<Arc<Server>>>,
    files: ConfigFiles,
    /// Held while a server is added or removed, which may wait for the store; `all` never waits.
    changing: Mutex<()>,
    /// The servers that did not list their tools for a look-up: since when, and why.
    silent: Mutex<HashMap<Arc<str>, (Instant, Message)>>,
    /// The servers whose lists were requested because a program looked at the tools of the hub.
    list_requested: Mutex<HashSet<Arc<str>>>,
}

/// The id of a server, and why it failed if it did.
pub type ServerOutcome = (Arc<str>, Result<()>);
pub type ServerReport = Vec<ServerOutcome>;

impl Servers {
    pub fn new(hub: Arc<Hub>, host: Host, credentials: MakeCredentials) -> Arc<Self> {
        let pins = Pins::new(hub.store().cloned(), hub.pins_are_lost());
        let publisher = Arc::new(ToolPublisher::new(Arc::downgrade(&hub), pins));
        let host = Host { offers: hub.own_offers.signals.clone(), ..host };
        Arc::new(Servers {
            hub,
            publisher,
            host,
            credentials,
            all: Mutex::default(),
            files: ConfigFiles::default(),
            changing: Mutex::default(),
            silent: Mutex::default(),
            list_requested: Mutex::default(),
        })
    }

    pub fn all(&self) -> Vec<Arc<Server>> {
        self.all.lock().clone()
    }

    pub fn get(&self, id: &str) -> Option<Arc<Server>> {
        self.all.lock().iter().find(|server| &**server.id() == id).cloned()
    }

    /// Adds a server, or puts it in the place of one with the same id. One whose configuration is the same stays as it
    /// is, and lists again what was removed by hand. What was replaced is returned, to be closed.
    pub fn add(&self, config: ServerConfig) -> Result<Option<Arc<Server>>> {
        let _changing = self.changing.lock();
        if let Some(known) = self.get(&config.id).filter(|known| *known.config() == config) {
            self.publisher.forget_removed(&known);
            known.publish_again();
            return Ok(None);
        }
        let credentials = (self.credentials)(&config)?;
        let host = Host {
            sample: self.host.sample.clone().filter(|_| config.options.allow_sampling),
            ..self.host.clone()
        };
        let server = Server::new(config, host, credentials, self.publisher.clone());
        let replaced = {
            let mut all = self.all.lock();
            match all.iter_mut().find(|known| known.id() == server.id()) {
                Some(known) => Some(std::mem::replace(known, server.clone())),
                None => {
                    all.push(server.clone());
                    None
                }
            }
        };
        self.silent.lock().remove(server.id());
        self.list_requested.lock().remove(server.id());
        self.publisher.admit(&server);
        // After its tools are withdrawn: what is planned again finds those of the new server.
        if let Some(replaced) = &replaced {
            replaced.dismiss();
        }
        if let Some(store) = self.hub.store().filter(|_| !server.config().disabled) {
            publisher::restore_list(store, &server);
        }
        Ok(replaced)
    }

    /// Why tools, resources and prompts of this server are refused.
    pub fn refused(&self, server: &Server) -> Vec<String> {
        let mut reasons = self.hub.refusals.reasons(server.id());
        reasons.extend(self.trespasses(server));
        reasons
    }

    /// Accepts the changed definitions of a server, or of one tool of it; says how many there were.
    pub fn accept_pin(&self, server: &str, tool: Option<&str>) -> usize {
        let accepted = self.publisher.pins.accept(server, tool);
        if let Some(server) = self.get(server) {
            server.publish_again();
        }
        accepted
    }

    /// Removes a server and its tools. The caller has to close it.
    pub fn remove(&self, id: &str) -> Option<Arc<Server>> {
        let _changing = self.changing.lock();
        let removed = self.all.lock().extract_if(.., |server| &**server.id() == id).next()?;
        self.silent.lock().remove(removed.id());
        self.publisher.dismiss(&removed);
        removed.dismiss();
        for kind in [OfferKind::Resources, OfferKind::Prompts] {
            if removed.callbacks().declares(kind.capability()) == Some(true) {
                self.host.offers.send(removed.id(), ChangedOffer::List(kind));
            }
        }
        Some(removed)
    }

    /// The names of this server's tools that are also names of native ones.
    pub fn shadows(&self, server: &Server) -> Vec<Arc<str>> {
        let Some(listing) = server.listing() else { return Vec::new() };
        let snapshot = self.hub.registry.snapshot();
        let prefix = server.config().options.prefix.as_deref().unwrap_or_default();
        let shadow = |name: &str| {
            let entry = snapshot.family(&format!("{prefix}{name}"))?;
            let mut of_server =
                entry.candidates.iter().filter(|one| one.server.as_ref() == Some(server.id()));
            of_server.find(|one| is_shadow(one, entry)).map(|one| one.spec().name.clone())
        };
        listing.tools.iter().filter_map(|listed| shadow(&listed.name)).collect()
    }

    /// The tools of this server that are listed as `server__name`, because other servers use the name for other tools.
    pub fn namesakes(&self, server: &Server) -> Vec<(Arc<str>, Arc<str>)> {
        let snapshot = self.hub.registry.snapshot();
        let apart = snapshot.entries().filter(|(_, entry)| entry.is_apart());
        let own = |one: &&Arc<Candidate>| one.server.as_ref() == Some(server.id());
        apart
            .filter_map(|(listed_as, entry)| {
                Some((entry.candidates.iter().find(own)?.spec().name.clone(), listed_as.clone()))
            })
            .collect()
    }

    /// The servers of these ids, or all that are not disabled.
    pub fn pick(&self, ids: Option<&[String]>) -> Result<Vec<Arc<Server>>> {
        let Some(ids) = ids else {
            return Ok(self.all().into_iter().filter(|server| !server.config().disabled).collect());
        };
        ids.iter().map(|id| self.get(id).ok_or_else(|| self.unknown(id))).collect()
    }

    /// The language of what the hub says about its servers.
    pub fn lang(&self) -> Lang {
        self.hub.options.lang
    }

    pub fn unknown(&self, id: &str) -> HubError {
        unknown_server(id, self.ids())
    }

    /// Connects servers side by side, or has them list their tools again, and reports each one: in the given order, or as soon
    /// as it is connected or has failed if `at_once` says how many may be on their way. Dropping the stream starts no further
    /// attempt.
    pub fn connect(
        &self,
        servers: Vec<Arc<Server>>,
        timeout: Option<Duration>,
        refresh: bool,
        at_once: Option<usize>,
    ) -> BoxStream<'static, ServerOutcome> {
        let outcomes = stream::iter(servers).map(move |server| within(server, timeout, refresh));
        match at_once {
            // One future, which goes on while nobody asks for the next outcome.
            None => stream::once(outcomes.buffered(CONNECT_AT_ONCE).collect::<Vec<_>>())
                .flat_map(stream::iter)
                .boxed(),
            Some(most) => outcomes.buffer_unordered(most.max(1)).boxed(),
        }
    }

    /// Ends all servers permanently.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.all.lock());
        stream::iter(all).for_each_concurrent(None, |server| async move { server.close().await }).await;
    }
}

impl ServerSet for Servers {
    fn has(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    fn ids(&self) -> Vec<Arc<str>> {
        self.all().iter().map(|server| server.id().clone()).collect()
    }

    /// A candidate for a tool that its server has not listed (yet): a program that names the server may call what its
    /// configuration does not exclude, and the server knows whether it has it. A pin accepts a definition, so a pinned server
    /// has to list its tools.
    fn unlisted(&self, server: &str, tool: &str) -> Option<Arc<Candidate>> {
        let server = self.get(server)?;
        let options = &server.config().options;
        let own_name = tool.strip_prefix(options.prefix.as_deref().unwrap_or_default()).unwrap_or(tool);
        if options.pin || !options.wants(own_name) {
            return None;
        }
        let mut spec = ToolSpec::named(tool);
        spec.timeout = options.timeout;
        let (registry, id) = (&self.hub.registry, server.id().clone());
        let tool = Arc::new(McpTool::unlisted(server, own_name, spec));
        Some(Arc::new(Candidate::new(registry.next_id(), Source::Mcps, Some(id), tool)))
    }
}

async fn within(server: Arc<Server>, timeout: Option<Duration>, refresh: bool) -> ServerOutcome {
    let work = async { if refresh { server.refresh().await.map(drop) } else { server.connect().await } };
    let id = server.id().clone();
    let Some(timeout) = timeout else { return (id, work.await) };
    let done = tokio::time::timeout(timeout, work).await.unwrap_or_else(|_| {
        // Who is connected lacks the list only.
        if server.is_connected() {
            return Err(too_slow(&server, timeout));
        }
        let seconds = shown_seconds(timeout.as_secs_f64());
        let text = message!("Server '{}' did not connect within {} s.", id, seconds);
        Err(HubError::new(ErrorKind::Timeout, text).with_outcome(Outcome::NotSent))
    });
    (id, done)
}
