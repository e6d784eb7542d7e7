//! BSON as bytes: a writer of elements, an encoder and a decoder of serde's values.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod raw;
