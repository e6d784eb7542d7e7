//! What the derives accept and how they explain mistakes.
//!
//! `ui/fail/<topic>/<mistake>.rs` contains one mistake each; the `.stderr` next to it is exactly
//! what the user reads. `ui/pass/*.rs` compile and run. After an intended change of a message:
//! `TRYBUILD=overwrite cargo test -p bucket-tests --test ui`, and read the diff.

#[test]
fn every_mistake_is_explained_at_its_token() {
    // Separate from the cases that run: without them it is enough to check each file.
    trybuild::TestCases::new().compile_fail("ui/fail/*/*.rs");
}

#[test]
fn good_code_compiles_and_keeps_its_promises() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}
