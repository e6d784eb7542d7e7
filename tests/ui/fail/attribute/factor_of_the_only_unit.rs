use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<i32>,
}

fn main() {}
