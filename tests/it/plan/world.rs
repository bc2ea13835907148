//! What a plan needs from outside, scripted: servers, a person who approves, a model.

use super::{Arguments, CallRequest, CallResult, Double, Duration, Hub, HubError, Stage, call};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use toolhub::error::{ErrorKind, Outcome};
use toolhub::plan::{
    ApprovalRequest, Approver, CallServices, FunctionAnswer, LookUpRequest, ServerSet, SharedResults,
    Unreachable,
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

    pub async fn call(&self, request: CallRequest) -> CallResult {
        self.call_with(request, Arguments::default()).await
    }

    pub async fn call_with(&self, request: CallRequest, args: Arguments) -> CallResult {
        let never = CancellationToken::new();
        call(&self.hub, self, &self.shared, request, Arc::new(args), &CallContextExtras::default(), &never)
            .await
    }

    pub async fn call_until(&self, request: CallRequest, cancel: &CancellationToken) -> CallResult {
        call(&self.hub, self, &self.shared, request, Arc::default(), &CallContextExtras::default(), cancel)
            .await
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

impl CallServices for World {
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

    fn approve<'a>(
        &'a self,
        approver: usize,
        request: &'a ApprovalRequest,
        args: &'a Arguments,
    ) -> BoxFuture<'a, FunctionAnswer> {
        let servers: Vec<&str> = request.servers.iter().map(|id| &**id).collect();
        self.note(format!("approve {} {} on [{}]", request.name, args.as_value(), servers.join(", ")));
        let answer = self.answers.lock().unwrap()[approver].clone();
        Box::pin(async move { answer })
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

/// Permissions that allow what these patterns match.
pub fn ask(allowed: &[&'static str], asks: bool) -> super::Permissions {
    super::Permissions {
        allowed: Arc::new(toolhub::pattern::PatternList::new(allowed.iter().copied())),
        approvers: asks.then(|| vec![Approver::Function(0)]).into_iter().collect(),
        heeds_answers: false,
    }
}
