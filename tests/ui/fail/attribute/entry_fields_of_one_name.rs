use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles", attributes(array = "specs", k = "x", v = "x"))]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume"))]
    volume_ml: Option<i32>,
}

fn main() {}
