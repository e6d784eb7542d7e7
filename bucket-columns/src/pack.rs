//! From documents to bytes.

use bson::RawDocument;

use crate::{MOST_BYTES, VERSION, bytes::put_length, error::PackError, node::Node, numbers};

/// Packs documents, in their order. The [crate's page](crate) has an example.
///
/// # Errors
///
/// [`PackError::TooLarge`] if they have more than 64 MiB together. No document is refused for what is in it.
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub fn pack<'a>(
    documents: impl IntoIterator<Item = &'a RawDocument>,
) -> Result<Vec<u8>, PackError> {
    let mut node = Node::new(0);
    let (mut rows, mut bytes) = (0, 0_usize);
    for document in documents {
        let document = document.as_bytes();
        rows += 1;
        bytes = bytes.saturating_add(document.len());
        if bytes > MOST_BYTES {
            return Err(PackError::TooLarge);
        }
        node.push(document);
    }
    let mut out = vec![VERSION];
    put_length(&mut out, rows);
    out.extend(numbers::header()?);
    node.pack(&mut out)?;
    let checksum = crc32fast::hash(&out);
    out.extend(checksum.to_le_bytes());
    Ok(out)
}
