//! A factor in generated code.

use proc_macro2::Literal;

pub(super) fn number(factor: f64) -> Literal {
    Literal::f64_suffixed(factor)
}
