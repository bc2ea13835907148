//! The servers that did not list their tools for a look-up.

use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// After a look-up has waited for a server without an answer, others skip it for this long. The attempt to connect continues; once the
/// server has listed its tools, no look-up is needed.
const LEFT_ALONE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub struct SilentServers(Mutex<HashMap<Arc<str>, SilentServer>>);

struct SilentServer {
    since: Instant,
    reason: Cow<'static, str>,
}

impl SilentServers {
    pub fn add(&self, id: &Arc<str>, reason: Cow<'static, str>) {
        self.0.lock().insert(id.clone(), SilentServer { since: Instant::now(), reason });
    }

    pub fn remove(&self, id: &str) {
        self.0.lock().remove(id);
    }

    /// Why look-ups skip this server; `None` when they do not.
    pub fn reason(&self, id: &str) -> Option<Cow<'static, str>> {
        let all = self.0.lock();
        let silent = all.get(id).filter(|silent| silent.since.elapsed() < LEFT_ALONE);
        silent.map(|silent| silent.reason.clone())
    }
}
