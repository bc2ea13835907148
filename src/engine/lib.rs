//! One call from request to result: the plan, the run, the hub that joins them.

pub mod execute;
pub mod hub;
pub mod offers;
pub mod plan;
pub mod served;
