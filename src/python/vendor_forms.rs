//! Which tools were declared to an API in another form than their own.

use parking_lot::Mutex;
use std::collections::HashMap;
use toolhub::prompt::vendor::Vendor;

/// The tools whose arguments an API sends in another form than the tool takes them, and the vendors for which each was
/// declared, the last one last.
#[derive(Default)]
pub struct VendorForms(Mutex<HashMap<String, Vec<Vendor>>>);

impl VendorForms {
    pub fn declared(&self, tool: String, vendor: Vendor, changed: bool) {
        let mut forms = self.0.lock();
        if changed || forms.contains_key(&tool) {
            let known = forms.entry(tool).or_default();
            known.retain(|one| *one != vendor);
            known.push(vendor);
        }
    }

    /// The form that a call has: the last one that was declared for the API which sent it, or the last one of all.
    pub fn of(&self, tool: &str, api: Option<&str>) -> Option<Vendor> {
        let forms = self.0.lock();
        let known = forms.get(tool)?;
        let sent = known.iter().rfind(|vendor| api.is_some_and(|api| vendor.is_of(api)));
        sent.or(known.last()).copied()
    }
}
