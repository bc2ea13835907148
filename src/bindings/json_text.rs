//! JSON text straight to Python objects, without a value in between.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;
use std::hash::BuildHasher;

/// The Python form of a text that is strict JSON.
pub fn to_python<'py>(py: Python<'py>, json: &str, keys: &Keys) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = serde_json::Deserializer::from_str(json);
    Object(py, keys)
        .deserialize(&mut reader)
        .map_err(|why| pyo3::exceptions::PyValueError::new_err(why.to_string()))
}

/// Python strings that come again: the keys of one text, and the names of its tools. One in each place, the last.
pub struct Keys(RefCell<[Option<Py<PyString>>; Self::PLACES]>);

impl Default for Keys {
    fn default() -> Self {
        Keys(RefCell::new([const { None }; Self::PLACES]))
    }
}

impl Keys {
    const PLACES: usize = 64;
    /// Longer ones seldom come again.
    const LONGEST: usize = 64;

    pub fn get<'py>(&self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if text.len() > Self::LONGEST {
            return PyString::new(py, text);
        }
        let hash = foldhash::fast::FixedState::default().hash_one(text.as_bytes());
        let place = &mut self.0.borrow_mut()[hash as usize % Self::PLACES];
        match place {
            Some(known) if known.to_str(py).is_ok_and(|known| known == text) => known.bind(py).clone(),
            _ => {
                let made = PyString::new(py, text);
                *place = Some(made.clone().unbind());
                made
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Object<'py, 'k>(Python<'py>, &'k Keys);

impl<'py> Object<'py, '_> {
    fn made<E: Error>(self, value: impl IntoPyObjectExt<'py>) -> Result<Bound<'py, PyAny>, E> {
        value.into_bound_py_any(self.0).map_err(E::custom)
    }
}

impl<'de, 'py> DeserializeSeed<'de> for Object<'py, '_> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for Object<'py, '_> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        self.made(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.made(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.made(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.made(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.made(value)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.0.None().into_bound(self.0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let list = PyList::empty(self.0);
        while let Some(item) = items.next_element_seed(self)? {
            list.append(item).map_err(A::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let dict = PyDict::new(self.0);
        while let Some(key) = entries.next_key_seed(Key(self))? {
            let value = entries.next_value_seed(self)?;
            dict.set_item(key, value).map_err(A::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}

/// The key of an entry, which is text.
struct Key<'py, 'k>(Object<'py, 'k>);

impl<'de, 'py> DeserializeSeed<'de> for Key<'py, '_> {
    type Value = Bound<'py, PyString>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'py> Visitor<'_> for Key<'py, '_> {
    type Value = Bound<'py, PyString>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        let Object(py, keys) = self.0;
        Ok(keys.get(py, value))
    }
}
