//! Cursors of lists: where the next page begins, in a form that tells its reader nothing.
//!
//! A page ends at a position among all tools, or all tasks, so that nothing is skipped when others come or go. The number itself
//! would tell a caller how many there are that it must not see. A cursor is therefore [sealed](super::sealing), for one list of
//! one caller.

use super::sealing::{SealingKey, sealed_length};

/// Whose list a cursor belongs to.
#[derive(Clone, Copy, Debug)]
pub struct CursorPlace<'a> {
    /// The method that lists.
    pub list: &'static str,
    pub principal: &'a str,
    pub view: &'a str,
}

impl CursorPlace<'_> {
    fn parts(&self) -> [&str; 3] {
        [self.list, self.principal, self.view]
    }

    pub fn seal(&self, key: &SealingKey, position: u64) -> Option<String> {
        key.seal(&self.parts(), &position.to_be_bytes())
    }

    /// The position that this key has sealed for the place.
    pub fn open(&self, key: &SealingKey, cursor: &str) -> Option<u64> {
        // Others are not decoded at all.
        let is_cursor = cursor.len() == sealed_length(size_of::<u64>());
        let position = is_cursor.then(|| key.open(&self.parts(), cursor)).flatten()?;
        Some(u64::from_be_bytes(position.try_into().ok()?))
    }
}
