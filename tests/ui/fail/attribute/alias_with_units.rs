use bucket_mongo::Attributed;
use serde::{Deserialize, Serialize};

type Volume = Vec<f64>;

#[derive(Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Volume,
    #[bucket(attribute(array = "specs", k = "volume", u = "l", factor = 1000))]
    volume_l: Option<f64>,
    #[bucket(attribute(array = "specs", k = "sizes", text))]
    sizes: Vec<i32>,
}

fn main() {}
