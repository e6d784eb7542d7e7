//! What the figures of a comparison mean, in words.

use crate::{comparison::Answer, form::Form};

/// What each form costs.
pub(crate) fn of_forms(forms: &[Form; 3]) -> String {
    let [fields, sparse, attributes] = forms;
    format!(
        "The index on attributes replaces {} indexes and takes {} of the space of the plain ones, {} of\n\
         that of the sparse ones: an entry for each attribute, with its key and its unit. The documents\n\
         name both as well: they are {} of those of many fields, {} on disk.\n\
         Each form was stored once, one after the other, with its indexes; the files were measured after\n\
         a checkpoint.\n",
        fields.indexes,
        percent(attributes.index_bytes, fields.index_bytes),
        percent(attributes.index_bytes, sparse.index_bytes),
        percent(attributes.document_bytes, fields.document_bytes),
        percent(attributes.stored_bytes, fields.stored_bytes),
    )
}

/// Where attributes save work, and where they do not.
pub(crate) fn of_answers(answers: &[Answer]) -> String {
    let scanned = |answer: &&Answer| answer.many_fields.indexes.is_empty();
    let saves = answers.iter().find(scanned).map(|answer| {
        format!(
            "`{}`: a field without an index of its own needs a scan of every document ({});\n\
             the index on attributes covers it from the first product on ({} examined).\n",
            answer.question, answer.many_fields.documents, answer.attributes.documents,
        )
    });
    let dearer = |answer: &&Answer| answer.attributes.documents > 2 * answer.many_fields.documents;
    let costs = answers.iter().find(dearer).map(|answer| {
        format!(
            "{}: the index on a field has its order ({} examined), the index on attributes does not:\n\
             all {} products that have it are read and sorted in memory.\n",
            answer.question, answer.many_fields.documents, answer.attributes.documents,
        )
    });
    let same = answers
        .iter()
        .filter(|a| a.attributes.documents == a.many_fields.documents);
    let same = format!(
        "For {} of {} questions both forms examine the same documents.\n",
        same.count(),
        answers.len()
    );
    [same].into_iter().chain(saves).chain(costs).collect()
}

fn percent(part: u64, whole: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "far less than 2^53 bytes")]
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{percent:.0} %")
}
