//! From a Python callable and the arguments of a call to what it is called with.

pub mod callable;

// The arguments of one call: as they were given, and how they are checked.
pub mod argument_checks;
pub mod given;
