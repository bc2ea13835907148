//! The `requestState` that a modern client gets with questions, and sends back with the answers.
//!
//! It is [sealed](crate::session::sealing) for one caller, view and request, so it opens for the same request only. It names the call that
//! waits in the memory of one replica. If the questions are those of a server that keeps nothing about the request itself, the
//! state carries all that the server needs to go on: any replica that shares the keys sends it the answers.

use crate::identity::Caller;
use crate::session::{SessionKeys, SessionRefusal, end_of, seconds};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use toolhub_text::canonical::canonical;
use toolhub_types::model::Arguments;
use toolhub_types::tool::ServerRound;

/// How long a caller may take to answer a question.
const LIFETIME: Duration = Duration::from_secs(3600);
/// Of what the gateway takes back, in characters. The state of a server that would make it longer stays on its replica.
const LONGEST: usize = 1024 * 1024;

/// What a request asks for. A state opens for the same request of the same caller only.
#[derive(Clone)]
pub struct RequestSubject {
    pub method: &'static str,
    pub name: String,
    pub arguments: Arc<Arguments>,
}

impl RequestSubject {
    /// Calls `with` with the place of the states of this request.
    fn at_place<T>(&self, caller: &Caller, with: impl FnOnce(&[&str]) -> T) -> T {
        let arguments = canonical(self.arguments.as_value());
        with(&[&caller.principal.id, &caller.view.name, self.method, &self.name, &arguments])
    }
}

/// What a state says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestState {
    /// The gateway in whose memory the call waits.
    pub replica: Arc<str>,
    /// The name of the call there.
    pub id: Arc<str>,
    pub server: Option<ServerRound>,
}

#[derive(Serialize, Deserialize)]
struct SealedState {
    #[serde(flatten)]
    state: RequestState,
    /// In seconds since 1970.
    expires: u64,
}

impl RequestState {
    /// `None` never happens: there is always a key.
    pub fn seal(
        self,
        keys: &SessionKeys,
        caller: &Caller,
        subject: &RequestSubject,
        now: SystemTime,
    ) -> Option<String> {
        let sealed = SealedState { state: self, expires: end_of(now, LIFETIME) };
        let content = serde_json::to_vec(&sealed).ok()?;
        let text = subject.at_place(caller, |place| keys.seal_state(place, &content))?;
        if text.len() <= LONGEST || sealed.state.server.is_none() {
            return Some(text);
        }
        RequestState { server: None, ..sealed.state }.seal(keys, caller, subject, now)
    }

    /// What was sealed for this request.
    pub fn open(
        text: &str,
        keys: &SessionKeys,
        caller: &Caller,
        subject: &RequestSubject,
        now: SystemTime,
    ) -> Result<Self, SessionRefusal> {
        let open = || subject.at_place(caller, |place| keys.open_state(place, text, now));
        let opened = (text.len() <= LONGEST).then(open).flatten();
        let opened = opened.and_then(|content| serde_json::from_slice(&content).ok());
        let SealedState { state, expires } = opened.ok_or(SessionRefusal::Forged)?;
        if expires <= seconds(now) { Err(SessionRefusal::Expired) } else { Ok(state) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};
    use std::time::UNIX_EPOCH;
    use toolhub_engine::served::View;
    use toolhub_protocol::{Era, MODERN};
    use toolhub_types::principal::Principal;

    const KEY: &str = "0123456789abcdef0123456789abcdef";
    const OTHER: &str = "fedcba9876543210fedcba9876543210";

    fn caller(principal: &str, view: &str) -> Caller {
        Caller {
            principal: Arc::new(Principal { id: Arc::from(principal), ..Principal::anonymous() }),
            view: Arc::new(View { name: Arc::from(view), ..View::default() }),
            era: Era::Modern,
            version: MODERN,
            capabilities: Arc::default(),
            client: Arc::default(),
            session: None,
            has_one_stream: false,
        }
    }

    fn subject(name: &str, arguments: Value) -> RequestSubject {
        let arguments = Arc::new(Arguments::new(arguments.as_object().cloned().unwrap_or_default()));
        RequestSubject { method: "tools/call", name: name.to_owned(), arguments }
    }

    fn state(server_state: String) -> RequestState {
        let requests = Map::from_iter([("form".to_owned(), json!({"method": "elicitation/create"}))]);
        let server = Some(ServerRound { server: Arc::from("hotel"), requests, state: server_state });
        RequestState { replica: Arc::from("one"), id: Arc::from("call"), server }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    #[test]
    fn a_state_opens_for_the_same_request_of_the_same_caller_with_any_replica() {
        let keys = || SessionKeys::new([KEY]).unwrap();
        let (ann, oslo) = (caller("ann", "ops"), subject("book", json!({"city": "Oslo", "days": [1, 2]})));
        let sealed = state("its own".to_owned()).seal(&keys(), &ann, &oslo, at(0)).unwrap();
        let open = |keys: &SessionKeys, caller: &Caller, subject: &RequestSubject, seconds| {
            RequestState::open(&sealed, keys, caller, subject, at(seconds))
        };
        let same = subject("book", json!({"days": [1, 2], "city": "Oslo"}));
        assert_eq!(open(&keys(), &ann, &same, 3599), Ok(state("its own".to_owned())));
        assert_eq!(open(&keys(), &ann, &same, 3600), Err(SessionRefusal::Expired));
        for (caller, subject) in [
            (caller("bob", "ops"), oslo.clone()),
            (caller("ann", ""), oslo.clone()),
            (ann.clone(), subject("cancel", json!({"city": "Oslo", "days": [1, 2]}))),
            (ann.clone(), subject("book", json!({"city": "Rome", "days": [1, 2]}))),
            (ann.clone(), subject("book", json!({"city": "Oslo"}))),
            (ann.clone(), RequestSubject { method: "prompts/get", ..oslo.clone() }),
        ] {
            assert_eq!(open(&keys(), &caller, &subject, 1), Err(SessionRefusal::Forged));
        }
        let (other, both) = (SessionKeys::new([OTHER]).unwrap(), SessionKeys::new([OTHER, KEY]).unwrap());
        assert_eq!(open(&other, &ann, &oslo, 1), Err(SessionRefusal::Forged));
        assert!(open(&both, &ann, &oslo, 1).is_ok(), "a key that was replaced");
    }

    #[test]
    fn a_state_that_would_be_too_long_stays_on_its_replica() {
        let (keys, ann, oslo) =
            (SessionKeys::new([KEY]).unwrap(), caller("ann", "ops"), subject("book", json!({})));
        let sealed = state("x".repeat(LONGEST)).seal(&keys, &ann, &oslo, at(0)).unwrap();
        let opened = RequestState::open(&sealed, &keys, &ann, &oslo, at(0)).unwrap();
        assert_eq!(opened, RequestState { server: None, ..state(String::new()) });
    }
}
