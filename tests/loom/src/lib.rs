//! Files of the core, with loom's locks in place of real ones.

#[path = "../../../src/types/inline_task.rs"]
pub mod inline_task;
#[path = "../../../src/types/limit.rs"]
pub mod limit;
#[path = "../../../src/types/mailbox.rs"]
pub mod mailbox;
#[path = "../../../src/types/tool/sent.rs"]
pub mod sent;
pub mod sync;
#[path = "../../../src/types/workers.rs"]
pub mod workers;

/// Explores a scenario with at most this number of involuntary switches between threads. Two or three find nearly all
/// mistakes; without a bound, four threads take hours.
pub fn explore(preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(model.preemption_bound.unwrap_or(preemptions));
    model.check(scenario);
}

/// Something that happens once. Unlike `loom::sync::Notify`, waiting for it never ends before.
#[derive(Default)]
pub struct Happening {
    has_happened: loom::sync::Mutex<bool>,
    changed: loom::sync::Condvar,
}

impl Happening {
    pub fn notify(&self) {
        *self.has_happened.lock().unwrap() = true;
        self.changed.notify_all();
    }

    pub fn wait(&self) {
        let mut has_happened = self.has_happened.lock().unwrap();
        while !*has_happened {
            has_happened = self.changed.wait(has_happened).unwrap();
        }
    }
}
