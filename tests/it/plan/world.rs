//! What a plan needs from outside, scripted: servers, a person who approves, a model.

use super::{Arguments, CallRequest, CallResult, Double, Duration, Hub, HubError, Stage};
use serde_json::Value;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use toolhub::error::{ErrorKind, Outcome};
use toolhub::hub::PlannedRun;
use toolhub::identity::NotJson;
use toolhub::model::CheckOptions;
use toolhub::plan::{
    ApprovalRequest, Approver, CallPlan, CallServices, CallSources, FunctionAnswer, LookUpRequest, PlanStep,
    ServerSet, SharedResults, TokioCall, Unreachable, WithoutRun, until_cancelled,
};
use toolhub::registry::Candidate;
use toolhub::tool::{BoxFuture, CallContextExtras};

pub struct World {
    pub hub: Arc<Hub>,
    pub stage: Stage,
    pub shared: SharedResults<CallResult>,
    servers: Mutex<HashMap<Arc<str>, Server>>,
    asked: Mutex<Vec<String>>,
    answers: Mutex<Vec<FunctionAnswer>>,
    model: Option<(String, Duration)>,
    prompts: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct Server {
    takes: Duration,
    answer: Result<Double, HubError>,
}

/// A server in the making.
pub struct NewServer<'a> {
    world: &'a World,
    id: Arc<str>,
    takes: Duration,
}

impl NewServer<'_> {
    pub fn lists(self, double: Double) {
        let double = double.server(&self.id);
        self.add(Ok(double));
    }

    pub fn fails(self, error: HubError) {
        self.add(Err(error));
    }

    fn add(self, answer: Result<Double, HubError>) {
        let server = Server { takes: self.takes, answer };
        self.world.servers.lock().unwrap().insert(self.id, server);
    }
}

impl World {
    pub fn new(hub: Arc<Hub>) -> Self {
        World {
            stage: Stage::new(&hub),
            hub,
            shared: SharedResults::default(),
            servers: Mutex::default(),
            asked: Mutex::default(),
            answers: Mutex::new(vec![FunctionAnswer::Go]),
            model: None,
            prompts: Mutex::default(),
        }
    }

    pub fn with_model(self, answer: &str, takes: Duration) -> Self {
        World { model: Some((answer.to_owned(), takes)), ..self }
    }

    /// What each of the functions answers that are asked for an approval.
    pub fn answers_with(&self, answers: Vec<FunctionAnswer>) {
        *self.answers.lock().unwrap() = answers;
    }

    pub fn server(&self, id: &str, takes: Duration) -> NewServer<'_> {
        NewServer { world: self, id: Arc::from(id), takes }
    }

    pub async fn call(&self, request: CallRequest) -> Made {
        self.call_with(request, Arguments::default()).await
    }

    pub async fn call_with(&self, request: CallRequest, args: Arguments) -> Made {
        self.make(request, args, &CancellationToken::new()).await
    }

    pub async fn call_until(&self, request: CallRequest, cancel: &CancellationToken) -> Made {
        self.make(request, Arguments::default(), cancel).await
    }

    async fn make(&self, request: CallRequest, args: Arguments, cancel: &CancellationToken) -> Made {
        let (args, extras) = (Arc::new(args), CallContextExtras::default());
        let runs = AtomicBool::new(false);
        let call = TokioCall { hub: &self.hub, sources: self, args, extras: &extras, cancel, runs };
        let scene = Scene { world: self, call, is_cached: AtomicBool::new(false) };
        let mut plan = CallPlan::new(request, tokio::time::Instant::now().into_std());
        let result = until_cancelled(&mut plan, &scene, &scene.call).await;
        Made { result, route: plan.route_name(), cached: scene.is_cached.into_inner() }
    }

    /// What was asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub fn prompts(&self) -> Vec<String> {
        self.prompts.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    fn wanted(&self, server: Option<&Arc<str>>) -> Vec<(Arc<str>, Server)> {
        let servers = self.servers.lock().unwrap();
        let wanted = servers.iter().filter(|(id, _)| server.is_none_or(|wanted| wanted == *id));
        wanted.map(|(id, server)| (id.clone(), server.clone())).collect()
    }

    async fn list(&self, id: Arc<str>, server: Server, patience: Duration) -> Option<(Arc<str>, HubError)> {
        if tokio::time::timeout(patience, tokio::time::sleep(server.takes)).await.is_err() {
            let error = HubError::new(ErrorKind::Timeout, format!("Server '{id}' is too slow."));
            return Some((id, error.with_outcome(Outcome::NotSent)));
        }
        match server.answer {
            Ok(double) => {
                self.stage.add(double);
                None
            }
            Err(error) => Some((id, error)),
        }
    }
}

impl ServerSet for World {
    fn has(&self, id: &str) -> bool {
        self.servers.lock().unwrap().contains_key(id)
    }

    fn ids(&self) -> Vec<Arc<str>> {
        self.servers.lock().unwrap().keys().cloned().collect()
    }

    fn unlisted(&self, _: &str, _: &str) -> Option<Arc<Candidate>> {
        None
    }
}

/// What a call came to, and how.
#[derive(Debug)]
pub struct Made {
    pub result: CallResult,
    /// The name of the rule by which a routed call was routed.
    pub route: Option<&'static str>,
    pub cached: bool,
}

impl Deref for Made {
    type Target = CallResult;

    fn deref(&self) -> &CallResult {
        &self.result
    }
}

impl CallSources for World {
    fn servers(&self) -> Option<&dyn ServerSet> {
        (!self.servers.lock().unwrap().is_empty()).then_some(self)
    }

    fn look_up<'a>(&'a self, request: &'a LookUpRequest) -> BoxFuture<'a, Unreachable> {
        let what = request.name.as_deref().unwrap_or("everything");
        self.note(format!("look up {what} for {:?}", request.patience));
        Box::pin(async move {
            let wanted = self.wanted(request.options.server.as_ref());
            let lists = wanted.into_iter().map(|(id, server)| self.list(id, server, request.patience));
            futures_util::future::join_all(lists).await.into_iter().flatten().collect()
        })
    }

    fn ask_model<'a>(&'a self, prompt: &'a str) -> Option<BoxFuture<'a, Result<String, HubError>>> {
        let (answer, takes) = self.model.clone()?;
        self.prompts.lock().unwrap().push(prompt.to_owned());
        Some(Box::pin(async move {
            tokio::time::sleep(takes).await;
            Ok(answer)
        }))
    }
}

/// One call in this world: on tokio, with a person who approves and results that are shared.
struct Scene<'a> {
    world: &'a World,
    call: TokioCall<'a>,
    is_cached: AtomicBool,
}

impl CallServices for Scene<'_> {
    type Result = CallResult;
    type Arguments = Arguments;

    fn hub(&self) -> &Hub {
        self.call.hub()
    }

    fn next_step(&self, plan: &mut CallPlan) -> PlanStep {
        self.call.next_step(plan)
    }

    async fn wait<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        self.call.wait(future).await
    }

    async fn look_up(&self, request: LookUpRequest) -> Unreachable {
        CallServices::look_up(&self.call, request).await
    }

    fn fit(&self, candidate: Option<&Candidate>) -> Result<Arguments, HubError> {
        let given = &*self.call.args;
        let fit = |one: &Candidate| one.tool.check(given, &CheckOptions::here(true));
        let fitting = candidate.map(fit).transpose()?;
        Ok(fitting.and_then(|fitting| fitting.replacement).unwrap_or_else(|| given.clone()))
    }

    fn json(&self, args: &Arguments) -> Result<Value, NotJson> {
        Ok(args.as_value().clone())
    }

    async fn approve(
        &self,
        _: &CallPlan,
        function: usize,
        request: &ApprovalRequest,
        args: &Arguments,
    ) -> FunctionAnswer {
        let servers: Vec<&str> = request.servers.iter().map(|id| &**id).collect();
        let what = format!("approve {} {} on [{}]", request.name, args.as_value(), servers.join(", "));
        self.world.note(what);
        self.world.answers.lock().unwrap()[function].clone()
    }

    async fn run(
        &self,
        planned: Box<PlannedRun>,
        approved: Option<Vec<Result<Arc<Arguments>, HubError>>>,
    ) -> CallResult {
        // Each candidate of these tests takes the arguments as all others do, or none runs.
        if let Some(Err(refusal)) = approved.iter().flatten().find(|one| one.is_err()) {
            return CallResult::refused(refusal.clone());
        }
        self.call.run(planned, None).await
    }

    async fn without_run(&self, plan: &CallPlan, ended: WithoutRun) -> CallResult {
        self.call.without_run(plan, ended).await
    }

    fn failure(&self, result: &CallResult) -> Option<(ErrorKind, Outcome)> {
        self.call.failure(result)
    }

    fn kept(&self, result: &CallResult) -> Value {
        self.call.kept(result)
    }

    async fn synthesize(&self, plan: &CallPlan, result: CallResult) -> CallResult {
        self.call.synthesize(plan, result).await
    }

    fn shared(&self) -> Option<&SharedResults<CallResult>> {
        Some(&self.world.shared)
    }

    fn copy(&self, result: &CallResult, is_cached: bool) -> Option<CallResult> {
        self.is_cached.store(is_cached, Ordering::Relaxed);
        Some(result.clone())
    }
}

/// Permissions that allow what these patterns match.
pub fn ask(allowed: &[&'static str], asks: bool) -> super::Permissions {
    super::Permissions {
        allowed: Arc::new(toolhub::pattern::PatternList::new(allowed.iter().copied())),
        approvers: asks.then(|| vec![Approver::Function(0)]).into_iter().collect(),
        heeds_answers: false,
    }
}
