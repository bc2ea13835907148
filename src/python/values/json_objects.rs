//! Python objects from JSON text that the core has checked, without a value in between.
//!
//! A message with many calls has the same names in each of them. They are the same object here, so a dict needs neither a new
//! string nor its hash.

use crate::values::json;
use crate::values::json_to_python::LEVEL;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString};
use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use std::borrow::Cow;
use std::fmt;
use toolhub::stack;

/// The number of names that are kept; a power of two.
const KEPT: usize = 64;
/// More than arguments that stay text nest.
const STACK: usize = 4 * LEVEL;
/// The key under which serde hands a number over as the text that it is.
const NUMBER: &str = "$serde_json::private::Number";
/// Longer names are not kept.
const LONGEST: usize = 64;

/// Makes the objects of one message.
pub struct JsonObjects<'py> {
    py: Python<'py>,
    names: [Option<(Box<str>, Bound<'py, PyString>)>; KEPT],
}

impl<'py> JsonObjects<'py> {
    pub fn new(py: Python<'py>) -> Self {
        Self { py, names: [const { None }; KEPT] }
    }

    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// A name as a string, the same one as before if it is still kept.
    pub fn name(&mut self, text: &str) -> Bound<'py, PyString> {
        let (Some(first), Some(last)) = (text.as_bytes().first(), text.as_bytes().last()) else {
            return PyString::new(self.py, text);
        };
        if text.len() > LONGEST {
            return PyString::new(self.py, text);
        }
        let place = text.len().wrapping_mul(31) ^ usize::from(*first) ^ usize::from(*last).wrapping_mul(7);
        let kept = &mut self.names[place % KEPT];
        match kept {
            Some((name, string)) if **name == *text => string.clone(),
            _ => kept.insert((text.into(), PyString::new(self.py, text))).1.clone(),
        }
    }

    /// The object; `None` for a text that is not JSON, or for too little stack to read it.
    pub fn object(&mut self, json: &str) -> Option<Bound<'py, PyAny>> {
        let has_stack = stack::remaining() >= STACK;
        has_stack.then(|| self.deserialize(&mut Deserializer::from_str(json)).ok())?
    }
}

/// The name of a member, which most texts have as it is.
#[derive(Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, 'py> DeserializeSeed<'de> for &mut JsonObjects<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for &mut JsonObjects<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(PyBool::new(self.py, value).to_owned().into_any())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.py, text).into_any())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.py);
        while let Some(item) = items.next_element_seed(&mut *self)? {
            list.append(item).map_err(A::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.py);
        while let Some(key) = members.next_key::<MemberName<'_>>()?.map(|key| key.0) {
            if key == NUMBER {
                return json::number(self.py, &members.next_value::<String>()?).map_err(A::Error::custom);
            }
            let name = self.name(&key);
            let value = members.next_value_seed(&mut *self)?;
            dict.set_item(name, value).map_err(A::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}
