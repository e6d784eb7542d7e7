//! The model of a server (`server-model`) answers like the server: both get the same random
//! commands, and replies and documents are compared, field by field and in order.
//!
//! Everything is drawn from a seed. `BUCKET_MODEL_SECONDS` makes the runs longer,
//! `BUCKET_MODEL_SEED` selects another seed. A history that differs is made smaller and printed.

mod compare;
mod draw;
mod history;
mod library;
mod subject;

use self::subject::Subject;

macro_rules! subjects {
    ($($test:ident: $subject:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            history::run(Subject::$subject).await;
        }
    )*};
}

subjects! {
    operators_change_documents_as_on_the_server: Operators;
    filters_match_as_on_the_server: Filters;
    upserts_make_documents_as_on_the_server: Upserts;
    pipelines_change_documents_as_on_the_server: Pipelines;
    indexes_refuse_as_on_the_server: Indexes;
    numbered_commands_are_answered_as_on_the_server: Sessions;
    reads_give_documents_as_on_the_server: Reads;
    collections_come_and_go_as_on_the_server: Catalog;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_the_library_do_the_same_on_the_server() {
    library::every_form().await;
}
