//! What is kept of calls: the store, the ledger with its approvals, and cassettes.

pub mod cassette;
pub mod ledger;
