//! From a Python callable and the arguments of a call to what it is called with.

pub mod callable;

// The arguments of one call, in the order in which they are looked at.
pub mod argument_checks;
pub mod given;
