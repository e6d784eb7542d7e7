use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "max volume"))]
    one: Option<i32>,
    #[bucket(attribute(array = "specs", k = "maxVolume"))]
    two: Option<i32>,
}

fn main() {}
