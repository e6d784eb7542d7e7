use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "color"))]
    color: Option<String>,
    #[bucket(attribute(array = "specs", k = "color"))]
    colour: Option<String>,
}

fn main() {}
