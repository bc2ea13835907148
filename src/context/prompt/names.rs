//! The name under which a prompt shows a tool.

use super::clean::is_printable;
use super::vendor::vendor_name;
use std::borrow::Cow;

/// A name that would break the line is shown as the APIs get it; both can be called.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    if is_printable(name) { Cow::Borrowed(name) } else { Cow::Owned(vendor_name(name)) }
}
