//! The tasks that are kept.

use super::task::{ClientTask, ClientTaskStart};
use crate::by_principal::PrincipalTable;
use crate::caller::Caller;
use crate::kept_calls::{MOST_KEPT_BYTES, MOST_KEPT_CALLS, MOST_OF_PRINCIPAL};
use std::sync::Arc;
use tokio::sync::broadcast;
use toolhub_types::sync::Mutex;

/// The changes that a slow listener may be behind. It misses older ones, and asks for the task instead.
const MOST_UNHEARD: usize = 256;

/// The tasks of a gateway.
#[derive(Clone)]
pub struct ClientTasks(Arc<TaskTable>);

struct TaskTable {
    tasks: Mutex<PrincipalTable<Arc<str>, Arc<ClientTask>>>,
    changes: broadcast::Sender<Arc<ClientTask>>,
}

impl Default for ClientTasks {
    fn default() -> Self {
        let changes = broadcast::Sender::new(MOST_UNHEARD);
        let tasks = Mutex::new(PrincipalTable::new(MOST_KEPT_CALLS));
        ClientTasks(Arc::new(TaskTable { tasks, changes }))
    }
}

impl ClientTasks {
    /// Keeps a new task. `None` when the principal, or all together, have too many that are running.
    pub fn add(&self, start: ClientTaskStart) -> Option<Arc<ClientTask>> {
        let mut tasks = self.0.tasks.lock();
        let principal = start.owner.principal.clone();
        for gone in tasks.make_room(&principal, MOST_OF_PRINCIPAL, |task| task.has_ended())? {
            gone.removed.cancel();
        }
        let task = Arc::new(ClientTask::new(start)?);
        tasks.insert(&principal, task.id.clone(), task.clone());
        Some(task)
    }

    /// A task of this caller.
    pub fn get(&self, caller: &Caller, id: &str) -> Option<Arc<ClientTask>> {
        let task = self.0.tasks.lock().get(&caller.principal.id, id).cloned();
        task.filter(|task| task.owner.is(caller))
    }

    /// The tasks that the caller has made.
    pub fn of(&self, caller: &Caller) -> Vec<Arc<ClientTask>> {
        let is_own = |task: &&Arc<ClientTask>| task.owner.lists_for(caller);
        self.0.tasks.lock().of(&caller.principal.id).filter(is_own).cloned().collect()
    }

    /// Reports each task whose state has changed.
    pub fn changes(&self) -> broadcast::Receiver<Arc<ClientTask>> {
        self.0.changes.subscribe()
    }

    pub(super) fn changed(&self, task: &Arc<ClientTask>) {
        // Often nobody listens.
        let _ = self.0.changes.send(task.clone());
    }

    /// A task has ended. The results that ended first go until the rest is small enough; its own stays.
    pub(super) fn ended(&self, ended: &ClientTask) {
        let mut tasks = self.0.tasks.lock();
        tasks.renew(&ended.owner.principal, &ended.id);
        let stays = |task: &Arc<ClientTask>| task.id == ended.id;
        let large = tasks.shrink(None, MOST_KEPT_BYTES, |task| task.result_bytes(), stays);
        drop(tasks);
        for task in large {
            task.removed.cancel();
        }
    }

    pub(super) fn remove(&self, task: &ClientTask) {
        self.0.tasks.lock().remove(&task.owner.principal, &task.id);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
