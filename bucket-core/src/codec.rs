//! BSON as bytes: a writer of elements, and an encoder and a decoder for serde values.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod leb128;
pub(crate) mod raw;
