use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle<'a> {
    #[bucket(attribute(array = "specs", k = "colour"))]
    colour: Option<&'a str>,
}

fn main() {}
