//! The seal of the traits that only a derive implements.

/// The value that a derive gives: the library relies on what the derive has checked.
#[derive(Debug, Clone, Copy)]
pub struct Derived;
