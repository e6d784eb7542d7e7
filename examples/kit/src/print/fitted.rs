//! Documents on few lines: whatever fits in one line is on one line, as the manual prints small
//! documents.

use bucket_mongo::bson::{Bson, Document};

use super::{block, indent, key, value};

/// The characters of a line.
const WIDTH: usize = 90;

/// A document on one line.
#[must_use]
pub fn line(document: &Document) -> String {
    let fields = document.iter();
    let fields = fields.map(|(name, field)| format!("{}: {}", key(name), value_line(field)));
    enclosed('{', &fields.collect::<Vec<_>>(), '}')
}

/// A document at this depth, with each value that fits on one line.
#[must_use]
pub fn fitted(document: &Document, depth: usize) -> String {
    fit(&document.clone().into(), depth, indent(depth).len())
}

/// A value whose first character is in this column.
fn fit(shown: &Bson, depth: usize, column: usize) -> String {
    let line = value_line(shown);
    // A comma may follow.
    if column + line.len() < WIDTH {
        return line;
    }
    let inner = indent(depth + 1).len();
    match shown {
        Bson::Document(nested) => {
            let fields = nested.iter().map(|(name, field)| {
                let name = format!("{}: ", key(name));
                let column = inner + name.len();
                name + &fit(field, depth + 1, column)
            });
            block('{', fields, 0, '}', depth)
        }
        Bson::Array(array) => {
            let items = array.iter().map(|item| fit(item, depth + 1, inner));
            block('[', items, 0, ']', depth)
        }
        _ => line,
    }
}

fn value_line(shown: &Bson) -> String {
    match shown {
        Bson::Document(nested) => line(nested),
        Bson::Array(array) => {
            let items: Vec<String> = array.iter().map(value_line).collect();
            enclosed('[', &items, ']')
        }
        _ => value(shown, 0, usize::MAX),
    }
}

fn enclosed(open: char, entries: &[String], close: char) -> String {
    if entries.is_empty() {
        return format!("{open}{close}");
    }
    format!("{open} {} {close}", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::doc;

    use super::*;

    #[test]
    fn what_fits_in_a_line_is_on_one_line() {
        let filter = doc! { "specs": { "$elemMatch": { "k": "volume", "v": { "$gte": 500 } } } };
        let expected = "{ specs: { $elemMatch: { k: 'volume', v: { $gte: 500 } } } }";
        assert_eq!(line(&filter), expected);
        assert_eq!(fitted(&filter, 1), expected);
        assert_eq!(
            line(&doc! { "a": [], "b": {}, "c": [1, 2] }),
            "{ a: [], b: {}, c: [ 1, 2 ] }"
        );
    }

    #[test]
    fn what_does_not_fit_is_broken_at_its_outermost_brackets() {
        let entry = |k: &str, v: &str, u: &str| doc! { "k": k, "v": v, "u": u };
        let bottle = doc! { "_id": 1, "specs": [
            entry("volume", "500", "ml"), entry("volume", "12", "ounces"), entry("height", "8", "inches"),
        ] };
        let expected = "\
{
  _id: 1,
  specs: [
    { k: 'volume', v: '500', u: 'ml' },
    { k: 'volume', v: '12', u: 'ounces' },
    { k: 'height', v: '8', u: 'inches' }
  ]
}";
        assert_eq!(fitted(&bottle, 0), expected);
        assert!(
            fitted(&bottle, 2)
                .lines()
                .skip(1)
                .all(|line| line.starts_with("    "))
        );
    }
}
