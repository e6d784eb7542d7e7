use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "sizes"))]
    sizes: Vec<i32>,
}

fn main() {}
