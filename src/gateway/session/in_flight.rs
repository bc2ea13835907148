//! The requests that are running, so that a later message can cancel one.

use crate::answer::{cancel_reason, cancelled_request};
use crate::identity::caller::Caller;
use crate::rpc::params::RpcParams;
use crate::state::Gateway;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use toolhub_types::sync::Mutex;
use toolhub_types::tool::CancelReason;

/// Running requests by a key that only their client knows. An entry lives as long as its request.
#[derive(Clone, Default)]
pub struct RequestsInFlight(Arc<Mutex<HashMap<String, (CancellationToken, CancelReason)>>>);

impl RequestsInFlight {
    /// Enters a request; `None` if another one with this key is running.
    pub fn enter(
        &self,
        key: String,
        cancel: CancellationToken,
        reason: CancelReason,
    ) -> Option<RunningRequest> {
        match self.0.lock().entry(key.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                place.insert((cancel, reason));
                Some(RunningRequest { all: self.clone(), key })
            }
        }
    }

    /// Cancels a request. One that has ended, or never was, is not an error: the messages may cross.
    pub fn cancel(&self, key: &str, reason: Option<&str>) {
        if let Some((cancel, place)) = self.0.lock().get(key) {
            if let Some(reason) = reason {
                let _ = place.set(reason.to_owned());
            }
            cancel.cancel();
        }
    }

    /// Cancels the requests of a session.
    pub fn cancel_session(&self, session: &str) {
        let all = self.0.lock();
        let of_session = |key: &str| key.strip_prefix(session).is_some_and(|rest| rest.starts_with(' '));
        all.iter().filter(|(key, _)| of_session(key)).for_each(|(_, (cancel, _))| cancel.cancel());
    }

    pub fn cancel_all(&self) {
        self.0.lock().values().for_each(|(cancel, _)| cancel.cancel());
    }
}

/// The entry of a running request; dropping it removes the entry.
pub struct RunningRequest {
    all: RequestsInFlight,
    key: String,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.all.0.lock().remove(&self.key);
    }
}

/// Takes a notification of a session: one that cancels a request.
pub fn notified_in_session(gateway: &Gateway, caller: &Caller, method: &str, params: &RpcParams) {
    // Without a session, one client could name the request of another.
    if let (Some(session), "notifications/cancelled") = (&caller.session, method)
        && let Some(id) = cancelled_request(params)
    {
        gateway.sessions.in_flight.cancel(&in_flight_key(session, &id), cancel_reason(params));
    }
}

/// An id is unique within its session.
pub fn in_flight_key(session: &str, id: &str) -> String {
    format!("{session} {id}")
}
