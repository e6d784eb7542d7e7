//! Messages of the wire protocol, as far as a proxy must know them: where they end, which request
//! they answer, which command they carry.

use std::io;

use bucket_mongo::bson::{Document, deserialize_from_slice, serialize_to_vec};
use tokio::io::{AsyncRead, AsyncReadExt};

const HEADER_BYTES: usize = 16;
/// The server's own limit.
const LARGEST_BYTES: usize = 48_000_000;
const OP_MSG: i32 = 2_013;
/// The kinds of the sections of an `OP_MSG`.
const BODY: u8 = 0;
const DOCUMENT_SEQUENCE: u8 = 1;

/// A complete message, including its header.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Reads the next message.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` at the end of the stream, `InvalidData` for an impossible length.
    pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut bytes = vec![0; HEADER_BYTES];
        stream.read_exact(&mut bytes).await?;
        let length = usize::try_from(integer(&bytes, 0).unwrap_or(0)).unwrap_or(0);
        if !(HEADER_BYTES..=LARGEST_BYTES).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.resize(length, 0);
        stream.read_exact(&mut bytes[HEADER_BYTES..]).await?;
        Ok(Self(bytes))
    }

    /// All bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first half of the bytes.
    #[must_use]
    pub fn half(&self) -> &[u8] {
        &self.0[..self.0.len() / 2]
    }

    /// The number that the sender gave the message.
    #[must_use]
    pub fn request_id(&self) -> i32 {
        integer(&self.0, 4).unwrap_or(0)
    }

    /// The number of the request that this message answers.
    #[must_use]
    pub fn response_to(&self) -> i32 {
        integer(&self.0, 8).unwrap_or(0)
    }

    /// Whether these bytes are in it.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.0.windows(bytes.len()).any(|window| window == bytes)
    }

    /// The same reply with one more field, which is text.
    ///
    /// # Panics
    ///
    /// If it is not a reply of one document.
    #[must_use]
    pub fn with_field(&self, name: &str, text: &str) -> Self {
        // After the header, the flags and the kind of the only section.
        let (head, body) = self.0.split_at(HEADER_BYTES + 4 + 1);
        let mut document: Document = deserialize_from_slice(body).expect("a document");
        document.insert(name, text);
        let body = serialize_to_vec(&document).expect("a document that was read");
        let mut bytes = [head, &body].concat();
        let length = i32::try_from(bytes.len()).expect("a short reply");
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        Self(bytes)
    }

    /// The name of the command: that of the first element of the body.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        if integer(&self.0, 12)? != OP_MSG {
            return None;
        }
        // After the header and the flags come sections, each with its kind.
        let mut at = HEADER_BYTES + 4;
        while *self.0.get(at)? == DOCUMENT_SEQUENCE {
            at += 1 + usize::try_from(integer(&self.0, at + 1)?).ok()?;
        }
        if self.0[at] != BODY {
            return None;
        }
        // The kind, the length of the document, the type of the element.
        let name = self.0.get(at + 1 + 4 + 1..)?;
        let end = name.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&name[..end]).ok()
    }
}

fn integer(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(i32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::doc;

    use super::*;

    async fn frame(sections: &[&[u8]]) -> Frame {
        let body = sections.concat();
        let length = i32::try_from(HEADER_BYTES + 4 + body.len()).unwrap();
        let mut bytes = Vec::new();
        for part in [length, 7, 6, OP_MSG, 0] {
            bytes.extend(part.to_le_bytes());
        }
        bytes.extend(body);
        Frame::read(&mut bytes.as_slice()).await.unwrap()
    }

    #[tokio::test]
    async fn the_command_is_found_before_and_after_a_document_sequence() {
        let body = serialize_to_vec(&doc! { "update": "trades", "find": 1 }).unwrap();
        let body = [&[BODY], body.as_slice()].concat();
        let sequence = [&[DOCUMENT_SEQUENCE, 9, 0, 0, 0], b"docs\0".as_slice()].concat();
        for sections in [[body.as_slice(), &sequence], [&sequence, &body]] {
            let frame = frame(&sections).await;
            assert_eq!(frame.command(), Some("update"));
            assert_eq!((frame.request_id(), frame.response_to()), (7, 6));
        }
    }

    #[tokio::test]
    async fn a_reply_gets_one_more_field() {
        let body = serialize_to_vec(&doc! { "ok": 1, "msg": "is" }).unwrap();
        let longer = frame(&[&[BODY], &body]).await.with_field("a", "b");
        let read = Frame::read(&mut longer.bytes()).await.unwrap();
        let document = &read.bytes()[HEADER_BYTES + 5..];
        let document: Document = deserialize_from_slice(document).unwrap();
        assert_eq!(document, doc! { "ok": 1, "msg": "is", "a": "b" });
    }

    #[tokio::test]
    async fn an_impossible_length_and_a_half_message_are_errors() {
        let read = async |mut bytes: &[u8]| Frame::read(&mut bytes).await.unwrap_err().kind();
        assert_eq!(read(&[0; 16]).await, io::ErrorKind::InvalidData);
        assert_eq!(read(&[0xff; 16]).await, io::ErrorKind::InvalidData);
        let half = [&[17, 0, 0, 0], [0; 12].as_slice()].concat();
        assert_eq!(read(&half).await, io::ErrorKind::UnexpectedEof);
    }
}
