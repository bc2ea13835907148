//! One tool of one server, as a candidate of the hub.

use crate::mcp::config::Endpoint;
use crate::mcp::connection::{Connection, RequestExtras};
use crate::mcp::convert::{self, CallAnswer};
use crate::mcp::message::Params;
use crate::mcp::questions::{self, InputRequests};
use crate::mcp::server::Server;
use crate::mcp::tool_list::{Listed, ListedBy};
use crate::mcp::{backoff, proof, tasks};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolhub_protocol::{Era, param_headers};
use toolhub_registry::schema::{ArgumentSchema, Schema};
use toolhub_text::{Message, message};
use toolhub_types::blocking::block_if_large;
use toolhub_types::error::{ErrorKind, HubError, Outcome, Result, clip};
use toolhub_types::model::{
    Arguments, BoundValue, CheckOptions, Fitting, Freshness, ToolOutput, ToolSpec, Unchecked,
};
use toolhub_types::tool::{BoxFuture, CallContext, Tool};

/// How often one call may be asked for more input.
const ROUNDS: u32 = 10;

/// The longest pause between two tries to reach a server that is being restarted.
const LONGEST_RESTART_PAUSE: Duration = Duration::from_secs(1);

/// The mark of FastMCP in an output schema: the value is under `result`.
const WRAPPED: &str = "x-fastmcp-wrap-result";

pub struct McpTool {
    spec: ToolSpec,
    schema: ArgumentSchema,
    /// What the answer must look like; `None` when the server does not say.
    result: Option<Arc<Schema>>,
    /// As the hub shows it.
    listed: Arc<Listed>,
    /// As its server lists it.
    as_listed: ListedBy,
    is_listed: bool,
    server: Arc<Server>,
}

impl McpTool {
    pub fn new(server: Arc<Server>, as_listed: ListedBy, listed: Arc<Listed>, spec: ToolSpec) -> Self {
        McpTool {
            schema: ArgumentSchema::new(spec.parameters.clone()),
            result: listed.output_schema.clone().map(|schema| Arc::new(Schema::new(schema))),
            spec,
            listed,
            as_listed,
            is_listed: true,
            server,
        }
    }

    /// A tool that its server has not listed (yet), by the server's own name for it.
    pub fn unlisted(server: Arc<Server>, own_name: &str, spec: ToolSpec) -> Self {
        let named = Arc::new(Listed::unlisted(own_name));
        let as_listed = ListedBy { tool: named.clone(), program_version: None };
        McpTool { is_listed: false, ..McpTool::new(server, as_listed, named, spec) }
    }

    async fn run(&self, args: &Arguments, ctx: &CallContext) -> Result<ToolOutput> {
        let server = self.server.for_call(&ctx.extras).map_err(|error| self.of_caller(error))?;
        server.let_it_ask(ctx.extras.ask.as_ref());
        // A server that was removed is closed when the last call of its callers has ended.
        let _call = self.server.begin_call();
        let output = ServerCall { tool: self, server: &server }.run(args, ctx).await;
        output.map_err(|error| self.of_caller(server.callbacks().secrets.hide_error(error)))
    }

    /// Wrong credentials of one caller say nothing about the tool: it must not rest for others because of them.
    fn of_caller(&self, error: HubError) -> HubError {
        let is_refused = error.kind == ErrorKind::Auth || matches!(error.status, Some(401 | 403));
        let kind = if is_refused && self.server.is_per_caller() { ErrorKind::NotAllowed } else { error.kind };
        HubError { kind, ..error }
    }
}

/// One call on the server that its caller may use.
struct ServerCall<'a> {
    tool: &'a McpTool,
    server: &'a Arc<Server>,
}

impl ServerCall<'_> {
    async fn run(&self, args: &Arguments, ctx: &CallContext) -> Result<ToolOutput> {
        let _call = self.server.begin_call();
        let _slot = self.server.slot(&self.tool.server).await?;
        self.server.retry_budget.lock().called();
        let mut retries = 0;
        let mut new_session = false;
        let (begun, mut restarts) = (Instant::now(), 0);
        let mut is_in_doubt = false;
        loop {
            let mut is_connected = false;
            let error = match self.attempt(args, ctx, &mut is_connected).await {
                Ok(output) => return Ok(output),
                Err(error) => error,
            };
            let was_in_doubt = is_in_doubt || proof::only_lets_resend(&error);
            is_in_doubt = was_in_doubt || !error.is_without_effect();
            // Another server may have taken the place of this one.
            if self.tool.server.dismissed.is_cancelled() && is_unsent(&error) {
                return Err(proof::of_last_try(error, was_in_doubt));
            }
            let pause = if refuses_session(&error) {
                // The server is there and does not know the session: this repetition is free, and happens once.
                (!std::mem::replace(&mut new_session, true)).then_some(Duration::ZERO)
            } else if let Some(pause) = self.until_restarted(&error, begun, restarts, ctx.deadline) {
                restarts += 1;
                Some(pause)
            } else {
                let pause = self.pause(&error, retries, ctx.deadline, is_connected);
                retries += 1;
                pause
            };
            let Some(pause) = pause else {
                return Err(self.explained(proof::of_last_try(error, was_in_doubt)));
            };
            if let Some(retried) = &ctx.retried {
                let tries = retries + restarts + u32::from(new_session);
                retried(&json!({"tries": tries, "seconds": pause.as_secs_f64(), "error": &*error.message}));
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(
        &self,
        args: &Arguments,
        ctx: &CallContext,
        is_connected: &mut bool,
    ) -> Result<ToolOutput> {
        let connection = self.tool.server.unless_dismissed(self.server.connection()).await??;
        *is_connected = true;
        let confirmed = self.confirm(&connection, ctx.freshness).await;
        let mut confirmed = confirmed.map_err(|error| self.unreachable(error))?;
        let (keep_raw, era) = (ctx.extras.keep_raw, connection.server.era);
        let mut input: Option<InputRequests> = None;
        if let Some(begun_elsewhere) = &ctx.extras.resumes {
            // What is not listed here may be hidden from the caller.
            let era = if self.tool.is_listed { era } else { Era::Legacy };
            let asked = questions::resumed(self.server, era, begun_elsewhere)?;
            input = Some(self.gather(asked, ctx).await?);
        }
        for round in 1..=ROUNDS {
            let is_first = input.is_none();
            if !is_first {
                // Somebody has taken the time to answer.
                confirmed = self.confirm(&connection, ctx.freshness).await.map_err(begun)?;
            }
            let sent = self.send(&connection, args, input.take(), confirmed, ctx).await;
            let raw = sent.map_err(|error| {
                if error.kind == ErrorKind::Rpc {
                    self.server.answered();
                }
                if is_first { error } else { begun(error) }
            })?;
            self.server.answered();
            let size = raw.get().len();
            match block_if_large(size, || convert::answer(&self.tool.spec.name, raw, era, keep_raw))? {
                CallAnswer::Done(output) => return self.checked(*output).await,
                // Both are rare: in a box they do not make every other call's future larger.
                CallAnswer::Task(task) => {
                    let finished = tasks::finish(self.server, connection, &self.tool.spec.name, &task, ctx);
                    return self.checked(Box::pin(finished).await?).await;
                }
                CallAnswer::NeedsInput(asked) => {
                    // It only wants the request once more, with a `requestState`. The specification lets a client do that and does not
                    // demand it. Nobody has answered anything in between, so for a tool that may act it is a repetition like any other.
                    if asked.0.is_empty() {
                        if !self.tool.spec.is_repeatable() {
                            let text = message!(
                                "Tool '{}' on server '{}' asked to be called again without asking for input; it may have run, so it is not called twice.",
                                clip(&self.tool.spec.name),
                                self.server.id()
                            );
                            return Err(begun(HubError::new(ErrorKind::Protocol, text)));
                        }
                        tokio::time::sleep(backoff::pause(round)).await;
                    }
                    input = Some(self.gather(asked, ctx).await?);
                }
            }
        }
        let name = clip(&self.tool.spec.name);
        let text = message!("Tool '{}' asked for more input {} times and was abandoned.", name, ROUNDS);
        Err(begun(HubError::new(ErrorKind::Limit, text)))
    }

    /// Refuses the call if the tool is not any more what it was chosen as. If it relies on an earlier list, gives how often the way
    /// to the server had been interrupted when that was current.
    async fn confirm(&self, connection: &Arc<Connection>, freshness: Freshness) -> Result<Option<u64>> {
        let McpTool { spec, listed, as_listed, is_listed, server, .. } = self.tool;
        let pin = self.server.config().options.pin;
        let freshness = if pin { freshness.max(Freshness::Connection) } else { freshness };
        // For pins, approvals and runs the definition must be the same. A tool that its server has not listed is known by its name
        // alone, which a run may keep.
        let is_exact = pin || freshness == Freshness::Now || freshness == Freshness::Connection && *is_listed;
        if !(is_exact || *is_listed && spec.is_repeatable()) {
            return Ok(None);
        }
        let (listing, breaks) =
            self.server.listed_over(connection, freshness.max(Freshness::Connection)).await?;
        // Lists share what has not changed, so this is nearly always enough.
        if listing.tools.iter().any(|one| Arc::ptr_eq(one, &as_listed.tool))
            && (!is_exact || listing.program_version == as_listed.program_version)
        {
            return Ok(breaks);
        }
        let now = listing.find(&listed.name);
        // A pin accepts less than an approval.
        let is_whole = is_exact && (!pin || freshness == Freshness::Now);
        let defined = |known: &ListedBy| if is_whole { known.to_json() } else { known.tool.to_json() };
        // What was never listed was never accepted.
        let before = (*is_listed || pin).then(|| defined(as_listed));
        let is_as_harmless = |now: &ListedBy| {
            let (effects, idempotent) = server.effects(&now.tool);
            effects.are_harmless() || (idempotent && !spec.effects.are_harmless())
        };
        // What may be repeated must still be listed as such over the connection that the call leaves by. An earlier list, or that of
        // another connection, proves nothing about the program that answers.
        let is_good =
            !is_exact && now.as_ref().is_some_and(|now| now.tool == as_listed.tool || is_as_harmless(now));
        let now = now.as_ref().map(defined);
        if is_good || is_exact && now == before {
            return Ok(breaks);
        }
        let (id, name) = (self.server.id(), clip(&listed.name));
        let text = match pin {
            true => message!(
                "Server '{}' has changed its tool '{}' since its definition was accepted; look at it with hub.pins.list().",
                id,
                name
            ),
            false => message!(
                "Tool '{}' was not called: server '{}' has changed it since the call was prepared ({}). Make the call again.",
                name,
                id,
                listed_change(before.as_ref(), now.as_ref())
            ),
        };
        Err(HubError::new(ErrorKind::NotAllowed, text))
    }

    /// The answers to what the server asks, with its own state.
    async fn gather(&self, asked: InputRequests, ctx: &CallContext) -> Result<InputRequests> {
        let gathered = questions::gather(self.server, &self.tool.spec.name, asked, ctx.extras.ask.as_ref());
        Box::pin(gathered).await.map_err(begun)
    }

    async fn send(
        &self,
        connection: &Connection,
        args: &Arguments,
        input: Option<InputRequests>,
        breaks: Option<u64>,
        ctx: &CallContext,
    ) -> Result<Box<serde_json::value::RawValue>> {
        let mut params =
            Params::new().with("name", &*self.tool.listed.name).with("arguments", args.as_value());
        if tasks::wanted(connection, self.tool.listed.needs_task) {
            params = params.with("task", &json!({}));
        }
        if let Some(input) = input {
            params = questions::with_answers(params, input);
        }
        let extras = RequestExtras {
            headers: param_headers::of_call(&self.tool.listed.headers, args.as_value()),
            sent: Some(ctx.sent.clone()),
            name: Some(self.tool.listed.name.clone()),
            call: Some(&ctx.extras),
            breaks,
        };
        let answer = connection.request("tools/call", params, extras).await;
        let may_check_result = self.tool.result.is_some() || !self.tool.is_listed;
        answer.map_err(|error| self.unreachable(proof::of_call(error, may_check_result)))
    }

    /// What breaks the tool's own promise does not pass as a good answer.
    async fn checked(&self, mut output: ToolOutput) -> Result<ToolOutput> {
        // Whether the tool did what it should have done is not known then either.
        let broken = |why: Message| {
            let name = clip(&self.tool.spec.name);
            let text = message!("The result of '{}' does not match the tool's output schema: {}.", name, why);
            Err(begun(HubError::new(ErrorKind::Protocol, text)))
        };
        if let Some(schema) = &self.tool.result {
            let Some(structured) = output.structured.take() else {
                return broken(message!("structured content is missing"));
            };
            let (structured, violations) = convert::violations(schema, structured).await;
            if let Some(violations) = violations {
                return broken(violations);
            }
            output.structured = Some(structured);
        }
        let mark = self.tool.listed.output_schema.as_ref().and_then(|schema| schema.get(WRAPPED));
        Ok(convert::unwrapped(output, mark.and_then(Value::as_bool) == Some(true)))
    }

    /// The pause before the next try of a call that was under way when its server stopped taking connections. Nothing was
    /// sent, so the repetition is free.
    fn until_restarted(
        &self,
        error: &HubError,
        begun: Instant,
        tries: u32,
        deadline: Instant,
    ) -> Option<Duration> {
        let options = &self.server.config().options;
        let is_refused = error.kind == ErrorKind::Connect && error.outcome == Outcome::NotSent;
        let is_remote = matches!(self.server.config().endpoint, Endpoint::Http(_));
        if !is_refused || !is_remote {
            return None;
        }
        let now = Instant::now();
        if self.server.outage.lock().begins(now) {
            self.server.tell_lost(None, Some(error));
        }
        if options.retries == 0 {
            return None;
        }
        let pause = backoff::asked_pause(error)
            .unwrap_or_else(|| backoff::pause(tries + 1).min(LONGEST_RESTART_PAUSE));
        (self.server.outage.lock().awaits(begun, now) && now + pause < deadline).then_some(pause)
    }

    /// How long to wait before another try, or `None` when there must not be one.
    fn pause(&self, error: &HubError, tries: u32, deadline: Instant, is_connected: bool) -> Option<Duration> {
        let safe = error.is_without_effect() || self.tool.spec.is_repeatable();
        // A program that cannot be started, or ends at once, will not do better a moment later.
        let hopeless = !is_connected
            && error.retry_after.is_none()
            && !matches!(self.server.config().endpoint, Endpoint::Http(_));
        // `retries` counts total attempts for an HTTP refusal, but extra attempts for a connection failure.
        let refused = u32::from(error.kind == ErrorKind::Http);
        if !backoff::is_transient(error)
            || !safe
            || hopeless
            || tries + refused >= self.server.config().options.retries
        {
            return None;
        }
        let pause = match error.retry_after {
            Some(_) => backoff::asked_pause(error)?,
            // The first new connection is made at once.
            None if tries == 0 && error.kind == ErrorKind::Closed => Duration::ZERO,
            None => backoff::pause(tries + 1),
        };
        let in_time = Instant::now() + pause < deadline;
        (in_time && self.server.retry_budget.lock().spend()).then_some(pause)
    }

    /// An error of a connection that was made earlier names the address only.
    fn unreachable(&self, error: HubError) -> HubError {
        if error.kind != ErrorKind::Connect {
            return error;
        }
        let message = message!("Server '{}' cannot be reached: {}", self.server.id(), error);
        HubError { message, ..error }
    }

    /// The caller learns on which server it was and whether it may have run.
    fn explained(&self, error: HubError) -> HubError {
        if let Some(status) = error.status.filter(|_| refuses_session(&error)) {
            let message = message!(
                "HTTP request failed with status {}: server '{}' refused the session of the call, and a new one too",
                status,
                self.server.id()
            );
            return HubError { kind: ErrorKind::Http, message, ..error };
        }
        if error.kind != ErrorKind::Closed || error.outcome != Outcome::Unknown {
            return error;
        }
        let message = message!(
            "{} (tool '{}' on server '{}' may have run: the outcome is unknown)",
            error,
            clip(&self.tool.spec.name),
            self.server.id()
        );
        HubError { message, ..error }
    }
}

/// Two definitions of a tool for people: the descriptions, and the members that differ.
fn listed_change(before: Option<&Value>, now: Option<&Value>) -> String {
    let shown = |tool: Option<&Value>| match tool {
        Some(tool) => format!("'{}'", clip(tool["description"].as_str().unwrap_or_default())),
        None => "not listed".to_owned(),
    };
    let change = format!("then {}, now {}", shown(before), shown(now));
    let (Some(before), Some(now)) = (before, now) else { return change };
    let names = [before, now].into_iter().filter_map(Value::as_object).flat_map(Map::keys);
    let changed: BTreeSet<&str> =
        names.map(String::as_str).filter(|name| before[*name] != now[*name]).collect();
    let changed = changed.into_iter().collect::<Vec<_>>().join(", ");
    format!("{change}; it differs in {changed}")
}

/// The error of a call that the server had taken: it asked for input or gave a result.
fn begun(error: HubError) -> HubError {
    error.with_outcome(Outcome::Unknown)
}

/// Whether there was no connection, or no session, to send the call on.
fn is_unsent(error: &HubError) -> bool {
    error.kind == ErrorKind::Closed && error.is_without_effect()
}

/// Whether the server refused the session of the call, and therefore did not run it.
fn refuses_session(error: &HubError) -> bool {
    is_unsent(error) && error.status.is_some()
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, args: &Arguments, options: &CheckOptions<'_>) -> Result<Fitting<Arguments>> {
        self.schema.check(&self.spec.name, args, options)
    }

    fn unchecked(&self) -> &[Unchecked] {
        self.schema.unchecked()
    }

    fn definition_extras(&self) -> Map<String, Value> {
        self.listed.extras()
    }

    fn provider(&self) -> Value {
        self.server.config().endpoint.identity()
    }

    fn bound(&self) -> Vec<BoundValue> {
        self.server.config().bound_values()
    }

    fn program_version(&self) -> Option<&str> {
        self.as_listed.program_version.as_deref()
    }

    fn is_defined(&self) -> bool {
        self.is_listed
    }

    fn is_current(&self, freshness: Freshness) -> bool {
        match freshness {
            Freshness::Any => true,
            Freshness::Connection => !self.is_listed || self.server.has_current_list(),
            Freshness::Now => false,
        }
    }

    fn why_waiting(&self) -> Option<String> {
        self.server.startup_output()
    }

    /// The transport does, when the request leaves.
    fn marks_sent(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, args: &'a Arguments, ctx: &'a CallContext) -> BoxFuture<'a, Result<ToolOutput>> {
        Box::pin(async move {
            tokio::select! {
                // A call that was cancelled goes no step further, so that nothing leaves; `run_until_cancelled` would let it.
                biased;
                // Dropping the run withdraws the request or tells the server.
                () = ctx.cancel.cancelled() => {
                    let text = message!("Tool '{}' was cancelled.", clip(&self.spec.name));
                    Err(HubError::new(ErrorKind::Cancelled, text))
                }
                output = self.run(args, ctx) => output,
            }
        })
    }
}
