//! What would happen and why, in plain words.

use super::PlannedRun;
use super::result_texts::in_language;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;
use toolhub_registry::Candidate;
use toolhub_registry::select::Rule;
use toolhub_text::invisible::line;
use toolhub_types::error::{HubError, clip};
use toolhub_types::model::{Lang, Shadow, Strategy};
use toolhub_types::stats::BreakerState;

/// Rules that are not checked, listed for each candidate.
const UNCHECKED: usize = 5;

/// What an explanation is made of.
pub struct Facts<'a> {
    pub name: &'a str,
    /// The rule that fired, as a sentence without its end.
    pub rule: String,
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
        let clean = self.lines().into_iter().map(|text| line(&text).into_owned());
        let lines: Vec<String> = clean.map(|line| in_language(line, lang)).collect();
        lines.join("\n")
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("'{}': {}.", clip(self.name), self.rule)];
        match self.plan {
            Ok(plan) => self.tell_plan(plan, &mut lines),
            Err(error) if !self.never_listed.is_empty() => {
                // Without them, "no such tool" would be all there is to say, and it would be wrong.
                if !error.suggestions.is_empty() {
                    lines.push(error.message.to_string());
                }
                let ids = self.never_listed.join(", ");
                lines.push(match self.never_listed.len() {
                    1 => format!("It is not listed yet: one server has not listed its tools ({ids})."),
                    _ => format!("It is not listed yet: these servers have not listed their tools ({ids})."),
                });
            }
            Err(error) => lines.push(error.message.to_string()),
        }
        if let Some((meant, others)) = &self.namesakes {
            lines.push(format!(
                "Different tools have this name. It means {meant}; also: {}.",
                others.join(", ")
            ));
        }
        self.tell_shadows(&mut lines);
        if !self.to_ask.is_empty() {
            lines.push(format!(
                "Before that is the answer, the servers whose list of tools is missing or old are asked: {}.",
                self.to_ask.join(", ")
            ));
        }
        lines
    }

    fn tell_plan(&self, plan: &PlannedRun, lines: &mut Vec<String>) {
        lines.push("Candidates, in order:".into());
        for (slot, candidate) in plan.candidates.iter().enumerate() {
            lines.push(format!("  {}. {} ({})", slot + 1, candidate.label(), self.described(candidate)));
            let unchecked = candidate.tool.unchecked();
            lines.extend(unchecked.iter().take(UNCHECKED).map(|rule| format!("     {rule}")));
            if unchecked.len() > UNCHECKED {
                lines.push(format!("     and {} more rules are not checked", unchecked.len() - UNCHECKED));
            }
        }
        lines.push(self.approval(plan));
        let how = match plan.strategy {
            Strategy::Auto => "the hub decides",
            Strategy::First => "they race, the first success wins",
            Strategy::All => "they run side by side, the successes are merged",
            Strategy::Fallback => "one after another, until one succeeds",
        };
        let how = if plan.candidates.len() == 1 { String::new() } else { format!(" ({how})") };
        lines.push(format!("Strategy: {}{how}, because {}.", plan.strategy.name(), plan.rule.sentence()));
        if let ([_], Some((strategy, rule))) = (&*plan.candidates, &self.configured) {
            let (name, why) = (strategy.name(), rule.sentence());
            lines.push(format!("With more candidates: {name}, because {why}."));
        }
        let refused: Vec<_> = plan.candidates.iter().zip(&self.refusals).filter_map(refusal).collect();
        if refused.is_empty() && !self.refusals.is_empty() {
            lines.push("The arguments fit.".into());
        }
        for (label, error) in &refused {
            lines.push(format!("{label} refuses the arguments and is skipped: {}", error.message));
        }
        if !refused.is_empty() && refused.len() == plan.candidates.len() {
            lines.push("Nothing is called.".into());
        }
    }

    fn approval(&self, plan: &PlannedRun) -> String {
        let acting = plan.candidates.iter().find(|one| !one.spec().effects.are_harmless());
        match (acting, &self.approvers) {
            (None, _) => "Approval: not needed; every candidate is known to be harmless.".to_owned(),
            (Some(one), None) => {
                let label = one.label();
                format!("Approval: only if the call has `approve`; {label} is not known to be harmless.")
            }
            (Some(one), Some(asked)) => {
                let (asked, label) = (asked.join(", then "), one.label());
                format!("Approval: asks {asked}; {label} is not known to be harmless.")
            }
        }
    }

    fn described(&self, candidate: &Candidate) -> String {
        let mut text = format!("priority {}", candidate.priority);
        let view = candidate.stats.view(self.now);
        // Writing to a String cannot fail.
        let (calls, successes) = (view.calls, view.successes);
        let _ = match view.latency_ewma_ms {
            _ if calls == 0 => write!(text, ", not called yet"),
            Some(ms) => write!(text, ", {successes} of {calls} calls succeeded in about {ms:.1} ms"),
            None => write!(text, ", {successes} of {calls} calls succeeded"),
        };
        match view.breaker {
            BreakerState::Closed => {}
            BreakerState::Resting => text.push_str(", rests after failures"),
            BreakerState::HalfOpen => text.push_str(", has rested after failures, the next call is a probe"),
        }
        if let Some(state) = candidate.server.as_deref().and_then(self.state) {
            let _ = match state {
                "connected" => write!(text, ", server connected"),
                "connecting" => write!(text, ", server connecting"),
                state => write!(text, ", server {state}: the call connects it"),
            };
        }
        let _ = write!(text, "; {}", candidate.spec().effects.message());
        text
    }

    fn tell_shadows(&self, lines: &mut Vec<String>) {
        if self.shadows.is_empty() {
            return;
        }
        let who: Vec<String> = self.shadows.iter().map(|candidate| candidate.label()).collect();
        let (has, what) = match (self.shadow, who.len()) {
            (Shadow::Report, 1) => ("has", "it is still a candidate"),
            (Shadow::Report, _) => ("have", "they are still candidates"),
            (Shadow::Deny, 1) => ("has", "it is never called (shadow=\"deny\")"),
            (Shadow::Deny, _) => ("have", "they are never called (shadow=\"deny\")"),
        };
        lines.push(format!("Shadowing: {} {has} the name of a native tool; {what}.", who.join(", ")));
    }
}

fn refusal<'a>(
    (candidate, refusal): (&'a Arc<Candidate>, &'a Option<HubError>),
) -> Option<(String, &'a HubError)> {
    refusal.as_ref().map(|error| (candidate.label(), error))
}
