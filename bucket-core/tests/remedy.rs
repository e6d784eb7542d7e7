//! What a damaged bucket becomes.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[allow(dead_code, reason = "each test uses a part of it")]
mod stored_buckets;

use std::cell::Cell;

use bson::{Bson, Document, RawDocumentBuf};
use bucket_core::{
    check::{Problem, ProblemKind},
    repair::{Remedy, remedy},
};

use self::stored_buckets::{NOW, Scan, scan};

#[test]
fn many_items_in_another_form_are_mended_together() {
    const ITEMS: i32 = 300;
    let mut stored = scan();
    let items = stored.get_array_mut("items").unwrap();
    let mut turned: Document = items[0].as_document().unwrap().clone();
    turned.get_array_mut("specs").unwrap().reverse();
    *items = (0..ITEMS).map(|_| Bson::from(turned.clone())).collect();
    stored.insert("count", ITEMS);
    let stored = RawDocumentBuf::try_from(&stored).unwrap();
    // Each look at the whole bucket asks for the limits of its key.
    let looks = Cell::new(0);
    let limits = |_: &_| {
        looks.set(looks.get() + 1);
        None
    };
    let remedy = remedy::<Scan>(&stored, limits, NOW, None, false);
    let Remedy::Mend { left, .. } = remedy else {
        panic!("nothing is mended");
    };
    let is_form = |problem: &Problem| problem.kind() == ProblemKind::AttributeForm;
    assert!(!left.iter().any(is_form), "{left:?}");
    assert!(looks.get() < 20, "{} looks", looks.get());
}
