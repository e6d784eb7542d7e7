use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
#[bucket(attributes(array = "specs", store = "bucket"))]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume"))]
    volume: Option<i32>,
}

fn main() {}
