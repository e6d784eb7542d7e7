//! What the derives say about mistakes; what they accept is in `pass`.
//!
//! `ui/fail/<topic>/<mistake>.rs` holds one mistake each; the `.stderr` beside it is what the user
//! reads, and nothing else. After a deliberate change of a message:
//! `TRYBUILD=overwrite cargo test -p bucket-tests --test ui`, and read the diff.

#[test]
fn every_mistake_is_explained_at_its_token() {
    // Only such cases: with one that runs, all would be built, one after the other.
    trybuild::TestCases::new().compile_fail("ui/fail/*/*.rs");
}
