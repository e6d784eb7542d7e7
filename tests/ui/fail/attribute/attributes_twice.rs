use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles", attributes(array = "specs", u = "unit"), attributes(array = "specs", k = "key", u = "unit"))]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

fn main() {}
