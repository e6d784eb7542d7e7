//! Forms, answers and products as tables.

use bucket_mongo::bson::{Bson, Document};
use example_kit::{
    print,
    table::{Cell, finished, number, table},
};

use crate::{comparison::Answer, examined::Examined, form::Form};

/// The space and the time that each form takes.
pub(crate) fn forms(forms: &[Form]) -> String {
    let mut table = table(&[
        "the same products as",
        "documents KB",
        "on disk KB",
        "indexes",
        "indexes KB",
        "stored in s",
    ]);
    for form in forms {
        let [documents, stored, indexes] =
            [form.document_bytes, form.stored_bytes, form.index_bytes]
                .map(|bytes| number(bytes.div_ceil(1024)));
        table.add_row([
            Cell::new(form.name),
            documents,
            stored,
            number(form.indexes),
            indexes,
            number(format!("{:.1}", form.seconds)),
        ]);
    }
    finished(table)
}

/// What each form examined for each question.
pub(crate) fn answers(answers: &[Answer]) -> String {
    let mut table = table(&[
        "question",
        "found",
        "many fields: keys",
        "documents",
        "attributes: keys",
        "documents",
    ]);
    for answer in answers {
        let of = |examined: &Examined| [examined.keys, examined.documents].map(number);
        let counts = of(&answer.many_fields)
            .into_iter()
            .chain(of(&answer.attributes));
        let first = [Cell::new(&answer.question), number(answer.found)];
        table.add_row(first.into_iter().chain(counts));
    }
    finished(table)
}

/// Products and their attributes.
pub(crate) fn products(products: &[Document]) -> String {
    let mut table = table(&["_id", "name", "attributes"]);
    for product in products {
        let mut rest = product.clone();
        let [id, name] = ["_id", "name"].map(|field| rest.remove(field));
        let name = name.as_ref().and_then(Bson::as_str).unwrap_or_default();
        table.add_row([
            number(id.unwrap_or(Bson::Null)),
            Cell::new(name.replace(char::is_control, "\u{fffd}")),
            Cell::new(print::line(&rest)),
        ]);
    }
    finished(table)
}
