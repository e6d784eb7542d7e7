//! What a reply says of the documents of a command.

use bson::Bson;

use super::NewDocuments;
use crate::{
    model::whole,
    write::{Answer, Certainty, WriteFailure},
};

const DUPLICATE_KEY: i32 = 11_000;
const ID_INDEX: &str = "_id_";

/// What a reply says of new documents.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct StoredDocuments {
    /// Those that are stored, by their indexes.
    pub stored: Vec<usize>,
    /// Those that the server refused.
    pub refused: Vec<(usize, WriteFailure)>,
    /// Those that the server refused, and that a try without a reply may have stored after that. None will
    /// any more, so [a look](NewDocuments::saw) at their `_id`s tells.
    pub doubtful: Vec<(usize, WriteFailure)>,
    /// Those of which it is not known.
    pub unknown: Vec<usize>,
    /// The write concern was not met: what is stored may be rolled back.
    pub write_concern_error: Option<WriteFailure>,
}

impl NewDocuments {
    /// Reads the answer to their command.
    #[must_use]
    pub fn settle(&self, answer: &Answer) -> StoredDocuments {
        let Answer {
            reply, doubt, open, ..
        } = answer;
        // By a try that the server does not know as one of this command: only the `_id`s tell.
        let was_lost = answer.repeated;
        let mut settled = StoredDocuments {
            write_concern_error: reply
                .get_document("writeConcernError")
                .ok()
                .map(WriteFailure::read),
            ..StoredDocuments::default()
        };
        let mut failures: Vec<Option<WriteFailure>> = vec![None; self.documents.len()];
        let errors = reply.get_array("writeErrors").map(Vec::as_slice);
        for error in errors
            .unwrap_or_default()
            .iter()
            .filter_map(Bson::as_document)
        {
            let at = whole::field(error, "index").and_then(|at| usize::try_from(at).ok());
            if let Some(failure) = at.and_then(|at| failures.get_mut(at)) {
                *failure = Some(WriteFailure::read(error));
            }
        }
        let refused = failures.iter().flatten().count();
        let told = self.documents.len() - open.len();
        let applied = whole::field(reply, "n").and_then(|n| usize::try_from(n).ok());
        // Else the server has stopped half-way, and does not say where.
        let is_complete = applied.is_some_and(|applied| applied + refused == told);
        for (at, ((index, document), failure)) in self.documents.iter().zip(failures).enumerate() {
            match failure {
                None if open.binary_search(&at).is_ok() => settled.unknown.push(*index),
                None if is_complete => settled.stored.push(*index),
                None => settled.unknown.push(*index),
                Some(failure) => {
                    let is_there =
                        failure.code == DUPLICATE_KEY && failure.index() == Some(ID_INDEX);
                    if is_there && was_lost && document.has_new_id {
                        // By the try that was lost: nobody else has that `_id`.
                        settled.stored.push(*index);
                    } else if is_there && was_lost {
                        // By that try or by another client.
                        settled.unknown.push(*index);
                    } else {
                        // An `_id` that is taken stays taken.
                        match if is_there { Certainty::Full } else { *doubt } {
                            Certainty::Full => settled.refused.push((*index, failure)),
                            Certainty::Overtaken => settled.doubtful.push((*index, failure)),
                            Certainty::Open => settled.unknown.push(*index),
                        }
                    }
                }
            }
        }
        settled
    }

    /// The `_id`s that were found of the [doubtful](StoredDocuments::doubtful) ones: the others are refused.
    pub fn saw(&self, settled: &mut StoredDocuments, found: &[Bson]) {
        let doubtful = std::mem::take(&mut settled.doubtful);
        let is_there: Vec<bool> = doubtful
            .iter()
            .map(|(index, _)| self.id(*index).is_some_and(|id| found.contains(&id)))
            .collect();
        // To the server 1 and 1.0 are one `_id`: then it is not known which of them was found.
        let is_clear = is_there.iter().filter(|is_there| **is_there).count() == found.len();
        for ((index, failure), is_there) in doubtful.into_iter().zip(is_there) {
            match (is_there, is_clear) {
                (false, true) => settled.refused.push((index, failure)),
                // Nobody else has that `_id`.
                (true, _) if self.has_new_id(index) => settled.stored.push(index),
                _ => settled.unknown.push(index),
            }
        }
        settled.stored.sort_unstable();
        settled.refused.sort_unstable_by_key(|(index, _)| *index);
        settled.unknown.sort_unstable();
    }

    fn has_new_id(&self, index: usize) -> bool {
        let document = self.document(index);
        document.is_some_and(|document| document.has_new_id)
    }
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use crate::write::{Answer, Certainty, new_documents::tests::things};

    fn answer(reply: &Document, doubt: Certainty, repeated: bool) -> Answer {
        let mut answer = Answer::sure(reply.clone());
        (answer.doubt, answer.repeated) = (doubt, repeated);
        answer
    }

    fn invalid(at: i32) -> Document {
        doc! { "index": at, "code": 121, "errmsg": "Document failed validation" }
    }

    fn taken(at: i32) -> Document {
        let message =
            "E11000 duplicate key error collection: t.things index: _id_ dup key: { _id: 3 }";
        doc! { "index": at, "code": 11_000, "errmsg": message }
    }

    #[test]
    fn a_reply_names_each_document() {
        let documents = things(&[None, Some("b"), None]);
        let all = documents.settle(&answer(&doc! { "ok": 1, "n": 3 }, Certainty::Full, false));
        assert_eq!((all.stored, all.refused.len()), (vec![10, 11, 12], 0));
        let reply = doc! { "ok": 1, "n": 2, "writeErrors": [taken(1)] };
        for doubt in [Certainty::Full, Certainty::Overtaken, Certainty::Open] {
            let settled = documents.settle(&answer(&reply, doubt, false));
            assert_eq!(settled.stored, [10, 12]);
            let (index, failure) = &settled.refused[0];
            assert_eq!((*index, failure.index()), (11, Some("_id_")));
        }
        let concern = doc! { "code": 64, "errmsg": "waiting" };
        let reply = doc! { "ok": 1, "n": 3, "writeConcernError": concern };
        let settled = documents.settle(&answer(&reply, Certainty::Full, false));
        assert_eq!(
            settled.write_concern_error.map(|error| error.code),
            Some(64)
        );
    }

    #[test]
    fn what_a_reply_leaves_open_is_never_said_to_be_stored_or_not() {
        let documents = things(&[None, Some("b"), None]);
        // The number does not fit.
        let settled = documents.settle(&answer(&doc! { "ok": 1, "n": 1 }, Certainty::Full, false));
        assert_eq!(settled.unknown, [10, 11, 12]);
        let settled = documents.settle(&answer(&doc! { "ok": 1 }, Certainty::Full, false));
        assert_eq!(settled.unknown, [10, 11, 12]);
        // A validator refused it, and a late try may come when it does not.
        let reply = doc! { "ok": 1, "n": 2, "writeErrors": [invalid(2)] };
        let settled = documents.settle(&answer(&reply, Certainty::Open, false));
        assert_eq!((settled.stored, settled.unknown), (vec![10, 11], vec![12]));
        assert_eq!(
            documents
                .settle(&answer(&reply, Certainty::Full, false))
                .refused
                .len(),
            1
        );
    }

    #[test]
    fn a_repetition_without_a_number_finds_what_the_lost_try_stored_by_ids_of_its_own() {
        let documents = things(&[None, Some("b"), None]);
        let reply = doc! { "ok": 1, "n": 1, "writeErrors": [taken(0), taken(1)] };
        let settled = documents.settle(&answer(&reply, Certainty::Full, true));
        assert_eq!((settled.stored, settled.unknown), (vec![10, 12], vec![11]));
    }

    #[test]
    fn a_look_tells_which_documents_a_late_try_stored_after_they_were_refused() {
        let documents = things(&[None, Some("b"), None, Some("d")]);
        let reply = doc! {
            "ok": 1, "n": 1, "writeErrors": [invalid(0), invalid(1), invalid(2)],
        };
        let look = |found: &[usize]| {
            let mut settled = documents.settle(&answer(&reply, Certainty::Overtaken, false));
            let doubtful: Vec<usize> = settled.doubtful.iter().map(|(index, _)| *index).collect();
            assert_eq!((doubtful, &settled.stored), (vec![10, 11, 12], &vec![13]));
            let found: Vec<_> = found.iter().filter_map(|at| documents.id(*at)).collect();
            documents.saw(&mut settled, &found);
            let refused: Vec<usize> = settled.refused.iter().map(|(index, _)| *index).collect();
            (settled.stored, refused, settled.unknown)
        };
        assert_eq!(look(&[]), (vec![13], vec![10, 11, 12], vec![]));
        // One with an `_id` of its own may be another client's.
        assert_eq!(look(&[10, 11]), (vec![10, 13], vec![12], vec![11]));
        // What was found is none of them to the letter.
        assert_eq!(look(&[13]), (vec![13], vec![], vec![10, 11, 12]));
    }

    #[test]
    fn a_part_without_a_reply_leaves_open_what_it_brought_and_nothing_else() {
        let documents = things(&[None, Some("b"), None]);
        let reply = doc! { "ok": 1, "n": 1, "writeErrors": [invalid(1)] };
        let mut answer = answer(&reply, Certainty::Full, false);
        answer.open = vec![2];
        let settled = documents.settle(&answer);
        assert_eq!((settled.stored, settled.unknown), (vec![10], vec![12]));
        assert_eq!(settled.refused.len(), 1);
    }
}
