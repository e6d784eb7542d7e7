use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(collection = "bottles")]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    ml: Option<i32>,
}

fn main() {}
