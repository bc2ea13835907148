//! Python objects without a JSON form inside a value: a model instance, a data frame, a date.
//!
//! The value has `null` in their place. A violation that depends on such a place says nothing about the object, so it is
//! left to the code that knows the object's type.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Violation;
use toolhub_text::message::Message;

/// A place that holds an object without a JSON form.
#[derive(Clone, Debug)]
pub struct Opaque {
    /// A JSON pointer.
    pub place: String,
    /// How the object is named in an error.
    pub shown: Message,
}

/// Whether a violation depends on what stands in for an opaque object.
pub fn depends_on(error: &ValidationError<'_>, opaque: &[Opaque]) -> bool {
    // These keywords compare the whole value, so an opaque part anywhere inside decides them.
    let compares_parts = matches!(
        error.kind(),
        Violation::AnyOf { .. }
            | Violation::OneOfNotValid { .. }
            | Violation::OneOfMultipleValid { .. }
            | Violation::Not { .. }
            | Violation::Enum { .. }
            | Violation::Constant { .. }
            | Violation::Contains
            | Violation::UniqueItems
    );
    let place = error.instance_path().as_str();
    opaque.iter().any(|one| one.place == place || (compares_parts && is_inside(&one.place, place)))
}

/// Whether the value at a place holds an opaque object.
pub fn any_inside(opaque: &[Opaque], place: &str) -> bool {
    opaque.iter().any(|one| is_inside(&one.place, place))
}

fn is_inside(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
