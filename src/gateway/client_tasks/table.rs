//! The tasks that are kept.

use super::task::{ClientTask, ClientTaskStart};
use crate::gateway::caller::Caller;
use crate::gateway::kept_calls::{KeptCall, MOST_KEPT_BYTES, MOST_OF_PRINCIPAL, make_room, too_large};
use crate::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use tokio::sync::broadcast;

/// The tasks in one page of a list.
const PAGE: usize = 100;
/// The changes that a slow listener may be behind. It misses older ones, and asks for the task instead.
const MOST_UNHEARD: usize = 256;

/// The tasks of a gateway.
#[derive(Clone)]
pub struct ClientTasks(Arc<TaskTable>);

struct TaskTable {
    tasks: Mutex<HashMap<Arc<str>, Arc<ClientTask>>>,
    next: AtomicU64,
    changes: broadcast::Sender<Arc<ClientTask>>,
}

impl Default for ClientTasks {
    fn default() -> Self {
        let changes = broadcast::Sender::new(MOST_UNHEARD);
        ClientTasks(Arc::new(TaskTable { tasks: Mutex::default(), next: AtomicU64::new(1), changes }))
    }
}

impl ClientTasks {
    /// Keeps a new task. `None` when the principal, or all together, have too many that are running.
    pub fn add(&self, start: ClientTaskStart) -> Option<Arc<ClientTask>> {
        let mut tasks = self.0.tasks.lock();
        let dropped = make_room(tasks.iter(), &start.owner.principal, MOST_OF_PRINCIPAL)?;
        for id in dropped {
            if let Some(task) = tasks.remove(&id) {
                task.removed.cancel();
            }
        }
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let task = Arc::new(ClientTask::new(start, number)?);
        tasks.insert(task.id.clone(), task.clone());
        Some(task)
    }

    /// A task of this caller.
    pub fn get(&self, caller: &Caller, id: &str) -> Option<Arc<ClientTask>> {
        let task = self.0.tasks.lock().get(id).cloned();
        task.filter(|task| task.owner.is(caller))
    }

    /// One page of the tasks that the caller has made, and the number of its last one if there are more.
    pub fn list(&self, caller: &Caller, after: u64) -> (Vec<Arc<ClientTask>>, Option<u64>) {
        let is_own = |task: &&Arc<ClientTask>| task.number > after && task.owner.lists_for(caller);
        let mut own: Vec<_> = self.0.tasks.lock().values().filter(is_own).cloned().collect();
        own.sort_unstable_by_key(|task| task.number);
        let has_more = own.len() > PAGE;
        own.truncate(PAGE);
        let last = own.last().map(|task| task.number).filter(|_| has_more);
        (own, last)
    }

    /// Reports each task whose state has changed.
    pub fn changes(&self) -> broadcast::Receiver<Arc<ClientTask>> {
        self.0.changes.subscribe()
    }

    pub(super) fn changed(&self, task: &Arc<ClientTask>) {
        // Often nobody listens.
        let _ = self.0.changes.send(task.clone());
    }

    /// Drops the results that ended first until the rest is small enough. The task that has just ended stays.
    pub(super) fn make_room(&self, ended: &ClientTask) {
        let mut tasks = self.0.tasks.lock();
        let large = too_large(tasks.iter(), MOST_KEPT_BYTES, |task| task.number == ended.number);
        let dropped: Vec<_> = large.iter().filter_map(|id| tasks.remove(id)).collect();
        drop(tasks);
        for task in dropped {
            task.removed.cancel();
        }
    }

    pub(super) fn remove(&self, id: &str) {
        self.0.tasks.lock().remove(id);
    }
}

impl KeptCall for Arc<ClientTask> {
    type EndedOrder = (SystemTime, u64);

    fn principal(&self) -> &Arc<str> {
        &self.owner.principal
    }

    fn ended(&self) -> Option<Self::EndedOrder> {
        Some((self.ended_at()?, self.number))
    }

    fn kept_bytes(&self) -> usize {
        self.result_bytes()
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
