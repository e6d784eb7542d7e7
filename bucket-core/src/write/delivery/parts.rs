//! A command whose replies get lost, split into parts with smaller replies.
//!
//! If a reply exceeds 16 MB, a server closes the connection instead of sending it, after it has executed the
//! command. This happens because a validator's errors repeat the documents, several times if several rules
//! fail. As one command it never gets a reply. The reply to a single statement always fits.

use std::ops::Range;

use bson::{
    Bson, Document, RawArrayBuf, RawBsonRef, RawDocument, RawDocumentBuf,
    raw::{CStr, cstr},
};

use super::reply::listed;
use crate::model::whole;

/// The fields of commands that hold their statements.
const STATEMENTS: [&CStr; 2] = [cstr!("documents"), cstr!("updates")];
/// The lists of a reply that name statements by their index.
const LISTS: [&str; 2] = ["writeErrors", "upserted"];
/// The number of lost replies after which statements are sent in parts. A single one is usually lost for other reasons.
const LOST_AS_A_WHOLE: u32 = 2;

/// The statements of a command, in the parts in which they are sent.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// The parts without a reply, the next one last.
    left: Vec<Range<usize>>,
    is_divided: bool,
    lost: u32,
    /// The replies to the other parts, merged into one.
    gathered: Option<Document>,
}

impl Parts {
    /// All statements in one part.
    pub(super) fn new(statements: usize) -> Self {
        Self {
            left: std::iter::once(0..statements).collect(),
            is_divided: false,
            lost: 0,
            gathered: None,
        }
    }

    /// The statements that are sent next.
    pub(super) fn next(&self) -> Range<usize> {
        self.left.last().cloned().unwrap_or_default()
    }

    pub(super) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// A reply was lost: from the second time on, the statements are sent in halves.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
        let Range { start, end } = self.next();
        let middle = start + (end - start) / 2;
        if self.lost >= LOST_AS_A_WHOLE && middle > start {
            self.is_divided = true;
            self.left.pop();
            self.left.extend([middle..end, start..middle]);
        }
    }

    /// Takes the reply to the part that was sent. Returns the reply to the whole command once no part is left.
    pub(super) fn settle(&mut self, reply: Document) -> Option<Document> {
        let part = self.left.pop().unwrap_or_default();
        if self.is_divided {
            self.gather(reply, part.start);
            self.left.is_empty().then(|| self.gathered.take())?
        } else {
            Some(reply)
        }
    }

    /// What is known if some parts have no reply, and the statements of those parts.
    pub(super) fn so_far(&mut self) -> Option<(Document, Vec<usize>)> {
        let open = self.left.iter().rev().cloned().flatten();
        Some((self.gathered.take()?, open.collect()))
    }

    fn gather(&mut self, mut reply: Document, first: usize) {
        for list in LISTS {
            let moved: Vec<Bson> = listed(&reply, list)
                .map(|about| moved(about, first))
                .collect();
            if !moved.is_empty() {
                reply.insert(list, moved);
            }
        }
        let Some(all) = &mut self.gathered else {
            self.gathered = Some(reply);
            return;
        };
        match (whole::field(all, "n"), whole::field(&reply, "n")) {
            (Some(before), Some(more)) => drop(all.insert("n", before + more)),
            // Without a number it is unknown which statements were executed.
            _ => drop(all.remove("n")),
        }
        for list in LISTS {
            let Some(Bson::Array(more)) = reply.remove(list) else {
                continue;
            };
            match all.get_array_mut(list) {
                Ok(list) => list.extend(more),
                Err(_) => drop(all.insert(list, more)),
            }
        }
        if let Some(concern) = reply.remove("writeConcernError") {
            all.insert("writeConcernError", concern);
        }
    }
}

/// A reply's entry about a statement, moved by the number of statements before its part.
fn moved(about: &Document, first: usize) -> Bson {
    let mut about = about.clone();
    if let (Some(at), Ok(first)) = (whole::field(&about, "index"), i64::try_from(first)) {
        about.insert("index", at + first);
    }
    about.into()
}

/// A command with only some of its statements. Under a number, each keeps its index in the whole command, by
/// which the server recognises it.
///
/// ```
/// use bson::{Document, RawDocumentBuf, doc};
/// use bucket_core::write::part_of;
///
/// let whole = doc! { "insert": "things", "documents": [{ "_id": 1 }, { "_id": 2 }, { "_id": 3 }] };
/// let whole = RawDocumentBuf::try_from(&whole).expect("no names with NUL");
/// let part = Document::try_from(part_of(&whole, 1..3, true)).expect("BSON");
/// let expected = doc! {
///     "insert": "things", "documents": [{ "_id": 2 }, { "_id": 3 }], "stmtIds": [1, 2],
/// };
/// assert_eq!(part, expected);
/// ```
#[must_use]
pub fn part_of(command: &RawDocument, part: Range<usize>, has_number: bool) -> RawDocumentBuf {
    let mut cut = RawDocumentBuf::new();
    for (name, value) in command.iter().flatten() {
        match value {
            RawBsonRef::Array(all) if STATEMENTS.contains(&name) => {
                let mut some = RawArrayBuf::new();
                for statement in all.into_iter().flatten().skip(part.start).take(part.len()) {
                    some.push(statement);
                }
                cut.append(name, some);
            }
            value => cut.append(name, value),
        }
    }
    if has_number {
        let mut places = RawArrayBuf::new();
        for place in part {
            // A command has far fewer statements.
            places.push(i32::try_from(place).unwrap_or(i32::MAX));
        }
        cut.append(cstr!("stmtIds"), places);
    }
    cut
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use super::Parts;

    fn reply(n: i32, refused: &[i32]) -> Document {
        let errors = refused
            .iter()
            .map(|index| doc! { "index": *index, "code": 121 });
        doc! { "ok": 1, "n": n, "writeErrors": errors.collect::<Vec<_>>() }
    }

    #[test]
    fn statements_without_a_reply_are_sent_in_halves_down_to_one() {
        let mut parts = Parts::new(5);
        parts.lose();
        assert_eq!((parts.next(), parts.is_divided()), (0..5, false));
        for expected in [0..2, 0..1, 0..1] {
            parts.lose();
            assert_eq!((parts.next(), parts.is_divided()), (expected, true));
        }
        let mut met = Vec::new();
        loop {
            met.push(parts.next());
            if parts.settle(doc! { "ok": 1, "n": 1 }).is_some() {
                break;
            }
        }
        assert_eq!(met, [0..1, 1..2, 2..5]);
    }

    #[test]
    fn the_replies_to_parts_add_up_to_the_reply_to_the_whole_command() {
        let mut parts = Parts::new(6);
        parts.lose();
        parts.lose();
        assert_eq!(parts.settle(reply(2, &[1])), None);
        let concern = doc! { "code": 64 };
        let opened = doc! { "index": 1, "_id": "a" };
        let mut second = reply(1, &[0, 2]);
        second.insert("upserted", vec![opened]);
        second.insert("writeConcernError", concern.clone());
        let whole = parts.settle(second).unwrap_or_default();
        let errors = [1_i64, 3, 5].map(|index| doc! { "index": index, "code": 121 });
        let expected = doc! {
            "ok": 1, "n": 3_i64, "writeErrors": errors.to_vec(),
            "upserted": [{ "index": 4_i64, "_id": "a" }], "writeConcernError": concern,
        };
        assert_eq!(whole, expected);
    }

    #[test]
    fn the_results_of_some_parts_are_known_without_the_others() {
        let mut parts = Parts::new(6);
        parts.lose();
        assert_eq!(parts.so_far(), None);
        parts.lose();
        assert_eq!(parts.settle(reply(3, &[])), None);
        let (known, open) = parts.so_far().unwrap_or_default();
        assert_eq!((known.get_i32("n").ok(), open), (Some(3), vec![3, 4, 5]));
    }
}
