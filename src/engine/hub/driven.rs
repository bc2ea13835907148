//! A run of candidates while tokio drives it.

use super::planned::PlannedRun;
use std::time::Instant;

/// If it is dropped half-way, nothing of the run is sent any more, and its rows say what was sent until then.
pub(super) struct DrivenRun<'a> {
    pub plan: &'a mut PlannedRun,
    pub is_over: bool,
}

impl Drop for DrivenRun<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.plan.run.close(Instant::now());
        if let Some(rows) = self.plan.ended_rows(|_| None) {
            rows.write(false, || None);
        }
    }
}
