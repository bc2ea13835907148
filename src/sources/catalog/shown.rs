//! The servers and their pins as rows, for programs and people.

use super::Servers;
use crate::mcp::server::Server;
use serde_json::{Value, json};
use std::sync::Arc;
use toolhub_store::{Definition, StoredPin};
use toolhub_types::error::clip;

impl Servers {
    /// A row for each server.
    pub fn rows(&self) -> Vec<Value> {
        self.all().iter().map(|server| self.row(server)).collect()
    }

    fn row(&self, server: &Server) -> Value {
        let mut info = server.info();
        let shadow = |name: Arc<str>| format!("its tool '{}' has the name of a native one", clip(&name));
        info.notices.extend(self.shadows(server).into_iter().map(shadow));
        let namesake = |(name, listed_as): (Arc<str>, Arc<str>)| {
            format!(
                "its tool '{}' is listed as '{}', because other servers use the name for other tools",
                clip(&name),
                clip(&listed_as)
            )
        };
        info.notices.extend(self.namesakes(server).into_iter().map(namesake));
        info.notices.extend(self.refused(server));
        json!({
            "id": &**server.id(), "state": info.state, "era": info.era, "version": info.version, "transport": info.transport,
            "tools": info.tools, "age": info.age.map(|age| age.as_secs_f64()), "error": info.error.map(|error| error.in_language(self.lang())), "pid": info.pid,
            "notices": info.notices, "instructions": info.instructions, "stray_output": info.stray_output,
        })
    }

    /// The tools of pinned servers: what was accepted, and what has changed.
    pub fn pin_rows(&self) -> Value {
        let read =
            |definition: &Definition| -> Value { serde_json::from_str(&definition.text).unwrap_or_default() };
        let state = |pin: &StoredPin| match pin.changed.is_some() {
            true if pin.accepted.hash.is_empty() => "unaccepted",
            true => "changed",
            false => "accepted",
        };
        let row = |pin: StoredPin| {
            json!({
                "server": &*pin.server, "tool": &*pin.tool, "state": state(&pin),
                "hash": pin.accepted.hash, "accepted": read(&pin.accepted),
                "changed_hash": pin.changed.as_ref().map(|changed| &changed.hash),
                "changed": pin.changed.as_ref().map(read),
            })
        };
        self.publisher.pins.all().into_iter().map(row).collect()
    }
}
