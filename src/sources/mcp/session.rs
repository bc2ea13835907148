//! One connection and the background tasks that belong to it. Both begin and end together.

use super::connection::Connection;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use toolhub_types::error::HubError;

/// Dropping a session aborts its tasks and releases the connection; calls in flight may still hold the connection.
pub struct Session {
    connection: Arc<Connection>,
    tasks: JoinSet<()>,
    begun: Instant,
    is_closed: bool,
}

impl Session {
    pub fn new(connection: Arc<Connection>) -> Self {
        Session { connection, tasks: JoinSet::new(), begun: Instant::now(), is_closed: false }
    }

    /// Runs a task for as long as the session lives.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }

    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub fn is_lost(&self) -> bool {
        self.why_lost().is_some()
    }

    pub fn why_lost(&self) -> Option<HubError> {
        self.connection.retired()
    }

    /// Ends the tasks and the connection, in bounded time.
    pub async fn close(mut self) {
        self.is_closed = true;
        // Dropping the tasks aborts them.
        self.tasks = JoinSet::new();
        self.connection.close().await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.connection.report_end(self.begun.elapsed(), self.is_closed);
    }
}
