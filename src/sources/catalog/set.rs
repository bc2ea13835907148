//! The servers as a plan sees them.

use super::Servers;
use std::sync::Arc;
use toolhub_engine::plan::ServerSet;
use toolhub_registry::Candidate;

impl ServerSet for Servers {
    fn has(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    fn ids(&self) -> Vec<Arc<str>> {
        self.all().iter().map(|server| server.id().clone()).collect()
    }

    fn unlisted(&self, server: &str, tool: &str) -> Option<Arc<Candidate>> {
        Servers::unlisted(self, server, tool)
    }
}
