//! The pages of the repository: their code is compiled, and what they name is there.
//!
//! A package of its own, so that a change of a page makes no other test compile again.

#[cfg(test)]
mod names;

/// `README.md`, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// `CONTRIBUTING.md`, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
mod contributing {}

/// `docs/architecture.md`, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/architecture.md")]
mod architecture {}

/// `docs/guide.md`, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
mod guide {}
