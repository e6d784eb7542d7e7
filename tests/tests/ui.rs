//! What the derives accept and what they say about mistakes.
//!
//! `ui/fail/<topic>/<mistake>.rs` holds one mistake each; the `.stderr` beside it is what the user
//! reads, and nothing else. `ui/pass/*.rs` compile and run. After a deliberate change of a message:
//! `TRYBUILD=overwrite cargo test -p bucket-tests --test ui`, and read the diff.

#[test]
fn every_mistake_is_explained_at_its_token() {
    // Apart from the cases that run: without them it is enough to check each file.
    trybuild::TestCases::new().compile_fail("ui/fail/*/*.rs");
}

#[test]
fn good_code_compiles_and_keeps_its_promises() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}
