//! The selected fields of an item that the client has unpacked, as the server would have projected them.

use bson::RawDocument;

use crate::codec::raw::{Element, RawWriter, elements, kind};

/// Writes the elements of an item at these paths, of which none is inside another one.
pub(super) fn write(paths: &[&str], item: &RawDocument, writer: &mut RawWriter) {
    // A malformed item is reported by the reader of what is left of it.
    for element in elements(item).filter_map(Result::ok) {
        write_element(paths, &element, writer);
    }
}

fn write_element(paths: &[&str], element: &Element<'_>, writer: &mut RawWriter) {
    let inner = paths
        .iter()
        .filter_map(|path| path.strip_prefix(element.name));
    let inner: Vec<&str> = inner
        .filter(|rest| rest.is_empty() || rest.starts_with('.'))
        .collect();
    if inner.contains(&"") {
        return writer.raw(element.kind, element.name, element.bytes);
    }
    let inner: Vec<&str> = inner.iter().filter_map(|rest| rest.get(1..)).collect();
    if inner.is_empty() {
        return;
    }
    let Ok(inside) = RawDocument::from_bytes(element.bytes) else {
        return;
    };
    match element.kind {
        kind::DOCUMENT => {
            let document = writer.begin_document(element.name);
            write(&inner, inside, writer);
            writer.end(document);
        }
        kind::ARRAY => {
            let array = writer.begin_array(element.name);
            write_array(&inner, inside, writer);
            writer.end(array);
        }
        _ => {}
    }
}

/// Of an array, the documents and arrays: nothing else has fields.
fn write_array(paths: &[&str], array: &RawDocument, writer: &mut RawWriter) {
    let mut index = 0;
    for element in elements(array).filter_map(Result::ok) {
        let Ok(inside) = RawDocument::from_bytes(element.bytes) else {
            continue;
        };
        match element.kind {
            kind::DOCUMENT => {
                let document = writer.begin_element(index);
                write(paths, inside, writer);
                writer.end(document);
            }
            kind::ARRAY => {
                let nested = writer.begin_array(&index.to_string());
                write_array(paths, inside, writer);
                writer.end(nested);
            }
            _ => continue,
        }
        index += 1;
    }
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[test]
    fn only_the_selected_paths_are_left() {
        let item = rawdoc! {
            "at": 1, "value": { "low": 1, "high": { "x": 2, "y": 3 } }, "values": 5,
            "all": [{ "x": 1, "y": 2 }, 7, [{ "x": 3 }], { "y": 4 }],
        };
        let of = |paths: &[&str]| RawWriter::build(|writer| write(paths, &item, writer));
        assert_eq!(of(&["at"]), rawdoc! { "at": 1 });
        assert_eq!(
            of(&["value.high.y"]),
            rawdoc! { "value": { "high": { "y": 3 } } }
        );
        assert_eq!(
            of(&["value"]),
            rawdoc! { "value": { "low": 1, "high": { "x": 2, "y": 3 } } }
        );
        let expected = rawdoc! { "all": [{ "x": 1 }, [{ "x": 3 }], {}] };
        assert_eq!(of(&["all.x", "at.x"]), expected);
        assert_eq!(of(&["missing", "values.x"]), rawdoc! {});
    }
}
