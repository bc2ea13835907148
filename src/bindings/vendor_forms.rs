//! Which tools were declared to an API in another form than their own.

use crate::prompt::vendor::Vendor;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The tools whose arguments an API sends in another form than the tool takes them, and the vendor for which each was last
/// declared.
#[derive(Default)]
pub struct VendorForms(Mutex<HashMap<String, Vendor>>);

impl VendorForms {
    pub fn declared(&self, tool: String, vendor: Vendor, changed: bool) {
        let mut forms = self.0.lock();
        if changed || forms.contains_key(&tool) {
            forms.insert(tool, vendor);
        }
    }

    pub fn of(&self, tool: &str) -> Option<Vendor> {
        self.0.lock().get(tool).copied()
    }
}
