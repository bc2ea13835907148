//! Objects on an event loop that other threads send messages to, and the table in which the loop finds them.

use pyo3::PyClass;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use toolhub::error::HubError;
use toolhub::execute::Answer;
use toolhub::limit::Permits;
use toolhub::reports::WaitingReports;
use toolhub::workers::PoolRefusal;

pub enum Message {
    /// A Rust tool has answered.
    Answered(Box<Answer>),
    /// A sync function has ended in its thread.
    Returned(PyResult<Py<PyAny>>),
    /// The thread of a sync function ended before the function did.
    WorkerLost,
    /// A sync function was not called, because too many calls that were given up still run.
    Refused(PoolRefusal),
    /// The concurrency limits have let an attempt in, or turned it away.
    Entered(Option<Permits>),
    /// The row of an attempt that may have effects is written, or could not be.
    Recorded(Result<(), Box<HubError>>),
    /// A Rust future is over; its outcome is with the addressee.
    Settled,
    /// Progress reports wait.
    Progress(Arc<WaitingReports>),
    /// The attempt is about to be retried.
    Retried(Value),
}

impl Message {
    /// True when no more messages follow under the same key.
    pub fn is_last(&self) -> bool {
        !matches!(self, Message::Progress(_) | Message::Retried(_))
    }
}

/// An object that lives on one event loop. Both methods are called on the loop's thread.
pub trait Addressee: PyClass {
    /// Handles a message; `slot` is the number that was given when the message was announced.
    fn receive(slf: &Bound<'_, Self>, slot: usize, message: Message);

    /// A deadline has passed. Only for those that register deadlines.
    fn expire(_slf: &Bound<'_, Self>) {}
}

/// An addressee without its type: the loop's tables hold any of them without an allocation.
pub struct Recipient {
    object: Py<PyAny>,
    slot: usize,
    methods: &'static RecipientMethods,
}

struct RecipientMethods {
    receive: fn(&Bound<'_, PyAny>, usize, Message),
    expire: fn(&Bound<'_, PyAny>),
}

impl Recipient {
    pub fn new<T: Addressee>(object: Py<T>, slot: usize) -> Self {
        let methods = &const {
            RecipientMethods {
                receive: |object, slot, message| {
                    if let Ok(object) = object.cast::<T>() {
                        T::receive(object, slot, message);
                    }
                },
                expire: |object| _ = object.cast::<T>().map(T::expire),
            }
        };
        Recipient { object: object.into_any(), slot, methods }
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Recipient { object: self.object.clone_ref(py), ..*self }
    }

    pub fn deliver(&self, py: Python<'_>, message: Message) {
        (self.methods.receive)(self.object.bind(py), self.slot, message);
    }

    pub fn expire(&self, py: Python<'_>) {
        (self.methods.expire)(self.object.bind(py));
    }

    /// The object, if it is of this type.
    pub fn as_addressee<'py, T: Addressee>(&self, py: Python<'py>) -> Option<Bound<'py, T>> {
        self.object.bind(py).cast().ok().cloned()
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)
    }
}

/// Recipients by key. A key is used once, so a stale one finds nothing.
#[derive(Default)]
pub struct Recipients {
    pub entries: HashMap<u64, Recipient>,
    last_key: u64,
}

impl Recipients {
    pub fn insert(&mut self, recipient: Recipient) -> u64 {
        self.last_key += 1;
        self.entries.insert(self.last_key, recipient);
        self.last_key
    }
}
