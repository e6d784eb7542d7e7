//! What a reply says about the whole command.

use bson::{Bson, Document};

use crate::{model::whole, write::codes};

/// Whether a reply only says that the server cannot take the write at the moment, or that it is not
/// replicated yet: the same command must be sent again.
///
/// ```
/// use bson::doc;
/// use bucket_core::write::asks_again;
///
/// let stepped_down = doc! { "ok": 1, "n": 0, "writeErrors": [{ "index": 0, "code": 189 }] };
/// assert!(asks_again(&stepped_down));
/// assert!(!asks_again(&doc! { "ok": 1, "n": 1 }));
/// ```
#[must_use]
pub fn asks_again(reply: &Document) -> bool {
    let write_errors = errors(reply).any(|error| codes::is_transient(code(error)));
    let concern = reply.get_document("writeConcernError");
    let concern = concern.is_ok_and(|error| {
        let code = code(error);
        [codes::WRITE_CONCERN_FAILED, codes::TIME_LIMIT].contains(&code)
            || codes::is_transient(code)
            || codes::is_unreachable(code)
    });
    write_errors || concern
}

/// Whether a statement of the command was not applied.
pub(super) fn misses_some(reply: &Document) -> bool {
    errors(reply).next().is_some() || whole::field(reply, "n").unwrap_or_default() == 0
}

/// The statements that the server answered from its record of the command's number, in order.
pub(super) fn replayed(reply: &Document) -> Vec<usize> {
    let Ok(statements) = reply.get_array("retriedStmtIds") else {
        return Vec::new();
    };
    let statement = |id: &Bson| match id {
        Bson::Int32(id) => usize::try_from(*id).ok(),
        Bson::Int64(id) => usize::try_from(*id).ok(),
        _ => None,
    };
    let mut statements: Vec<usize> = statements.iter().filter_map(statement).collect();
    statements.sort_unstable();
    statements.dedup();
    statements
}

fn errors(reply: &Document) -> impl Iterator<Item = &Document> {
    listed(reply, "writeErrors")
}

/// The documents of a list in a reply.
pub(super) fn listed<'a>(reply: &'a Document, list: &str) -> impl Iterator<Item = &'a Document> {
    let listed = reply.get_array(list).map(Vec::as_slice);
    listed
        .unwrap_or_default()
        .iter()
        .filter_map(Bson::as_document)
}

fn code(error: &Document) -> i32 {
    let code = whole::field(error, "code").unwrap_or_default();
    i32::try_from(code).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::{asks_again, misses_some, replayed};

    #[test]
    fn a_statement_that_a_failover_refused_is_sent_again_and_a_lost_race_is_not() {
        let refused =
            |code: i32| doc! { "ok": 1, "n": 1, "writeErrors": [{ "index": 0, "code": code }] };
        assert!(asks_again(&refused(189)));
        assert!(asks_again(&refused(11_602)));
        assert!(!asks_again(&refused(11_000)));
        assert!(!asks_again(&doc! { "ok": 1, "n": 1 }));
        assert!(misses_some(&refused(11_000)));
        assert!(misses_some(&doc! { "ok": 1, "n": 0 }));
        assert!(!misses_some(&doc! { "ok": 1, "n": 2 }));
    }

    #[test]
    fn a_write_that_is_not_replicated_yet_is_sent_again() {
        let concern = |code: i32| doc! { "ok": 1, "n": 1, "writeConcernError": { "code": code } };
        assert!(asks_again(&concern(64)));
        assert!(asks_again(&concern(50)));
        assert!(asks_again(&concern(91)));
        // Such nodes do not exist, which does not change by itself.
        assert!(!asks_again(&concern(100)));
    }

    #[test]
    fn the_statements_answered_from_the_servers_record_are_known() {
        let reply = doc! { "ok": 1, "n": 3, "retriedStmtIds": [2, 0_i64, 0] };
        assert_eq!(replayed(&reply), [0, 2]);
        assert_eq!(replayed(&doc! { "ok": 1, "n": 3 }), [0_usize; 0]);
    }
}
