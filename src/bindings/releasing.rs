//! Large values are taken apart in slices before they are dropped: the last owner of a list of a million dicts would hold the
//! GIL until all of them are free.

use super::once::intern;
use super::slices::{Entries, Slices};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;
use std::ops::Deref;

/// The number of values that are taken out of a container at once.
const AT_ONCE: usize = 200;
/// JSON with fewer values is dropped at once: releasing the GIL would take longer.
const FEW: usize = 1_000;

/// Our reference to a large value, such as a copy of arguments. It is the last one when the tool has ended and kept nothing.
/// Of several such references to a value, the one that is dropped last releases it.
///
/// It must not be dropped while a lock is held: other threads get the GIL meanwhile, and may want the lock.
pub struct LargeCopy(Option<Py<PyAny>>);

impl LargeCopy {
    pub fn new(copy: &Bound<'_, PyAny>) -> Self {
        LargeCopy(Some(copy.clone().unbind()))
    }

    pub fn object(&self) -> Option<&Py<PyAny>> {
        self.0.as_ref()
    }

    pub fn bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.0.as_ref().map_or_else(|| py.None().into_bound(py), |object| object.bind(py).clone())
    }

    /// Another reference to the same object.
    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        LargeCopy(self.0.as_ref().map(|object| object.clone_ref(py)))
    }

    /// Drops the reference without the GIL, on a thread that may not take it any more.
    pub fn forgo(mut self) {
        drop(self.0.take());
    }
}

impl Drop for LargeCopy {
    fn drop(&mut self) {
        if let Some(object) = self.0.take() {
            Python::attach(|py| release(object.into_bound(py)));
        }
    }
}

/// Drops a value. Containers that nothing else refers to are emptied first, a slice at a time.
///
/// Without a GIL no thread waits for this one, so the value is dropped at once. The count of references could also miss one
/// that two threads are handing over.
pub fn release(object: Bound<'_, PyAny>) {
    if cfg!(Py_GIL_DISABLED) {
        return;
    }
    let (py, mut slices) = (object.py(), Slices::new());
    let mut left = vec![object];
    while let Some(container) = left.pop() {
        // What the tool has kept stays as it is.
        if !is_last(&container) {
            continue;
        }
        let members = take_members(&container);
        if members.len() == AT_ONCE {
            left.push(container);
        }
        slices.step_by(py, 1 + members.len() as u32);
        left.extend(members.into_iter().filter(is_emptied));
    }
}

/// Whether this is the only reference to the object.
fn is_last(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object is alive and the GIL is held.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) == 1 }
}

fn is_emptied(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyDict>() || object.is_exact_instance_of::<PyList>()
}

/// Up to `AT_ONCE` values that are no longer in their container. After an error there are none, and the rest is dropped in
/// one step.
fn take_members<'py>(container: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    if let Ok(list) = container.cast_exact::<PyList>() {
        let (end, start) = (list.len(), list.len().saturating_sub(AT_ONCE));
        let members: Vec<_> = (start..end).map_while(|at| list.get_item(at).ok()).collect();
        return if list.del_slice(start, end).is_ok() { members } else { Vec::new() };
    }
    let Ok(dict) = container.cast_exact::<PyDict>() else { return Vec::new() };
    if dict.len() < AT_ONCE {
        let members = Entries::of(dict).map_while(|entry| Some(entry.ok()?.1)).collect();
        dict.clear();
        return members;
    }
    let pop = || dict.call_method0(intern!(dict.py(), "popitem"))?.get_item(1);
    (0..AT_ONCE).map_while(|_| pop().ok()).collect()
}

/// JSON that is dropped without the GIL when it is large.
pub struct LargeJson(Value);

impl From<Value> for LargeJson {
    fn from(value: Value) -> Self {
        LargeJson(value)
    }
}

impl Deref for LargeJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Drop for LargeJson {
    fn drop(&mut self) {
        if is_large(&self.0) {
            let value = std::mem::take(&mut self.0);
            Python::attach(|py| py.detach(|| drop(value)));
        }
    }
}

/// Does work on JSON, without the GIL if the JSON is large.
pub fn without_gil_if<T: Send>(py: Python<'_>, is_large: bool, work: impl FnOnce() -> T + Send) -> T {
    if is_large { py.detach(work) } else { work() }
}

/// Whether work on this JSON takes longer than releasing the GIL.
pub fn is_large(value: &Value) -> bool {
    has_many_values(value, &mut 0)
}

fn has_many_values(value: &Value, counted: &mut usize) -> bool {
    *counted += 1;
    let mut count = |inner: &Value| has_many_values(inner, counted);
    match value {
        Value::Array(items) => items.len() >= FEW || items.iter().any(&mut count),
        Value::Object(map) => map.len() >= FEW || map.values().any(&mut count),
        _ => *counted >= FEW,
    }
}
