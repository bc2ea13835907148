//! Calls that run as tasks: the client gets the id of a task at once, asks for it later, and may leave in between.
//!
//! A task belongs to a principal and a view; for others it does not exist. Tasks are kept in memory, by the replica that runs
//! them: for an hour at most, and a limited number of them with results of a limited size. When there are too many, those that
//! ended first are dropped.

mod drive;
mod table;
mod task;

pub use drive::drive;
pub use table::ClientTasks;
pub use task::{ClientTask, ClientTaskStart, TaskQuestion, TaskStep};
