use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", rest, k = "other"))]
    others: std::collections::BTreeMap<String, i32>,
}

fn main() {}
