//! What would happen and why, in plain words.

use super::PlannedRun;
use std::sync::Arc;
use std::time::Instant;
use toolhub_registry::Candidate;
use toolhub_registry::select::Rule;
use toolhub_text::invisible::line;
use toolhub_text::message;
use toolhub_text::message::{Join, Message};
use toolhub_types::error::{HubError, clip};
use toolhub_types::model::{Lang, Shadow, Strategy};
use toolhub_types::stats::BreakerState;

/// Rules that are not checked, listed for each candidate.
const UNCHECKED: usize = 5;

/// What an explanation is made of.
pub struct Facts<'a> {
    pub name: &'a str,
    /// The rule that fired, as a sentence without its end.
    pub rule: Message,
    pub plan: Result<&'a PlannedRun, &'a HubError>,
    /// Who approves the call, if anybody is to be asked.
    pub approvers: Option<Vec<String>>,
    /// The strategy that is set for these candidates, if there is one.
    pub configured: Option<(Strategy, Rule)>,
    /// Why each candidate refuses the arguments; empty when there are none.
    pub refusals: Vec<Option<HubError>>,
    /// Candidates of servers that have the name of a native one.
    pub shadows: Vec<Arc<Candidate>>,
    pub shadow: Shadow,
    /// Which of several tools the name means, and what the others are listed as.
    pub namesakes: Option<(Arc<str>, Vec<Arc<str>>)>,
    /// What a server does right now, for servers that are configured.
    pub state: &'a dyn Fn(&str) -> Option<&'static str>,
    /// Servers that would be asked for their tools before the call is given up.
    pub to_ask: Vec<Arc<str>>,
    /// Servers that have not listed their tools, if no candidate was found.
    pub never_listed: Vec<Arc<str>>,
    pub now: Instant,
}

impl Facts<'_> {
    /// The explanation in a language.
    pub fn tell(&self, lang: Lang) -> String {
        // What models and servers have written must not add lines of its own, nor steer a terminal.
        let lines: Vec<String> = self.lines().iter().map(|one| line(&one.text(lang)).into_owned()).collect();
        lines.join("\n")
    }

    fn lines(&self) -> Vec<Message> {
        let mut lines = vec![message!("'{}': {}.", clip(self.name), self.rule)];
        match self.plan {
            Ok(plan) => self.tell_plan(plan, &mut lines),
            Err(error) if !self.never_listed.is_empty() => {
                // Without them, "no such tool" would be all there is to say, and it would be wrong.
                if !error.suggestions.is_empty() {
                    lines.push(error.message.clone());
                }
                let ids = self.never_listed.join(", ");
                lines.push(match self.never_listed.len() {
                    1 => message!("It is not listed yet: one server has not listed its tools ({}).", ids),
                    _ => {
                        message!("It is not listed yet: these servers have not listed their tools ({}).", ids)
                    }
                });
            }
            Err(error) => lines.push(error.message.clone()),
        }
        if let Some((meant, others)) = &self.namesakes {
            lines.push(message!(
                "Different tools have this name. It means {}; also: {}.",
                meant,
                others.join(", ")
            ));
        }
        self.tell_shadows(&mut lines);
        if !self.to_ask.is_empty() {
            lines.push(message!(
                "Before the call, these servers are asked for their tools, because their list is missing or old: {}.",
                self.to_ask.join(", ")
            ));
        }
        lines
    }

    fn tell_plan(&self, plan: &PlannedRun, lines: &mut Vec<Message>) {
        lines.push(message!("Candidates, in order:"));
        for (slot, candidate) in plan.candidates.iter().enumerate() {
            lines.push(message!("  {}. {} ({})", slot + 1, candidate.label(), self.described(candidate)));
            let unchecked = candidate.tool.unchecked();
            lines.extend(
                unchecked
                    .iter()
                    .take(UNCHECKED)
                    .map(|rule| message!("     #{} is not checked: {}", rule.place, rule.reason)),
            );
            if unchecked.len() > UNCHECKED {
                lines.push(message!("     and {} more rules are not checked", unchecked.len() - UNCHECKED));
            }
        }
        lines.push(self.approval(plan));
        let how = match plan.strategy {
            Strategy::Auto => message!("the hub decides"),
            Strategy::First => message!("they race, the first success wins"),
            Strategy::All => message!("they run side by side, the successes are merged"),
            Strategy::Fallback => message!("one after another, until one succeeds"),
        };
        let (strategy, why) = (plan.strategy.name(), plan.rule.sentence());
        lines.push(match plan.candidates.len() {
            1 => message!("Strategy: {}, because {}.", strategy, why),
            _ => message!("Strategy: {} ({}), because {}.", strategy, how, why),
        });
        if let ([_], Some((strategy, rule))) = (&*plan.candidates, &self.configured) {
            let (name, why) = (strategy.name(), rule.sentence());
            lines.push(message!("With more candidates: {}, because {}.", name, why));
        }
        let refusals = plan.candidates.iter().zip(&self.refusals);
        let refused: Vec<_> =
            refusals.filter_map(|(one, refusal)| Some((one.label(), refusal.as_ref()?))).collect();
        if refused.is_empty() && !self.refusals.is_empty() {
            lines.push(message!("The arguments fit."));
        }
        for (label, error) in &refused {
            lines.push(message!("{} refuses the arguments and is skipped: {}", label, error.message));
        }
        if !refused.is_empty() && refused.len() == plan.candidates.len() {
            lines.push(message!("Nothing is called."));
        }
    }

    fn approval(&self, plan: &PlannedRun) -> Message {
        let acting = plan.candidates.iter().find(|one| !one.spec().effects.are_harmless());
        match (acting, &self.approvers) {
            (None, _) => message!("Approval: not needed; every candidate is known to be harmless."),
            (Some(one), None) => {
                let label = one.label();
                message!("Approval: only if the call has `approve`; {} is not known to be harmless.", label)
            }
            (Some(one), Some(asked)) => {
                let asked = asked.iter().map(|one| Message::from(one.clone()));
                let asked = asked.reduce(|all, next| message!("{}, then {}", all, next));
                let (asked, label) = (asked.unwrap_or_else(|| "".into()), one.label());
                message!("Approval: asks {}; {} is not known to be harmless.", asked, label)
            }
        }
    }

    fn described(&self, candidate: &Candidate) -> Message {
        let view = candidate.stats.view(self.now);
        let (calls, successes) = (view.calls, view.successes);
        let mut facts = vec![message!("priority {}", candidate.priority)];
        facts.push(match view.latency_ewma_ms {
            _ if calls == 0 => message!("not called yet"),
            Some(ms) => {
                message!("{} of {} calls succeeded in about {} ms", successes, calls, format_args!("{ms:.1}"))
            }
            None => message!("{} of {} calls succeeded", successes, calls),
        });
        match view.breaker {
            BreakerState::Closed => {}
            BreakerState::Resting => facts.push(message!("rests after failures")),
            BreakerState::HalfOpen => {
                facts.extend([message!("has rested after failures"), message!("the next call is a probe")])
            }
        }
        facts.extend(candidate.server.as_deref().and_then(self.state).map(|state| match state {
            "connected" => message!("server connected"),
            "connecting" => message!("server connecting"),
            state => message!("server {}: the call connects it", state),
        }));
        message!("{}; {}", Message::list(facts, Join::Commas), candidate.spec().effects.message())
    }

    fn tell_shadows(&self, lines: &mut Vec<Message>) {
        if self.shadows.is_empty() {
            return;
        }
        let who: Vec<String> = self.shadows.iter().map(|candidate| candidate.label()).collect();
        let who = who.join(", ");
        lines.push(match (self.shadow, self.shadows.len()) {
            (Shadow::Report, 1) => {
                message!("Shadowing: {} has the name of a native tool; it is still a candidate.", who)
            }
            (Shadow::Report, _) => {
                message!("Shadowing: {} have the name of a native tool; they are still candidates.", who)
            }
            (Shadow::Deny, 1) => message!(
                "Shadowing: {} has the name of a native tool; it is never called (shadow=\"deny\").",
                who
            ),
            (Shadow::Deny, _) => message!(
                "Shadowing: {} have the name of a native tool; they are never called (shadow=\"deny\").",
                who
            ),
        });
    }
}
