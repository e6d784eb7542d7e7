//! Numbers of stored buckets in expressions that never fail, whatever is stored.

use bson::{Document, doc};

/// Whether the value of this path is a whole number of records.
pub(super) fn is_whole(path: &str) -> Document {
    let number = doc! { "$cond": [{ "$isNumber": path }, path, -1] };
    // No number is below NaN but above 0, and infinity is above every count.
    doc! { "$and": [
        { "$gte": [&number, 0] },
        { "$lte": [&number, i32::MAX] },
        { "$eq": [&number, { "$trunc": &number }] },
    ] }
}
