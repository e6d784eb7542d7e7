use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "movies")]
#[bucket(attributes(array = "releases", k = "location", v = "date"))]
struct Bottle {
    #[bucket(attribute(array = "releases", k = "USA", u = "day"))]
    usa: Option<i32>,
}

fn main() {}
