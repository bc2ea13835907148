//! What the binding keeps for each event loop: its mailbox, the attempts that wait for mail, the deadlines.

use super::blocking;
use super::execution::Execution;
use super::imported::Imported;
use super::mailbox::{Mail, Mailbox, Message};
use super::once::{Once, intern};
use super::runtime;
use super::value;
use parking_lot::Mutex;
use pyo3::exceptions::PyOSError;
use pyo3::ffi;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySet, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who gets the mail behind a key: an execution and the number of its attempt.
type Addressee = (Py<Execution>, usize);

/// A table with reusable places; the generation in a key's upper half makes a stale key miss.
#[derive(Default)]
struct Addressees {
    places: Vec<(u32, Option<Addressee>)>,
    free: Vec<u32>,
}

/// The place of one deadline in the order of all.
pub type DeadlineKey = (Instant, u64);

#[derive(Default)]
struct Deadlines {
    by_time: BTreeMap<DeadlineKey, Py<Execution>>,
    count: u64,
    /// What the loop's one timer is set to.
    armed: Option<Instant>,
}

/// The loop owns its port, as the callback of the mailbox's bell: when a closed loop is garbage, everything that was
/// waiting on it is let go, a place at a limit that was given to it too late as well.
#[pyclass(frozen, weakref, module = "toolhub._core")]
pub struct LoopPort {
    mailbox: Arc<Mailbox>,
    addressees: Mutex<Addressees>,
    deadlines: Mutex<Deadlines>,
    event_loop: Py<PyAny>,
    create_future: Py<PyAny>,
    create_task: Py<PyAny>,
    /// The loop makes its tasks as asyncio's own loops do, so that we can do it for it.
    makes_plain_tasks: bool,
    call_at: Py<PyAny>,
    /// Tasks that outlived their grace; asyncio itself holds tasks only weakly.
    orphans: Py<PySet>,
}

impl LoopPort {
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    pub fn event_loop<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.event_loop.bind(py)
    }

    pub fn create_future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.create_future.bind(py).call0()
    }

    /// Makes a task; true beside it when the task is over already, as an eager one may be.
    pub fn create_task<'py>(
        &self,
        py: Python<'py>,
        awaitable: Bound<'py, PyAny>,
        name: &Py<PyString>,
    ) -> PyResult<(Bound<'py, PyAny>, bool)> {
        static TASKS: Imported = Imported::new("asyncio", "tasks");
        if self.makes_plain_tasks && self.has_no_task_factory(py) {
            // What `BaseEventLoop.create_task` does, without its Python frame. The class is looked up each time, as there:
            // some exchange it.
            let class = TASKS.get(py)?.getattr(intern!(py, "Task"))?;
            let keywords = task_keywords(py)?;
            let arguments = [awaitable.as_ptr(), self.event_loop.as_ptr(), name.as_ptr()];
            // SAFETY: one positional argument and two that the keywords name, all alive; a new reference or an error.
            let task = unsafe {
                let made = ffi::PyObject_Vectorcall(class.as_ptr(), arguments.as_ptr(), 1, keywords.as_ptr());
                Bound::from_owned_ptr_or_err(py, made)?
            };
            return Ok((task, false));
        }
        let task = self.create_task.bind(py).call1((awaitable,))?;
        let over = task.call_method0(intern!(py, "done"))?.is_truthy()?;
        Ok((task, over))
    }

    /// A task for something of the user's.
    pub fn run_beside<'py>(
        &self,
        py: Python<'py>,
        awaitable: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.create_task.bind(py).call1((awaitable,))
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
        self.create_task.bind(py).call((awaitable,), Some(&kwargs))
    }

    /// The tasks of a closed loop never run again: there is nobody to be told anything.
    pub fn is_closed(&self, py: Python<'_>) -> bool {
        let closed = self.event_loop.bind(py).call_method0(intern!(py, "is_closed"));
        closed.and_then(|closed| closed.is_truthy()).unwrap_or(true)
    }

    /// Keeps a task alive until it ends by itself.
    pub fn adopt(&self, task: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = task.py();
        if self.is_closed(py) {
            return Ok(());
        }
        let orphans = self.orphans.bind(py);
        orphans.add(task)?;
        task.call_method1(intern!(py, "add_done_callback"), (orphans.getattr(intern!(py, "discard"))?,))
            .map(drop)
    }

    /// A key under which mail for an attempt can be sent from any thread.
    pub fn expect_mail(&self, execution: Py<Execution>, attempt: usize) -> u64 {
        let mut table = self.addressees.lock();
        let place = table.free.pop().unwrap_or_else(|| {
            table.places.push((0, None));
            (table.places.len() - 1) as u32
        });
        let entry = &mut table.places[place as usize];
        entry.1 = Some((execution, attempt));
        (u64::from(entry.0) << 32) | u64::from(place)
    }

    /// Whose mail a key is for; it stays on the table.
    fn expecting(&self, py: Python<'_>, key: u64) -> Option<Addressee> {
        let (generation, place) = ((key >> 32) as u32, key as u32);
        let table = self.addressees.lock();
        let entry = table.places.get(place as usize).filter(|entry| entry.0 == generation)?;
        entry.1.as_ref().map(|(execution, attempt)| (execution.clone_ref(py), *attempt))
    }

    /// Takes an attempt off the table; mail that comes later is dropped.
    pub fn forget_mail(&self, key: u64) -> Option<Addressee> {
        let (generation, place) = ((key >> 32) as u32, key as u32);
        let mut table = self.addressees.lock();
        let entry = table.places.get_mut(place as usize)?;
        if entry.0 != generation {
            return None;
        }
        let addressee = entry.1.take()?;
        entry.0 = entry.0.wrapping_add(1);
        table.free.push(place);
        Some(addressee)
    }

    /// Registers a deadline. The loop has one timer, for the earliest of all.
    pub fn add_deadline(
        slf: &Bound<'_, Self>,
        at: Instant,
        execution: Py<Execution>,
    ) -> PyResult<DeadlineKey> {
        let (key, in_time) = {
            let mut deadlines = slf.get().deadlines.lock();
            deadlines.count += 1;
            let key = (at, deadlines.count);
            deadlines.by_time.insert(key, execution);
            (key, deadlines.armed.is_some_and(|armed| armed <= at))
        };
        if !in_time {
            Self::arm(slf)?;
        }
        Ok(key)
    }

    pub fn remove_deadline(&self, key: DeadlineKey) {
        let removed = self.deadlines.lock().by_time.remove(&key);
        drop(removed); // outside of the lock: this may run Python code
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
        // A clock tick late rather than early: an early timer would find nothing due and be set again.
        let at = now + (due + Duration::from_micros(50)).as_secs_f64();
        slf.get().call_at.bind(py).call1((at, slf.getattr(intern!(py, "_sweep"))?)).map(drop)
    }
}

#[pymethods]
impl LoopPort {
    /// The loop calls this when the bell rings.
    fn __call__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let _inside = runtime::enter(py);
        let this = slf.get();
        for mail in this.mailbox.drain() {
            match mail {
                Mail::ToAttempt(key, message) => match (this.forget_mail(key), message) {
                    (Some((execution, attempt)), message) => {
                        Execution::receive(execution.bind(py), attempt, message)
                    }
                    (None, Message::Returned(Ok(value))) => value::discard(value.bind(py)),
                    (None, _) => {}
                },
                Mail::Progress(key, latest) => {
                    let update = latest.lock().take();
                    if let (Some(update), Some((execution, _))) = (update, this.expecting(py, key)) {
                        Execution::progressed(execution.bind(py), &update);
                    }
                }
                Mail::Retried(key, news) => {
                    if let Some((execution, attempt)) = this.expecting(py, key) {
                        execution.get().retried(py, attempt, &news);
                    }
                }
                Mail::Start(handover) => blocking::start(slf, handover),
                // One that fails must not take the rest of the mail along.
                Mail::Cancel(call) => {
                    if let Err(error) = call.cancel(py) {
                        error.write_unraisable(py, Some(slf.as_any()));
                    }
                }
            }
        }
        Ok(())
    }

    /// The loop's timer: lets everything that is due expire.
    fn _sweep(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let _inside = runtime::enter(py);
        slf.get().deadlines.lock().armed = None;
        loop {
            let due = {
                let mut deadlines = slf.get().deadlines.lock();
                match deadlines.by_time.first_key_value() {
                    Some(((at, _), _)) if *at <= Instant::now() => deadlines.by_time.pop_first(),
                    _ => None,
                }
            };
            match due {
                Some((_, execution)) => Execution::expire(execution.bind(py)),
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
        let table = self.addressees.lock();
        table.places.len() - table.free.len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for object in [&self.event_loop, &self.create_future, &self.create_task, &self.call_at] {
            visit.call(object)?;
        }
        visit.call(&self.orphans)?;
        // A locked table is in use right now, so it is not garbage.
        if let Some(addressees) = self.addressees.try_lock() {
            for (execution, _) in addressees.places.iter().filter_map(|(_, addressee)| addressee.as_ref()) {
                visit.call(execution)?;
            }
        }
        if let Some(deadlines) = self.deadlines.try_lock() {
            for execution in deadlines.by_time.values() {
                visit.call(execution)?;
            }
        }
        Ok(())
    }

    fn __clear__(&self) {
        // Taken first, dropped outside of the locks: this may run Python code.
        let addressees = std::mem::take(&mut *self.addressees.lock());
        let deadlines = std::mem::take(&mut *self.deadlines.lock());
        drop((addressees, deadlines));
    }
}

thread_local! {
    /// The ports of the loops that ran in this thread; weak, because the loops own them.
    static PORTS: RefCell<Vec<Py<PyWeakrefReference>>> = const { RefCell::new(Vec::new()) };
}

pub fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static GET: Imported = Imported::new("asyncio", "get_running_loop");
    GET.get(py)?.call0()
}

/// The port of the running event loop.
pub fn current(py: Python<'_>) -> PyResult<Bound<'_, LoopPort>> {
    let event_loop = running_loop(py)?;
    let known = PORTS.with_borrow(|ports| {
        let mut alive = ports.iter().filter_map(|port| upgrade(port.bind(py)));
        alive.find(|port| port.get().event_loop.is(&event_loop))
    });
    match known {
        Some(port) => Ok(port),
        None => open(py, event_loop),
    }
}

fn task_keywords(py: Python<'_>) -> PyResult<&Bound<'_, PyTuple>> {
    static KEYWORDS: Once<Py<PyTuple>> = Once::new();
    let make = || PyTuple::new(py, [intern!(py, "loop"), intern!(py, "name")]).map(Bound::unbind);
    KEYWORDS.get_or_try_init(py, make).map(|keywords| keywords.bind(py))
}

/// Whether the loop's `create_task` is that of asyncio's own loops, and no other one lies over it.
fn makes_plain_tasks(event_loop: &Bound<'_, PyAny>) -> PyResult<bool> {
    static BASE: Imported = Imported::new("asyncio", "BaseEventLoop");
    let name = intern!(event_loop.py(), "create_task");
    let of_asyncio = BASE.get(event_loop.py())?.getattr(name)?;
    let used = event_loop.getattr(name)?.getattr_opt(intern!(event_loop.py(), "__func__"))?;
    Ok(used.is_some_and(|used| used.is(&of_asyncio)))
}

fn upgrade<'py>(port: &Bound<'py, PyWeakrefReference>) -> Option<Bound<'py, LoopPort>> {
    port.upgrade_as_exact().ok().flatten()
}

#[cold]
fn open<'py>(py: Python<'py>, event_loop: Bound<'py, PyAny>) -> PyResult<Bound<'py, LoopPort>> {
    let mailbox = Mailbox::new().map_err(|error| {
        PyOSError::new_err(format!("toolhub could not open a mailbox for the event loop: {error}"))
    })?;
    let port = Bound::new(
        py,
        LoopPort {
            mailbox,
            addressees: Mutex::default(),
            deadlines: Mutex::default(),
            create_future: event_loop.getattr("create_future")?.unbind(),
            create_task: event_loop.getattr("create_task")?.unbind(),
            makes_plain_tasks: makes_plain_tasks(&event_loop)?,
            call_at: event_loop.getattr("call_at")?.unbind(),
            orphans: PySet::empty(py)?.unbind(),
            event_loop: event_loop.clone().unbind(),
        },
    )?;
    port.get().mailbox.attach(&event_loop, port.as_any())?;
    let reference = PyWeakrefReference::new(&port)?.unbind();
    PORTS.with_borrow_mut(|ports| {
        ports.retain(|port| upgrade(port.bind(py)).is_some());
        ports.push(reference);
    });
    Ok(port)
}

/// In the child of a fork the bells are shared with the parent: nobody may listen to them there.
pub fn forget_ports() {
    PORTS.with_borrow_mut(Vec::clear);
}

/// The port of the running loop, for the background loop and for tests.
#[pyfunction]
pub fn loop_port(py: Python<'_>) -> PyResult<Bound<'_, LoopPort>> {
    current(py)
}
