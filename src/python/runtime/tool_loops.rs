//! The event loops on which the Python tools of a served hub run.
//!
//! A program that blocks while it serves has no loop at first, because asyncio takes longer to import than the rest of the
//! start, and a hub of MCP servers never needs it. What is for a loop then waits, and the program is woken to open one.

use crate::prelude::*;
use crate::runtime::block_on::Wakeup;
use crate::runtime::interpreter::current_context;
use crate::runtime::loop_bridge::{LoopBridge, LoopMailbox, Mail};
use toolhub::mailbox::Notifier;

/// The loop of one program that serves, and the context in which it began to.
pub struct ServedLoop {
    way: Mutex<LoopWay>,
    context: Py<PyAny>,
}

/// The way to a loop.
enum LoopWay {
    Open(Arc<LoopMailbox>),
    /// There is no loop yet. What is for it waits, and the thread that can open one is woken. The text is why that failed the
    /// last time.
    Later(Vec<Mail>, Arc<Wakeup>, Option<String>),
}

impl ServedLoop {
    /// The loop behind `bridge`, with a copy of the current context.
    pub fn new(bridge: &Bound<'_, LoopBridge>) -> PyResult<Arc<Self>> {
        Self::of(bridge.py(), LoopWay::Open(bridge.get().mailbox.clone()))
    }

    /// A loop that is opened when something is to run there; `wakeup` is notified then.
    pub fn later(py: Python<'_>, wakeup: Arc<Wakeup>) -> PyResult<Arc<Self>> {
        Self::of(py, LoopWay::Later(Vec::new(), wakeup, None))
    }

    fn of(py: Python<'_>, way: LoopWay) -> PyResult<Arc<Self>> {
        let context = current_context(py)?.unbind();
        Ok(Arc::new(ServedLoop { way: Mutex::new(way), context }))
    }

    /// Sends something to the loop. Never takes the GIL.
    pub fn push(&self, mail: Mail) {
        match &mut *self.way.lock() {
            LoopWay::Open(mailbox) => mailbox.push(mail),
            LoopWay::Later(waiting, wakeup, _) => {
                waiting.push(mail);
                wakeup.notify();
            }
        }
    }

    pub fn is_behind(&self, bridge: &LoopBridge) -> bool {
        matches!(&*self.way.lock(), LoopWay::Open(mailbox) if Arc::ptr_eq(mailbox, &bridge.mailbox))
    }

    /// Whether something waits for a loop.
    pub fn wants_loop(&self) -> bool {
        matches!(&*self.way.lock(), LoopWay::Later(waiting, ..) if !waiting.is_empty())
    }

    /// The loop is there: it gets what has waited, and all that follows.
    pub fn open(&self, bridge: &LoopBridge) {
        let mut way = self.way.lock();
        if let LoopWay::Later(waiting, ..) = &mut *way {
            waiting.drain(..).for_each(|mail| bridge.mailbox.push(mail));
            *way = LoopWay::Open(bridge.mailbox.clone());
        }
    }

    /// No loop could be opened: the calls that wait for one learn it, because what would answer them is dropped.
    pub fn give_up_waiting(&self, reason: String) {
        let given_up = match &mut *self.way.lock() {
            LoopWay::Later(waiting, _, failure) => {
                *failure = Some(reason);
                std::mem::take(waiting)
            }
            LoopWay::Open(_) => Vec::new(),
        };
        drop(given_up);
    }

    /// Why there is no loop.
    pub fn failure(&self) -> Option<String> {
        if let LoopWay::Later(.., failure) = &*self.way.lock() { failure.clone() } else { None }
    }

    /// A context for one call.
    pub fn context<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.context.bind(py).call_method0(intern!(py, "copy"))
    }
}

tokio::task_local! {
    /// The loop of the program that waits for what runs here.
    static CALLERS_LOOP: Arc<ServedLoop>;
}

/// Runs a future for a program that waits for it on this loop: what it calls in Python runs there.
pub async fn for_caller<T>(place: Arc<ServedLoop>, future: impl Future<Output = T>) -> T {
    CALLERS_LOOP.scope(place, future).await
}

/// The loops of one hub: it may be served several times at once.
#[derive(Default)]
pub struct ServedLoops(Mutex<Vec<Arc<ServedLoop>>>);

impl ServedLoops {
    /// Calls from the core run on this loop, until the guard is dropped.
    pub fn open(self: &Arc<Self>, place: Arc<ServedLoop>) -> ServedLoopGuard {
        self.0.lock().push(place.clone());
        ServedLoopGuard { loops: self.clone(), place }
    }

    /// The loop for the next call: that of the program that waits for it, or else of the one that began to serve last.
    pub fn current(&self) -> Option<Arc<ServedLoop>> {
        CALLERS_LOOP.try_with(Arc::clone).ok().or_else(|| self.0.lock().last().cloned())
    }
}

/// As long as it lives, its loop takes calls.
pub struct ServedLoopGuard {
    loops: Arc<ServedLoops>,
    place: Arc<ServedLoop>,
}

impl Drop for ServedLoopGuard {
    fn drop(&mut self) {
        let mut loops = self.loops.0.lock();
        let at = loops.iter().position(|place| Arc::ptr_eq(place, &self.place));
        let removed = at.map(|at| loops.remove(at));
        drop(loops);
        drop(removed);
    }
}
