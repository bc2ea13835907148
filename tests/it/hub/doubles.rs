//! Tools that do what a test says, and write down what was done to them.

use crate::support::function_tool::FunctionTool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use toolhub::error::{ErrorKind, HubError};
use toolhub::hub::Hub;
use toolhub::limit::Gate;
use toolhub::model::{Effects, Evidence, Source, ToolOutput, ToolSpec};
use toolhub::registry::Candidate;
use toolhub::stats::CandidateStats;
use toolhub::tool::{CallContext, Tool};

/// What has happened, in order, on the paused clock. Shared by all doubles of a test.
#[derive(Clone)]
pub struct Stage {
    hub: Arc<Hub>,
    begun: Instant,
    acts: Arc<Mutex<Acts>>,
}

#[derive(Default)]
struct Acts {
    log: Vec<(u64, String)>,
    contexts: Vec<CallContext>,
    inside: usize,
    most_inside: usize,
}

/// What a double does after its time has passed.
#[derive(Clone)]
enum Deed {
    Answer(Value),
    Fail(HubError),
    Panic,
}

/// A tool in the making.
#[derive(Clone)]
pub struct Double {
    spec: ToolSpec,
    source: Source,
    server: Option<Arc<str>>,
    after: Option<Duration>,
    heeds_cancel: bool,
    deed: Deed,
}

impl Double {
    fn new(name: &str, deed: Deed) -> Self {
        Double {
            spec: ToolSpec {
                description: Arc::from("A double."),
                effects: Effects::harmless(Evidence::Registration),
                ..ToolSpec::named(name)
            },
            source: Source::Tools,
            server: None,
            after: Some(Duration::ZERO),
            heeds_cancel: true,
            deed,
        }
    }

    pub fn answering(name: &str, value: impl Into<Value>) -> Self {
        Double::new(name, Deed::Answer(value.into()))
    }

    pub fn failing(name: &str, kind: ErrorKind) -> Self {
        Double::new(name, Deed::Fail(HubError::new(kind, format!("{name} failed on purpose"))))
    }

    /// Its server proves that it has not run.
    pub fn refusing(name: &str) -> Self {
        let error = HubError::new(ErrorKind::Http, format!("{name} was refused on purpose"));
        Double::new(name, Deed::Fail(HubError { nothing_happened: true, ..error }))
    }

    /// Runs until it is cancelled.
    pub fn hanging(name: &str) -> Self {
        Double { after: None, ..Double::answering(name, Value::Null) }
    }

    pub fn panicking(name: &str) -> Self {
        Double::new(name, Deed::Panic)
    }

    pub fn after(mut self, millis: u64) -> Self {
        self.after = Some(Duration::from_millis(millis));
        self
    }

    /// Continues when it is asked to stop.
    pub fn deaf(mut self) -> Self {
        self.heeds_cancel = false;
        self
    }

    pub fn of(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    pub fn server(mut self, server: &str) -> Self {
        self.source = Source::Mcps;
        self.server = Some(Arc::from(server));
        self
    }

    pub fn with(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    fn label(&self) -> String {
        self.server.as_deref().unwrap_or(self.source.name()).to_owned()
    }
}

/// A call inside a tool; leaves however the tool ends.
struct Inside(Stage);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.acts.lock().unwrap().inside -= 1;
    }
}

impl Stage {
    pub fn new(hub: &Arc<Hub>) -> Self {
        Stage { hub: hub.clone(), begun: Instant::now(), acts: Arc::default() }
    }

    pub fn add(&self, double: Double) -> Arc<Candidate> {
        let (source, server) = (double.source, double.server.clone());
        let gate = double.spec.max_concurrency.map(|n| Gate::new(n, self.hub.options.max_waiting));
        let (stage, spec) = (self.clone(), double.spec.clone());
        let tool = FunctionTool::new(spec, move |_, ctx| stage.clone().play(double.clone(), ctx));
        self.insert(source, server, gate, Arc::new(tool))
    }

    /// A tool that is not a double.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Arc<Candidate> {
        self.insert(Source::Tools, None, None, tool)
    }

    fn insert(
        &self,
        source: Source,
        server: Option<Arc<str>>,
        gate: Option<Arc<Gate>>,
        tool: Arc<dyn Tool>,
    ) -> Arc<Candidate> {
        self.hub.registry.insert(Candidate {
            id: self.hub.registry.next_id(),
            source,
            server,
            priority: source.default_priority(),
            tool,
            gate,
            stats: Arc::new(CandidateStats::default()),
            variant: 1,
            definition: Default::default(),
        })
    }

    async fn play(self, double: Double, ctx: CallContext) -> Result<ToolOutput, HubError> {
        let who = double.label();
        self.note("start", &who);
        let _inside = self.enter(&ctx);
        let time = async {
            match double.after {
                Some(after) if after.is_zero() => {}
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = ctx.cancel.cancelled(), if double.heeds_cancel => {
                self.note("cancelled", &who);
                return Err(HubError::new(ErrorKind::Cancelled, format!("{who} was asked to stop")));
            }
            () = time => self.note("end", &who),
        }
        match double.deed {
            Deed::Answer(value) => Ok(ToolOutput::new(value)),
            Deed::Fail(error) => Err(error),
            Deed::Panic => panic!("on purpose"),
        }
    }

    fn note(&self, what: &str, who: &str) {
        let now = self.begun.elapsed().as_millis() as u64;
        self.acts.lock().unwrap().log.push((now, format!("{what} {who}")));
    }

    fn enter(&self, ctx: &CallContext) -> Inside {
        let mut acts = self.acts.lock().unwrap();
        acts.contexts.push(ctx.clone());
        acts.inside += 1;
        acts.most_inside = acts.most_inside.max(acts.inside);
        Inside(self.clone())
    }

    /// `start tools`, `end brave`, `cancelled skills`, with the millisecond.
    pub fn log(&self) -> Vec<(u64, String)> {
        self.acts.lock().unwrap().log.clone()
    }

    /// How often something happened: `start`, `cancelled brave`.
    pub fn count(&self, what: &str) -> usize {
        self.acts.lock().unwrap().log.iter().filter(|(_, act)| act.starts_with(what)).count()
    }

    /// Who was started, in order.
    pub fn started(&self) -> Vec<String> {
        let acts = self.acts.lock().unwrap();
        acts.log.iter().filter_map(|(_, act)| act.strip_prefix("start ").map(str::to_owned)).collect()
    }

    /// The contexts that calls were given, in order.
    pub fn contexts(&self) -> Vec<CallContext> {
        self.acts.lock().unwrap().contexts.clone()
    }

    pub fn inside(&self) -> usize {
        self.acts.lock().unwrap().inside
    }

    /// How many ran at once at most.
    pub fn most_at_once(&self) -> usize {
        self.acts.lock().unwrap().most_inside
    }

    pub fn elapsed(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }
}
