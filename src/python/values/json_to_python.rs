//! JSON as Python values. Servers choose its size, so this is done in slices: other threads get the GIL in between.

use crate::prelude::*;
use crate::runtime::interpreter::pause;
use crate::values::unicode;
use num_bigint::BigInt;
use pyo3::exceptions::PyRecursionError;
use pyo3::inspect::PyStaticExpr;
use std::collections::BTreeMap;
use std::ops::Deref;
use toolhub::system;

/// Stack that a level of a value may take, with what is called inside.
pub const LEVEL: usize = 64 * 1024;
/// An integer has at most this many digits: the time to read and write one grows with the square of its length.
pub const MAX_DIGITS: usize = 100_000;
/// The most values in a slice: usually well below a millisecond of work.
const SLICE: u32 = 4_000;
/// The most time in a slice. Some values cost more than others, and so does every value on a slow machine.
const SLICE_TIME: Duration = Duration::from_micros(500);
/// The clock is read after this many values, so small calls never read it.
const BLOCK: u32 = 250;
/// A thread that waits for the GIL must wake up before this one takes it again.
const PAUSE: Duration = Duration::from_micros(20);

pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    converted(py, value, &mut Slices::new())
}

fn converted<'py>(py: Python<'py>, value: &Value, slices: &mut Slices) -> PyResult<Bound<'py, PyAny>> {
    slices.step(py);
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(given) => number(py, given.as_str())?,
        Value::String(text) => unicode::string(py, text)?.into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(nested(py, item, slices)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (name, item) in map {
                dict.set_item(name, nested(py, item, slices)?)?;
            }
            dict.into_any()
        }
    })
}

/// An int for digits alone, a float for all else. What neither can hold is infinite, as in Python's own `json`.
fn number<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(small) = text.parse::<i64>() {
        return Ok(small.into_pyobject(py)?.into_any());
    }
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_whole
        && text.len() <= MAX_DIGITS
        && let Ok(large) = text.parse::<BigInt>()
    {
        return Ok(large.into_pyobject(py)?.into_any());
    }
    Ok(PyFloat::new(py, text.parse().unwrap_or(f64::NAN)).into_any())
}

/// A member of a container. Values of ours nest less deeply than the parser allows, but a small stack may be full already.
fn nested<'py>(py: Python<'py>, value: &Value, slices: &mut Slices) -> PyResult<Bound<'py, PyAny>> {
    if (value.is_array() || value.is_object()) && system::remaining() < LEVEL {
        return Err(PyRecursionError::new_err("the value is nested too deeply"));
    }
    converted(py, value, slices)
}

/// Counts the values of one conversion.
struct Slices {
    /// Values until the clock is read.
    left: u32,
    /// Blocks until the slice is full.
    blocks: u32,
    /// When the slice began; known from its first block on.
    since: Option<Instant>,
}

impl Slices {
    fn new() -> Self {
        Slices { left: BLOCK, blocks: SLICE / BLOCK, since: None }
    }

    /// Counts a value. Lets other threads run when the slice is full.
    #[inline]
    fn step(&mut self, py: Python<'_>) {
        self.left -= 1;
        if self.left == 0 {
            self.end_block(py);
        }
    }

    #[cold]
    fn end_block(&mut self, py: Python<'_>) {
        (self.left, self.blocks) = (BLOCK, self.blocks - 1);
        if self.blocks == 0 || self.since.is_some_and(|since| since.elapsed() >= SLICE_TIME) {
            pause(py, || std::thread::sleep(PAUSE));
            (self.blocks, self.since) = (SLICE / BLOCK, Some(Instant::now()));
        } else {
            self.since.get_or_insert_with(Instant::now);
        }
    }
}

/// JSON with fewer values is dropped at once: releasing the GIL would take longer.
const FEW: usize = 1_000;

/// JSON that becomes Python objects where a return value is wanted. Threads of the runtime may drop it: they never take the GIL.
pub struct JsonValue(pub Value);

impl<'py> IntoPyObject<'py> for JsonValue {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    const OUTPUT_TYPE: PyStaticExpr = Self::Output::OUTPUT_TYPE;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &LargeJson(self.0))
    }
}

/// A JSON object that is a Python one already: a getter that returns `Bound<PyAny>` is `Any` in the stub.
pub struct TypedDict<'py>(pub Bound<'py, PyAny>);

impl<'py> IntoPyObject<'py> for TypedDict<'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    const OUTPUT_TYPE: PyStaticExpr = BTreeMap::<String, Self::Output>::OUTPUT_TYPE;

    fn into_pyobject(self, _: Python<'py>) -> PyResult<Self::Output> {
        Ok(self.0)
    }
}

/// JSON that a thread with the GIL has. It is dropped without the GIL when it is large.
pub struct LargeJson(pub Value);

impl Deref for LargeJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Drop for LargeJson {
    fn drop(&mut self) {
        if has_many_values(&self.0, &mut 0) {
            let value = std::mem::take(&mut self.0);
            Python::attach(|py| py.detach(|| drop(value)));
        }
    }
}

/// Whether work on this JSON takes longer than releasing the GIL.
fn has_many_values(value: &Value, counted: &mut usize) -> bool {
    *counted += 1;
    let mut count = |inner: &Value| has_many_values(inner, counted);
    match value {
        Value::Array(items) => items.len() >= FEW || items.iter().any(&mut count),
        Value::Object(map) => map.len() >= FEW || map.values().any(&mut count),
        _ => *counted >= FEW,
    }
}
