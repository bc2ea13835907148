//! Requests that run in a session, by the names that later messages call them.

use super::{cancel_reason, cancelled_request};
use crate::caller::Caller;
use crate::params::RpcParams;
use crate::state::Gateway;

/// Takes a notification of a session: one that cancels a request.
pub fn notified_in_session(gateway: &Gateway, caller: &Caller, method: &str, params: &RpcParams) {
    // Without a session, one client could name the request of another.
    if let (Some(session), "notifications/cancelled") = (&caller.session, method)
        && let Some(id) = cancelled_request(params)
    {
        gateway.in_flight.cancel(&in_flight_key(session, &id), cancel_reason(params));
    }
}

/// An id is unique within its session.
pub fn in_flight_key(session: &str, id: &str) -> String {
    format!("{session} {id}")
}
