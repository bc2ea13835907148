//! What most files of this room name: PyO3 and its types, the core's errors, and the ways between the two.

pub(crate) use crate::runtime::interpreter::{Imported, intern};
pub(crate) use crate::values::errors::{class_of, show_unraisable, tool_error};
pub(crate) use crate::values::json;
pub(crate) use parking_lot::Mutex;
pub(crate) use pyo3::exceptions::{PyBaseException, PyException, PyRuntimeError, PyTypeError, PyValueError};
pub(crate) use pyo3::gc::{PyTraverseError, PyVisit};
pub(crate) use pyo3::prelude::*;
pub(crate) use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
pub(crate) use serde_json::Value;
pub(crate) use std::sync::Arc;
pub(crate) use std::time::{Duration, Instant};
pub(crate) use toolhub::error::{ErrorKind, HubError};
pub(crate) use toolhub::message;
