//! Stepping Python awaitables from Rust, and being one; and the switch between two ways across the bridge.
//!
//! The fast way leans on details of CPython that are not documented: the slot `am_send` filled after a class was made,
//! `_asyncio_future_blocking`, `_current_tasks`, `_must_cancel`, `_task_factory`, and `asyncio.tasks.Task` called directly.
//! `tests/python/bridge/test_internals.py` names the one that changes. The safe way, chosen by `TOOLHUB_SAFE_BRIDGE=1`,
//! uses documented interfaces only; it is slower.

use crate::prelude::*;
use crate::runtime;
use crate::runtime::interpreter::{self, ForkSafeOnce};
use crate::runtime::loop_bridge::LoopMessage;
use pyo3::exceptions::PyStopIteration;
use pyo3::{PyClass, ffi};
use std::sync::atomic::{AtomicBool, Ordering};

/// True when only documented interfaces may be used.
pub static SAFE: AtomicBool = AtomicBool::new(false);

pub fn is_safe() -> bool {
    SAFE.load(Ordering::Relaxed)
}

/// What one step of an awaitable gives: something for the event loop, or the end.
pub enum Step {
    Yield(Py<PyAny>),
    Return(Py<PyAny>),
}

/// Sends `None` into an awaitable's iterator.
pub fn send(awaitable: &Bound<'_, PyAny>) -> PyResult<Step> {
    let py = awaitable.py();
    let mut out = std::ptr::null_mut();
    let sent = interpreter::send(awaitable, &mut out);
    // SAFETY: `out` is a new reference unless the result is an error.
    match sent {
        ffi::PySendResult::PYGEN_NEXT => Ok(Step::Yield(unsafe { Bound::from_owned_ptr(py, out) }.unbind())),
        ffi::PySendResult::PYGEN_RETURN => {
            Ok(Step::Return(unsafe { Bound::from_owned_ptr(py, out) }.unbind()))
        }
        ffi::PySendResult::PYGEN_ERROR => Err(PyErr::fetch(py)),
    }
}

/// Throws into an awaitable's iterator. A plain iterator without `throw` cannot catch: it just ends.
pub fn throw(awaitable: &Bound<'_, PyAny>, error: PyErr) -> PyResult<Step> {
    let py = awaitable.py();
    let Some(throw) = awaitable.getattr_opt(intern!(py, "throw"))? else { return Err(error) };
    match interpreter::call(&throw, [error.into_value(py).bind(py)]) {
        Ok(value) => Ok(Step::Yield(value.unbind())),
        Err(end) if end.is_instance_of::<PyStopIteration>(py) => {
            Ok(Step::Return(end.value(py).getattr(intern!(py, "value"))?.unbind()))
        }
        Err(error) => Err(error),
    }
}

/// Closes an awaitable's iterator, if it can be closed.
pub fn close(awaitable: &Bound<'_, PyAny>) -> PyResult<()> {
    match awaitable.getattr_opt(intern!(awaitable.py(), "close"))? {
        Some(close) => interpreter::call(&close, []).map(drop),
        None => Ok(()),
    }
}

/// The iterator that `await` would drive, or `None` when the value is not awaitable.
pub fn iterator_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if is_coroutine(value) {
        return Ok(Some(value.clone()));
    }
    match value.getattr_opt(intern!(py, "__await__"))? {
        Some(method) => method.call0().map(Some),
        None => Ok(None),
    }
}

/// Whether this is what an `async def` gives, and nothing that only behaves like it.
pub fn is_coroutine(value: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a type check on a live object.
    unsafe { ffi::PyCoro_CheckExact(value.as_ptr()) != 0 }
}

static CANCELLED: Imported = Imported::new("asyncio", "CancelledError");

pub fn is_cancelled_error(py: Python<'_>, error: &PyErr) -> bool {
    CANCELLED.get(py).is_ok_and(|cancelled| error.is_instance(py, cancelled))
}

/// A new `CancelledError`.
pub fn cancelled_error(py: Python<'_>) -> PyResult<PyErr> {
    Ok(PyErr::from_value(CANCELLED.get(py)?.call0()?))
}

/// The running task; `None` as Python has it outside of one.
pub fn current_task(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static CURRENT_TASK: Imported = Imported::new("asyncio", "current_task");
    CURRENT_TASK.get(py)?.call0()
}

/// The running task of the running loop. Up to Python 3.13 asyncio has a table of them; looking there is quicker than
/// `current_task`, which is written in Python up to 3.11.
pub fn current_task_of<'py>(event_loop: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static TABLE: ForkSafeOnce<Option<Py<PyDict>>> = ForkSafeOnce::new();
    let py = event_loop.py();
    if is_safe() {
        return current_task(py);
    }
    let table = TABLE.get_or_try_init(|| {
        let table = py.import("asyncio.tasks")?.getattr_opt("_current_tasks")?;
        PyResult::Ok(Box::new(table.and_then(|table| table.cast_into().ok()).map(Bound::unbind)))
    })?;
    let running = table.as_ref().map(|table| table.bind(py).get_item(event_loop)).transpose()?.flatten();
    running.map_or_else(|| current_task(py), Ok)
}

/// How many cancellations of a task were asked for and not taken back.
pub fn cancellations(task: &Bound<'_, PyAny>) -> PyResult<usize> {
    task.call_method0(intern!(task.py(), "cancelling"))?.extract()
}

/// Whether a task was asked to end, and has not taken that back.
pub fn is_being_cancelled(task: &Bound<'_, PyAny>) -> bool {
    cancellations(task).is_ok_and(|count| count > 0)
}

/// Takes back one cancellation of a task; the number that is left.
pub fn uncancel(task: &Bound<'_, PyAny>) -> PyResult<usize> {
    task.call_method0(intern!(task.py(), "uncancel"))?.extract()
}

/// Whether a cancellation of a task is still to be delivered.
pub fn has_pending_cancel(task: &Bound<'_, PyAny>) -> PyResult<bool> {
    let must = task.getattr_opt(intern!(task.py(), "_must_cancel"))?;
    must.map_or(Ok(false), |must| must.is_truthy())
}

/// The exception that the arguments of a `throw` method mean, in both of its forms.
fn thrown(typ: &Bound<'_, PyAny>, value: Option<&Bound<'_, PyAny>>) -> PyErr {
    let value = value.filter(|value| !value.is_none());
    let given = value.unwrap_or(typ);
    if given.is_instance_of::<PyBaseException>() {
        return PyErr::from_value(given.clone());
    }
    // A value that is not an exception gives a TypeError.
    value
        .map_or_else(|| typ.call0(), |value| typ.call1((value,)))
        .map_or_else(|error| error, PyErr::from_value)
}

/// An object of ours that `await` or an asyncio.Task drives. Made with [`new_awaitable`]. It lives on one event loop, which
/// calls all of this on its thread.
pub trait Awaited: PyClass<BaseType = Awaitable> {
    fn step(slf: &Bound<'_, Self>) -> PyResult<Step>;

    /// Without a coroutine inside nothing can catch: it stops waiting.
    fn throw(slf: &Bound<'_, Self>, error: PyErr) -> PyResult<Step> {
        Self::close(slf)?;
        Err(error)
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()>;

    /// A message has come; `slot` is the number that was given when it was announced.
    fn receive(_slf: &Bound<'_, Self>, _slot: usize, _message: LoopMessage) {}

    /// A deadline has passed.
    fn expire(_slf: &Bound<'_, Self>) {}
}

/// The base class of everything that is [`Awaited`]: the coroutine protocol, written once.
#[pyclass(frozen, subclass, module = "toolhub._core")]
pub struct Awaitable {
    methods: &'static Methods,
}

/// The methods of one class, by the object that is an instance of it.
struct Methods {
    step: fn(&Bound<'_, PyAny>) -> PyResult<Step>,
    throw: fn(&Bound<'_, PyAny>, PyErr) -> PyResult<Step>,
    close: fn(&Bound<'_, PyAny>) -> PyResult<()>,
    receive: fn(&Bound<'_, PyAny>, usize, LoopMessage),
    expire: fn(&Bound<'_, PyAny>),
}

pub fn new_awaitable<T: Awaited>(py: Python<'_>, value: T) -> PyResult<Bound<'_, T>> {
    let base = Awaitable {
        methods: &const {
            Methods {
                step: |slf| T::step(slf.cast()?),
                throw: |slf, error| T::throw(slf.cast()?, error),
                close: |slf| T::close(slf.cast()?),
                receive: |slf, slot, message| _ = slf.cast().map(|slf| T::receive(slf, slot, message)),
                expire: |slf| _ = slf.cast().map(T::expire),
            }
        },
    };
    Bound::new(py, PyClassInitializer::from(base).add_subclass(value))
}

impl Awaitable {
    pub fn deliver(slf: &Bound<'_, Self>, slot: usize, message: LoopMessage) {
        (slf.get().methods.receive)(slf, slot, message);
    }

    pub fn expire(slf: &Bound<'_, Self>) {
        (slf.get().methods.expire)(slf);
    }
}

#[pymethods]
impl Awaitable {
    fn __await__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let _inside = runtime::enter(slf.py());
        iterated((slf.get().methods.step)(slf))
    }

    fn send(slf: &Bound<'_, Self>, _value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::__next__(slf)
    }

    #[pyo3(signature = (typ, val=None, tb=None))]
    fn throw(
        slf: &Bound<'_, Self>,
        typ: &Bound<'_, PyAny>,
        val: Option<&Bound<'_, PyAny>>,
        tb: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = tb;
        let _inside = runtime::enter(slf.py());
        iterated((slf.get().methods.throw)(slf, thrown(typ, val)))
    }

    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = runtime::enter(slf.py());
        (slf.get().methods.close)(slf)
    }
}

/// A step as the iterator protocol wants it.
fn iterated(step: PyResult<Step>) -> PyResult<Py<PyAny>> {
    match step? {
        Step::Yield(value) => Ok(value),
        Step::Return(value) => Err(PyStopIteration::new_err((value,))),
    }
}

/// Fills the `am_send` slot, the one that `await` really uses: no StopIteration is made for a result. The `__next__`
/// of [`Awaitable`] stays in place for tracing, for `send`, and for the safe way, which empties the slot again.
pub fn install_am_send<T: Awaited>(py: Python<'_>) {
    let class = py.get_type::<T>().as_type_ptr();
    // SAFETY: the class was made by PyO3 on the heap, so `tp_as_async` is there; the GIL is held.
    unsafe {
        if let Some(slots) = (*class).tp_as_async.as_mut() {
            slots.am_send = if is_safe() { None } else { Some(am_send::<T>) };
            ffi::PyType_Modified(class);
        }
    }
}

unsafe extern "C" fn am_send<T: Awaited>(
    slf: *mut ffi::PyObject,
    _value: *mut ffi::PyObject,
    result: *mut *mut ffi::PyObject,
) -> ffi::PySendResult {
    let stepped = std::panic::catch_unwind(|| {
        Python::attach(|py| {
            // SAFETY: the interpreter calls this slot with an instance of the class that it was installed for.
            let this = unsafe { Bound::from_borrowed_ptr(py, slf).cast_into_unchecked::<T>() };
            let _inside = runtime::enter(py);
            T::step(&this)
        })
    });
    let stepped =
        stepped.unwrap_or_else(|_| Err(PyRuntimeError::new_err("Internal error: toolhub panicked.")));
    // SAFETY: `result` is where the interpreter wants the value.
    match stepped {
        Ok(Step::Yield(value)) => unsafe {
            *result = value.into_ptr();
            ffi::PySendResult::PYGEN_NEXT
        },
        Ok(Step::Return(value)) => unsafe {
            *result = value.into_ptr();
            ffi::PySendResult::PYGEN_RETURN
        },
        Err(error) => Python::attach(|py| {
            unsafe { *result = std::ptr::null_mut() };
            error.restore(py);
            ffi::PySendResult::PYGEN_ERROR
        }),
    }
}
