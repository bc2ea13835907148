//! The bridge to one event loop: its mailbox, the objects that other threads send messages to, the deadlines.

use crate::drivers::awaiting::{Awaitable, Awaited, is_safe};
use crate::prelude::*;
use crate::runtime::block_on::Wakeup;
use crate::runtime::interpreter::ForkSafeOnce;
use crate::runtime::process;
use crate::values::value;
use pyo3::exceptions::PyOSError;
use pyo3::ffi;
use pyo3::types::{PySet, PyWeakrefMethods, PyWeakrefReference};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Wake;
use toolhub::execute::Answer;
use toolhub::mailbox::Mailbox;
use toolhub::workers::PoolRefusal;

/// What other threads send to a loop.
pub enum Mail {
    /// A message for the recipient behind a key.
    Deliver(u64, LoopMessage),
    /// Something to do on the loop's thread.
    Run(LoopAction),
}

pub type LoopAction = Box<dyn FnOnce(&Bound<'_, LoopBridge>) + Send>;

pub type LoopMailbox = Mailbox<Mail, Wakeup>;

/// A deadline's place in the order of all.
pub type DeadlineKey = (Instant, u64);

/// Whom a message is for, and a number that it was given with the announcement.
type Recipient = (Py<Awaitable>, usize);

/// By key. A key is used once, so a stale one finds nothing.
type Recipients = Arc<Mutex<HashMap<u64, Recipient>>>;

/// Where an object on the loop gets messages from other threads, until this is dropped; those that come later are dropped too.
pub struct MailAddress {
    pub sender: MailSender,
    recipients: Recipients,
}

impl Drop for MailAddress {
    fn drop(&mut self) {
        let removed = self.recipients.lock().remove(&self.sender.key);
        drop(removed); // outside the lock: this may run Python code
    }
}

/// Sends messages to such an address. Never takes the GIL.
#[derive(Clone)]
pub struct MailSender {
    mailbox: Arc<LoopMailbox>,
    key: u64,
}

impl Wake for MailSender {
    fn wake(self: Arc<Self>) {
        self.send(LoopMessage::Woken);
    }
}

impl MailSender {
    pub fn send(&self, message: LoopMessage) {
        self.mailbox.push(Mail::Deliver(self.key, message));
    }
}

#[derive(Default)]
struct Deadlines {
    by_time: BTreeMap<DeadlineKey, Py<Awaitable>>,
    /// When the loop's one timer fires.
    armed: Option<Instant>,
}

/// The event loop owns its bridge (as the callback of the eventfd reader). When a closed loop is collected, the bridge goes
/// with it and releases everything that waits on it, including permits granted after the loop stopped.
#[pyclass(frozen, weakref, module = "toolhub._core")]
pub struct LoopBridge {
    pub mailbox: Arc<LoopMailbox>,
    recipients: Recipients,
    deadlines: Mutex<Deadlines>,
    last_key: AtomicU64,
    event_loop: Py<PyAny>,
    create_future: Py<PyAny>,
    /// The loop's `create_task` is asyncio's own, so `asyncio.Task` can be called directly.
    makes_plain_tasks: bool,
    /// Tasks that outlived their grace. asyncio itself holds tasks only weakly.
    detached_tasks: Py<PySet>,
}

impl LoopBridge {
    pub fn event_loop<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.event_loop.bind(py)
    }

    /// A future of the loop for a caller to suspend on, marked the way asyncio expects what `await` yields.
    pub fn create_waiter<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let waiter = self.create_future.bind(py).call0()?;
        if is_safe() {
            // The future's own iterator sets the mark and yields the future.
            return waiter.call_method0(intern!(py, "__await__"))?.call_method0(intern!(py, "__next__"));
        }
        waiter.setattr(intern!(py, "_asyncio_future_blocking"), true)?;
        Ok(waiter)
    }

    /// Creates a task; also returns true when the task is over already, as an eager one may be.
    pub fn create_task<'py>(
        &self,
        py: Python<'py>,
        awaitable: Bound<'py, PyAny>,
        name: &Py<PyString>,
    ) -> PyResult<(Bound<'py, PyAny>, bool)> {
        static TASKS: Imported = Imported::new("asyncio", "tasks");
        if self.makes_plain_tasks && !is_safe() && self.has_no_task_factory(py) {
            // What `BaseEventLoop.create_task` does, without its Python frame. The class is looked up each time, as there,
            // because some libraries replace it.
            let class = TASKS.get(py)?.getattr(intern!(py, "Task"))?;
            let keywords = task_keywords(py)?;
            let arguments = [awaitable.as_ptr(), self.event_loop.as_ptr(), name.as_ptr()];
            // SAFETY: one positional argument and two that the keywords name, all alive; a new reference or an error.
            let task = unsafe {
                let made = ffi::PyObject_Vectorcall(class.as_ptr(), arguments.as_ptr(), 1, keywords.as_ptr());
                Bound::from_owned_ptr_or_err(py, made)?
            };
            never_missed(&task);
            return Ok((task, false));
        }
        let task = self.event_loop.bind(py).call_method1(intern!(py, "create_task"), (awaitable,))?;
        never_missed(&task);
        let over = task.call_method0(intern!(py, "done"))?.is_truthy()?;
        Ok((task, over))
    }

    fn has_no_task_factory(&self, py: Python<'_>) -> bool {
        let factory = self.event_loop.bind(py).getattr(intern!(py, "_task_factory"));
        factory.is_ok_and(|factory| factory.is_none())
    }

    pub fn create_task_in<'py>(
        &self,
        py: Python<'py>,
        awaitable: Bound<'py, PyAny>,
        context: Py<PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = PyDict::new(py);
        kwargs.set_item(intern!(py, "context"), context)?;
        self.event_loop.bind(py).call_method(intern!(py, "create_task"), (awaitable,), Some(&kwargs))
    }

    /// The tasks of a closed loop never run again.
    pub fn is_closed(&self, py: Python<'_>) -> bool {
        self.is(intern!(py, "is_closed")).unwrap_or(true)
    }

    pub fn is_running(&self, py: Python<'_>) -> bool {
        self.is(intern!(py, "is_running")).unwrap_or(false)
    }

    fn is(&self, what: &Bound<'_, PyString>) -> PyResult<bool> {
        self.event_loop.bind(what.py()).call_method0(what)?.is_truthy()
    }

    /// Holds a task until it ends by itself.
    pub fn keep_until_done(&self, task: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = task.py();
        if self.is_closed(py) {
            return Ok(());
        }
        let detached = self.detached_tasks.bind(py);
        detached.add(task)?;
        task.call_method1(intern!(py, "add_done_callback"), (detached.getattr(intern!(py, "discard"))?,))
            .map(drop)
    }

    /// Where other threads can send messages to `addressee`.
    pub fn address_of<T: Awaited>(&self, addressee: &Bound<'_, T>, slot: usize) -> MailAddress {
        let sender = MailSender { mailbox: self.mailbox.clone(), key: self.next_key() };
        self.recipients.lock().insert(sender.key, (addressee.as_super().clone().unbind(), slot));
        MailAddress { sender, recipients: self.recipients.clone() }
    }

    fn next_key(&self) -> u64 {
        self.last_key.fetch_add(1, Ordering::Relaxed)
    }

    fn deliver(&self, py: Python<'_>, key: u64, message: LoopMessage) {
        let recipient = {
            let mut recipients = self.recipients.lock();
            match message {
                // Who goes on to wait has another address.
                LoopMessage::Woken => recipients.remove(&key),
                _ => recipients.get(&key).map(|(object, slot)| (object.clone_ref(py), *slot)),
            }
        };
        match (recipient, message) {
            (Some((object, slot)), message) => Awaitable::deliver(object.bind(py), slot, message),
            (None, LoopMessage::Returned(Ok(value))) => value::discard(value.bind(py)),
            (None, _) => {}
        }
    }

    /// Registers a deadline. The loop has one timer, for the earliest of all.
    pub fn add_deadline<T: Awaited>(
        slf: &Bound<'_, Self>,
        at: Instant,
        addressee: &Bound<'_, T>,
    ) -> PyResult<DeadlineKey> {
        let key = (at, slf.get().next_key());
        let in_time = {
            let mut deadlines = slf.get().deadlines.lock();
            deadlines.by_time.insert(key, addressee.as_super().clone().unbind());
            deadlines.armed.is_some_and(|armed| armed <= at)
        };
        if !in_time {
            Self::arm(slf)?;
        }
        Ok(key)
    }

    pub fn remove_deadline(&self, key: DeadlineKey) {
        let removed = self.deadlines.lock().by_time.remove(&key);
        drop(removed); // outside the lock: this may run Python code
    }

    /// The objects of one type that have a deadline on this loop. May be called on any thread.
    pub fn suspended<'py, T: Awaited>(&self, py: Python<'py>) -> Vec<Bound<'py, T>> {
        let deadlines = self.deadlines.lock();
        deadlines.by_time.values().filter_map(|sleeper| sleeper.bind(py).cast().ok().cloned()).collect()
    }

    fn arm(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let due = {
            let mut deadlines = slf.get().deadlines.lock();
            let Some(((first, _), _)) = deadlines.by_time.first_key_value() else { return Ok(()) };
            let first = *first;
            if deadlines.armed.is_some_and(|armed| armed <= first) {
                return Ok(());
            }
            deadlines.armed = Some(first);
            first.saturating_duration_since(Instant::now())
        };
        let now: f64 = slf.get().event_loop.bind(py).call_method0(intern!(py, "time"))?.extract()?;
        // Slightly late rather than early: an early timer would find nothing due and be set again.
        let at = now + (due + Duration::from_micros(50)).as_secs_f64();
        let timer = (at, slf.getattr(intern!(py, "_sweep"))?);
        slf.get().event_loop.bind(py).call_method1(intern!(py, "call_at"), timer).map(drop)
    }
}

#[pymethods]
impl LoopBridge {
    /// The loop calls this when the bell rings.
    fn __call__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let _inside = process::enter(py);
        for mail in slf.get().mailbox.drain() {
            match mail {
                Mail::Deliver(key, message) => slf.get().deliver(py, key, message),
                Mail::Run(action) => action(slf),
            }
        }
        Ok(())
    }

    /// The loop's timer: expires everything that is due. What becomes due meanwhile waits for the next turn of the loop:
    /// the tasks that were just cancelled run first, however long this took.
    fn _sweep(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let _inside = process::enter(py);
        let now = Instant::now();
        slf.get().deadlines.lock().armed = None;
        loop {
            let due = {
                let mut deadlines = slf.get().deadlines.lock();
                match deadlines.by_time.first_key_value() {
                    Some(((at, _), _)) if *at <= now => deadlines.by_time.pop_first(),
                    _ => None,
                }
            };
            match due {
                Some((_, sleeper)) => Awaitable::expire(sleeper.bind(py)),
                None => break,
            }
        }
        Self::arm(slf)
    }

    #[getter]
    fn pending_deadlines(&self) -> usize {
        self.deadlines.lock().by_time.len()
    }

    #[getter]
    fn pending_mail(&self) -> usize {
        self.recipients.lock().len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.event_loop)?;
        visit.call(&self.create_future)?;
        visit.call(&self.detached_tasks)?;
        // A locked table is in use right now, so it is not garbage.
        if let Some(recipients) = self.recipients.try_lock() {
            recipients.values().try_for_each(|(object, _)| visit.call(object))?;
        }
        if let Some(deadlines) = self.deadlines.try_lock() {
            deadlines.by_time.values().try_for_each(|sleeper| visit.call(sleeper))?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        // Taken first, dropped outside the locks: this may run Python code.
        let recipients = std::mem::take(&mut *self.recipients.lock());
        let deadlines = std::mem::take(&mut *self.deadlines.lock());
        drop((recipients, deadlines));
    }
}

thread_local! {
    /// The bridge that this thread used last.
    static LAST: RefCell<Option<Py<PyWeakrefReference>>> = const { RefCell::new(None) };
}

/// The bridges of all threads; weak, because the loops own them. No Python code runs under the lock.
static ALL: Mutex<Vec<Py<PyWeakrefReference>>> = Mutex::new(Vec::new());

/// The bridges of all loops that are alive, of every thread.
pub fn all(py: Python<'_>) -> Vec<Bound<'_, LoopBridge>> {
    let known: Vec<_> = ALL.lock().iter().map(|bridge| bridge.clone_ref(py)).collect();
    known.iter().filter_map(|bridge| upgrade(bridge.bind(py))).collect()
}

pub fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static GET: Imported = Imported::new("asyncio", "get_running_loop");
    GET.get(py)?.call0()
}

/// Resumes the caller that is suspended on a waiter, unless it was cancelled meanwhile.
pub fn wake(waiter: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = waiter.py();
    if !waiter.call_method0(intern!(py, "done"))?.is_truthy()? {
        waiter.call_method1(intern!(py, "set_result"), (py.None(),))?;
    }
    Ok(())
}

/// Wakes what waits, if anything does. An error is shown with the object that has it.
pub fn wake_waiting(waiter: Option<Py<PyAny>>, of: &Bound<'_, PyAny>) {
    let woken = waiter.map(|waiter| wake(waiter.bind(of.py())));
    show_unraisable(woken.transpose(), of);
}

/// The bridge of the running event loop.
#[pyfunction(name = "current_bridge")]
pub fn current(py: Python<'_>) -> PyResult<Bound<'_, LoopBridge>> {
    let event_loop = running_loop(py)?;
    let is_its = |bridge: &Bound<'_, LoopBridge>| bridge.get().event_loop.is(&event_loop);
    let last = LAST.with_borrow(|last| upgrade(last.as_ref()?.bind(py)));
    if let Some(bridge) = last.filter(is_its) {
        return Ok(bridge);
    }
    // A loop may have run in another thread before.
    let known = all(py).into_iter().find(is_its);
    let bridge = known.map_or_else(|| open(py, &event_loop), Ok)?;
    LAST.set(Some(PyWeakrefReference::new(&bridge)?.unbind()));
    Ok(bridge)
}

fn task_keywords(py: Python<'_>) -> PyResult<&Bound<'_, PyTuple>> {
    static KEYWORDS: ForkSafeOnce<Py<PyTuple>> = ForkSafeOnce::new();
    let make = || Ok(Box::new(PyTuple::new(py, [intern!(py, "loop"), intern!(py, "name")])?.unbind()));
    KEYWORDS.get_or_try_init(make).map(|keywords| keywords.bind(py))
}

/// Whether the loop's `create_task` is that of asyncio's own loops, and no other one lies over it.
fn makes_plain_tasks(event_loop: &Bound<'_, PyAny>) -> PyResult<bool> {
    static BASE: Imported = Imported::new("asyncio", "BaseEventLoop");
    let name = intern!(event_loop.py(), "create_task");
    let of_asyncio = BASE.get(event_loop.py())?.getattr(name)?;
    let used = event_loop.getattr(name)?.getattr_opt(intern!(event_loop.py(), "__func__"))?;
    Ok(used.is_some_and(|used| used.is(&of_asyncio)))
}

fn upgrade<'py>(bridge: &Bound<'py, PyWeakrefReference>) -> Option<Bound<'py, LoopBridge>> {
    bridge.upgrade_as_exact().ok().flatten()
}

#[cold]
fn open<'py>(py: Python<'py>, event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, LoopBridge>> {
    let wakeup = Wakeup::new().map_err(|error| {
        PyOSError::new_err(format!("toolhub could not open a mailbox for the event loop: {error}"))
    })?;
    let bridge = Bound::new(
        py,
        LoopBridge {
            mailbox: Mailbox::new(wakeup),
            recipients: Recipients::default(),
            deadlines: Mutex::default(),
            last_key: AtomicU64::new(1),
            create_future: event_loop.getattr("create_future")?.unbind(),
            makes_plain_tasks: makes_plain_tasks(event_loop)?,
            detached_tasks: PySet::empty(py)?.unbind(),
            event_loop: event_loop.clone().unbind(),
        },
    )?;
    bridge.get().mailbox.notifier().attach(event_loop, bridge.as_any())?;
    let reference = PyWeakrefReference::new(&bridge)?.unbind();
    let known = ALL.lock().iter().map(|bridge| bridge.clone_ref(py)).collect::<Vec<_>>();
    let gone: Vec<_> = known.iter().filter(|bridge| upgrade(bridge.bind(py)).is_none()).collect();
    let removed: Vec<_> = {
        let mut all = ALL.lock();
        all.push(reference);
        all.extract_if(.., |bridge| gone.iter().any(|one| one.is(&*bridge))).collect()
    };
    drop(removed);
    Ok(bridge)
}

/// In the child of a fork the bells are shared with the parent, so nothing may listen to them there.
pub fn forget_loops() {
    let known = process::take_after_fork(&ALL);
    // A loop that is collected closes itself, and takes its own descriptors out of the parent's epoll.
    Python::attach(|py| known.iter().filter_map(|one| upgrade(one.bind(py))).for_each(std::mem::forget));
    drop((LAST.take(), known));
}

/// Lets asyncio drop a task of ours in silence. If a loop ends by an exception while calls are pending, nobody else knows of it,
/// and "Task was destroyed but it is pending!" would tell a user of a task that is not theirs.
fn never_missed(task: &Bound<'_, PyAny>) {
    // A task of another kind may not have the switch, and then does not print either.
    let _ = task.setattr(intern!(task.py(), "_log_destroy_pending"), false);
}

pub enum LoopMessage {
    /// A Rust tool has answered.
    Answered(Box<Answer>),
    /// A sync function has ended in its thread.
    Returned(PyResult<Py<PyAny>>),
    /// A sync function was refused by its pool, or its thread ended before the function did.
    NotReturned(Option<PoolRefusal>),
    /// A Rust future of the addressee is over, or goes on.
    Woken,
    /// The attempt is about to be retried.
    Retried(Value),
}
